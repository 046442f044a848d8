package foxglovemsg

import (
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
)

// schemaOf describes messages of m's type.
func schemaOf(m proto.Message) Schema {
	descriptor := m.ProtoReflect().Descriptor()
	var set descriptorpb.FileDescriptorSet
	addFile(&set, descriptor.ParentFile(), map[string]bool{})
	data, err := proto.MarshalOptions{Deterministic: true}.Marshal(&set)
	if err != nil {
		panic(err) // descriptors of generated code
	}
	return Schema{Name: string(descriptor.FullName()), Encoding: "protobuf", Data: data, MessageEncoding: "protobuf"}
}

// addFile adds a file after those that it imports. What only Go's generator reads is left
// out.
func addFile(set *descriptorpb.FileDescriptorSet, file protoreflect.FileDescriptor, seen map[string]bool) {
	if seen[file.Path()] {
		return
	}
	seen[file.Path()] = true
	imports := file.Imports()
	for i := range imports.Len() {
		addFile(set, imports.Get(i).FileDescriptor, seen)
	}
	described := protodesc.ToFileDescriptorProto(file)
	described.Options = nil
	set.File = append(set.File, described)
}
