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

// Layout says where a generation of Apollo has its .proto files.
type Layout int

const (
	// Layout7 is that of Apollo up to 7: modules/drivers/proto/pointcloud.proto.
	Layout7 Layout = iota
	// Layout8 is that of Apollo from 8 on:
	// modules/common_msgs/sensor_msgs/pointcloud.proto.
	Layout8
)

// folders8 has the folder of Layout8 for each of Layout7 that moved.
var folders8 = map[string]string{
	"modules/common/proto":       "modules/common_msgs/basic_msgs",
	"modules/drivers/proto":      "modules/common_msgs/sensor_msgs",
	"modules/drivers/gnss/proto": "modules/common_msgs/sensor_msgs",
	"modules/localization/proto": "modules/common_msgs/localization_msgs",
	"modules/canbus/proto":       "modules/common_msgs/chassis_msgs",
	"modules/control/proto":      "modules/common_msgs/control_msgs",
	"modules/perception/proto":   "modules/common_msgs/perception_msgs",
}

// path returns where a file of Layout7 lies.
func (l Layout) path(file string) string {
	folder, name := path.Split(file)
	if moved, ok := folders8[strings.TrimSuffix(folder, "/")]; ok && l == Layout8 {
		return moved + "/" + name
	}
	return file
}

// Files returns the serialised google.protobuf.FileDescriptorProto of a message's file
// and of all that it imports, each after what it imports itself, each once. They carry
// the layout's paths and no options for any language.
func Files(message protoreflect.MessageDescriptor, layout Layout) [][]byte {
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
func neutral(d *descriptorpb.FileDescriptorProto, layout Layout) {
	d.Name = proto.String(layout.path(d.GetName()))
	for i, file := range d.Dependency {
		d.Dependency[i] = layout.path(file)
	}
	d.Options = nil
}
