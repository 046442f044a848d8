package apollo

import (
	"fmt"
	"path"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
)

// protoMessage is one of Apollo's messages, as it was made of a sample. It is good only
// until the function that was given it returns, and is used by one goroutine.
type protoMessage interface {
	// Room is at least the number of bytes that Append appends.
	Room() int
	// Size is the number of bytes that Append appends; finding it may take as long as
	// appending them.
	Size() int
	// Append appends the message's wire encoding. It allocates nothing if dst has room.
	Append(dst []byte) ([]byte, error)
	// Proto returns the message's structure, which is good for as long as the message. That of
	// a cloud is made again by each call.
	Proto() proto.Message
}

// fullName is the name that Cyber RT has for a message: "apollo.drivers.ContiRadar".
func fullName(m protoreflect.MessageDescriptor) string { return string(m.FullName()) }

// shortName is the name that LG's ROS for Apollo has for a message:
// "pb_msgs/ContiRadar".
func shortName(m protoreflect.MessageDescriptor) string { return "pb_msgs/" + string(m.Name()) }

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

// layout says where a generation of Apollo has its .proto files.
type layout int

const (
	// layout7 is that of Apollo up to 7: modules/drivers/proto/pointcloud.proto.
	layout7 layout = iota
	// layout8 is that of Apollo from 8 on:
	// modules/common_msgs/sensor_msgs/pointcloud.proto.
	layout8
)

// folders8 has the folder of layout8 for each of layout7 that moved.
var folders8 = map[string]string{
	"modules/common/proto":       "modules/common_msgs/basic_msgs",
	"modules/drivers/proto":      "modules/common_msgs/sensor_msgs",
	"modules/drivers/gnss/proto": "modules/common_msgs/sensor_msgs",
	"modules/localization/proto": "modules/common_msgs/localization_msgs",
	"modules/canbus/proto":       "modules/common_msgs/chassis_msgs",
	"modules/control/proto":      "modules/common_msgs/control_msgs",
	"modules/perception/proto":   "modules/common_msgs/perception_msgs",
}

// path returns where a file of layout7 lies.
func (l layout) path(file string) string {
	folder, name := path.Split(file)
	if moved, ok := folders8[strings.TrimSuffix(folder, "/")]; ok && l == layout8 {
		return moved + "/" + name
	}
	return file
}

// descriptorFiles returns the serialised google.protobuf.FileDescriptorProto of a message's file
// and of all that it imports, each after what it imports itself, each once. They carry
// the layout's paths and no options for any language.
func descriptorFiles(message protoreflect.MessageDescriptor, layout layout) [][]byte {
	var files [][]byte
	seen := map[string]bool{}
	var add func(f protoreflect.FileDescriptor)
	add = func(f protoreflect.FileDescriptor) {
		if seen[f.Path()] {
			return
		}
		seen[f.Path()] = true
		for i := range f.Imports().Len() {
			add(f.Imports().Get(i).FileDescriptor)
		}
		d := protodesc.ToFileDescriptorProto(f)
		neutral(d, layout)
		data, err := proto.MarshalOptions{Deterministic: true}.Marshal(d)
		if err != nil {
			panic(fmt.Sprintf("apollo: describe %s: %v", f.Path(), err)) // it is compiled in
		}
		files = append(files, data)
	}
	add(message.ParentFile())
	return files
}

// neutral moves a file to its place in the layout and takes Go out of it.
func neutral(d *descriptorpb.FileDescriptorProto, layout layout) {
	d.Name = proto.String(layout.path(d.GetName()))
	for i, file := range d.Dependency {
		d.Dependency[i] = layout.path(file)
	}
	d.Options = nil
}
