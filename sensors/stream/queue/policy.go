package queue

import (
	"errors"
	"fmt"

	"github.com/raybridge/raybridge/internal/closest"
)

// ErrPolicy says that no policy has the name.
var ErrPolicy = errors.New("unknown policy")

// Policy says what happens to a message for a full queue.
type Policy uint8

const (
	// DropOldest pushes out the messages that have waited longest.
	DropOldest Policy = iota
	// DropNewest refuses the message that is being offered.
	DropNewest
	// Block lets the sender wait for room, for a limited time; then the message is
	// refused, and so are the following without a wait, until the receiver has
	// taken something.
	Block
)

var policyNames = [...]string{DropOldest: "drop_oldest", DropNewest: "drop_newest", Block: "block"}

// String returns the policy's name in connection strings.
func (p Policy) String() string {
	if int(p) < len(policyNames) {
		return policyNames[p]
	}
	return fmt.Sprintf("Policy(%d)", uint8(p))
}

// ParsePolicy returns the policy of that name; else an error that wraps ErrPolicy
// and lists the names.
func ParsePolicy(name string) (Policy, error) {
	for p, n := range policyNames {
		if n == name {
			return Policy(p), nil
		}
	}
	return DropOldest, fmt.Errorf("%w %q: %s", ErrPolicy, name, closest.Want(name, Block.String(), DropNewest.String(), DropOldest.String()))
}
