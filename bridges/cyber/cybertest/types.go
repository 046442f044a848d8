package cybertest

import (
	"fmt"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"
)

// types are the messages whose descriptors clients have sent. It knows no others, in
// particular none that are compiled into the program.
type types struct{ files protoregistry.Files }

// register adds one file. A file that is known already is left as it is.
func (t *types) register(data []byte) error {
	var file descriptorpb.FileDescriptorProto
	if err := proto.Unmarshal(data, &file); err != nil {
		return fmt.Errorf("a descriptor that can't be read: %w", err)
	}
	if _, err := t.files.FindFileByPath(file.GetName()); err == nil {
		return nil
	}
	built, err := protodesc.NewFile(&file, &t.files)
	if err != nil {
		return fmt.Errorf("descriptor of %q: %w", file.GetName(), err)
	}
	return t.files.RegisterFile(built)
}

// find returns the type with the full name, nil for one that isn't known.
func (t *types) find(name string) protoreflect.MessageDescriptor {
	d, err := t.files.FindDescriptorByName(protoreflect.FullName(name))
	if err != nil {
		return nil
	}
	message, _ := d.(protoreflect.MessageDescriptor)
	return message
}

// decode reads a message of a type; one with a field that its type lacks is an error.
func decode(typ protoreflect.MessageDescriptor, data []byte) (*dynamicpb.Message, error) {
	m := dynamicpb.NewMessage(typ)
	if err := proto.Unmarshal(data, m); err != nil {
		return nil, err
	}
	if unknown := m.GetUnknown(); len(unknown) > 0 {
		return nil, fmt.Errorf("%d bytes of unknown fields", len(unknown))
	}
	return m, nil
}
