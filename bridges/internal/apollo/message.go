package apollo

import (
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// Message is one of Apollo's messages, as it was made of a sample. It is good only
// until the function that was given it returns, and is used by one goroutine.
type Message interface {
	// Room is at least the number of bytes that Append appends.
	Room() int
	// Size is the number of bytes that Append appends; finding it may take as long as
	// appending them.
	Size() int
	// Append appends the message's wire encoding. It allocates nothing if dst has room.
	Append(dst []byte) ([]byte, error)
	// Proto returns the message's structure, which is good for as long as the message.
	// That of a cloud is made anew by each call.
	Proto() proto.Message
}

// FullName is the name that Cyber RT has for a message: "apollo.drivers.ContiRadar".
func FullName(m protoreflect.MessageDescriptor) string { return string(m.FullName()) }

// ShortName is the name that LG's ROS for Apollo has for a message:
// "pb_msgs/ContiRadar".
func ShortName(m protoreflect.MessageDescriptor) string { return "pb_msgs/" + string(m.Name()) }

// structure is a message that protobuf's own encoder writes.
type structure struct{ message proto.Message }

func (s structure) Room() int { return proto.Size(s.message) }

func (s structure) Size() int { return proto.Size(s.message) }

func (s structure) Append(dst []byte) ([]byte, error) {
	return proto.MarshalOptions{}.MarshalAppend(dst, s.message)
}

func (s structure) Proto() proto.Message { return s.message }

// set sets an optional field, in the memory of its last value.
func set[T any](field **T, value T) {
	if *field == nil {
		*field = new(T)
	}
	**field = value
}

// part returns an optional field's message, made if there is none.
func part[T any](field **T) *T {
	if *field == nil {
		*field = new(T)
	}
	return *field
}

// resize makes a repeated field n messages long, keeping those that there are, also
// those behind its end from before.
func resize[T any](list *[]*T, n int) {
	whole := (*list)[:min(n, cap(*list))]
	for len(whole) < n {
		whole = append(whole, nil)
	}
	for i := range whole {
		part(&whole[i])
	}
	*list = whole
}
