package dispatch

import "fmt"

// Policy says what happens to a message whose topic queue is full (law D6).
type Policy uint8

const (
	// Block lets the caller wait for room; it is the default. The wait ends with
	// the dispatcher, its context, or the topic's BlockLimit.
	Block Policy = iota
	// DropNewest refuses the message that is being offered.
	DropNewest
	// DropOldest pushes out the topic's longest waiting message.
	DropOldest
)

var policyNames = [...]string{Block: "block", DropNewest: "drop_newest", DropOldest: "drop_oldest"}

// String returns the policy's name in configurations: block, drop_newest or
// drop_oldest.
func (p Policy) String() string {
	if int(p) < len(policyNames) {
		return policyNames[p]
	}
	return fmt.Sprintf("Policy(%d)", uint8(p))
}

// ParsePolicy returns the policy with the given name. The error, which wraps
// ErrConfig, lists the known names.
func ParsePolicy(name string) (Policy, error) {
	for p, n := range policyNames {
		if n == name {
			return Policy(p), nil
		}
	}
	return Block, fmt.Errorf("%w: unknown policy %q (known: block, drop_newest, drop_oldest)", ErrConfig, name)
}

// MarshalText writes the policy's name.
func (p Policy) MarshalText() ([]byte, error) {
	if int(p) >= len(policyNames) {
		return nil, fmt.Errorf("%w: unknown policy %d", ErrConfig, uint8(p))
	}
	return []byte(p.String()), nil
}

// UnmarshalText reads a policy's name.
func (p *Policy) UnmarshalText(text []byte) error {
	parsed, err := ParsePolicy(string(text))
	if err != nil {
		return err
	}
	*p = parsed
	return nil
}
