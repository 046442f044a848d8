package flow

import (
	"errors"
	"fmt"

	"github.com/raybridge/raybridge/internal/fault"
)

// ErrPolicy says that there is no policy of that name or number.
var ErrPolicy = errors.New("unknown policy")

// Policy says what happens to a message for a full queue.
type Policy uint8

const (
	// Unset leaves the choice to the queue: package dispatch then blocks, and the queue of
	// a network peer drops the oldest.
	Unset Policy = iota
	// Block lets the sender wait for room, for a limited time where the queue has a limit.
	Block
	// DropNewest refuses the message that is being offered.
	DropNewest
	// DropOldest pushes out the messages that have waited longest.
	DropOldest
	// Exclusive takes one message at a time: while one is under way, others are refused.
	Exclusive
)

// policyNames are the policies' names in configurations and connection strings.
var policyNames = [...]string{Block: "block", DropNewest: "drop_newest", DropOldest: "drop_oldest", Exclusive: "exclusive"}

// Policies returns the names of all policies.
func Policies() []string { return append([]string(nil), policyNames[Block:]...) }

// String returns the policy's name: block, drop_newest, drop_oldest or exclusive; unset for Unset.
func (p Policy) String() string {
	switch {
	case p == Unset:
		return "unset"
	case p.Valid():
		return policyNames[p]
	}
	return fmt.Sprintf("Policy(%d)", uint8(p))
}

// Valid reports whether p is Unset or a policy that has a name.
func (p Policy) Valid() bool { return int(p) < len(policyNames) }

// Or returns p, or other where p is Unset.
func (p Policy) Or(other Policy) Policy {
	if p == Unset {
		return other
	}
	return p
}

// ParsePolicy returns the policy of that name. The error wraps ErrPolicy, and says which
// name is probably meant or which there are.
func ParsePolicy(name string) (Policy, error) {
	for p := Block; p.Valid(); p++ {
		if policyNames[p] == name {
			return p, nil
		}
	}
	return Unset, fmt.Errorf("%w %q: %s", ErrPolicy, name, fault.Want(name, Policies()...))
}

// MarshalText returns the policy's name; Unset has the empty one.
func (p Policy) MarshalText() ([]byte, error) {
	if !p.Valid() {
		return nil, fmt.Errorf("%w %d", ErrPolicy, uint8(p))
	}
	return []byte(policyNames[p]), nil
}

// UnmarshalText reads a policy's name; the empty text is Unset.
func (p *Policy) UnmarshalText(text []byte) (err error) {
	*p = Unset
	if len(text) > 0 {
		*p, err = ParsePolicy(string(text))
	}
	return err
}
