package cyber

import (
	"google.golang.org/protobuf/proto"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/internal/apollo"
)

// RegPublisher lets the bridge publish messages of type T as a protobuf message M, whose
// generated Go code names Apollo's package and fields: its descriptor goes to cyber_bridge
// with those of all that it imports. convert sets dst, which is empty; it is called by one
// goroutine at a time for each topic, and its errors count as bridges.ErrConvert. The first
// registration of T holds, a second one is bridges.ErrDuplicate.
func RegPublisher[M any, P interface {
	*M
	proto.Message
}, T bridges.Stamped](p *bridges.Plugin, convert func(dst P, src T) error) error {
	return apollo.NewPublication(convert).Register(p, apollo.FullName, open)
}

// RegSubscriber lets the bridge subscribe to a protobuf message M, of which convert makes
// an S. It is called by one goroutine at a time; its errors count the message as malformed.
// A second registration of *S is bridges.ErrDuplicate.
func RegSubscriber[M any, P interface {
	*M
	proto.Message
}, S any](p *bridges.Plugin, convert func(dst *S, src P) error) error {
	return apollo.NewSubscription(convert).Register(p, apollo.FullName, listen)
}
