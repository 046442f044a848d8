package apollo

import (
	"google.golang.org/protobuf/proto"

	"github.com/raybridge/raybridge/bridges"
)

// NewPublication makes a Publication of a type from outside. convert sets a message that
// is empty.
func NewPublication[M any, P interface {
	*M
	proto.Message
}, T bridges.Stamped](convert func(dst P, src T) error) Publication {
	return publication(converted(func(dst P, src T, _ *Map) error {
		proto.Reset(dst)
		return convert(dst, src)
	}), nil)
}

// NewSubscription makes a Subscription of a message from outside.
func NewSubscription[M any, P interface {
	*M
	proto.Message
}, S any](convert func(dst *S, src P) error) Subscription {
	return subscription(func(dst *S, src P, _ *Map) error { return convert(dst, src) })
}
