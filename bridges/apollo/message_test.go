package apollo

import (
	"strings"
	"testing"

	"github.com/raybridge/raybridge/bridges/bridgetest"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"
)

// Each message can be read with nothing but its files, in their order, in both layouts.
func TestFilesAreEnough(t *testing.T) {
	for layout, prefix := range map[layout]string{layout7: "modules/common/proto/", layout8: "modules/common_msgs/basic_msgs/"} {
		var message protoMessage
		b := open(t, &probe{take: func(_ string, m protoMessage) { message = m }})
		for _, s := range bridgetest.ApolloSamples() {
			require.NoError(t, publisher(t, b, s)())
			var known protoregistry.Files
			for _, data := range descriptorFiles(message.Proto().ProtoReflect().Descriptor(), layout) {
				var file descriptorpb.FileDescriptorProto
				require.NoError(t, proto.Unmarshal(data, &file))
				assert.Nil(t, file.GetOptions())
				assert.Empty(t, file.GetSyntax(), "proto2's own descriptor says nothing")
				assert.NotContains(t, file.GetName(), "raybridge")
				if strings.HasSuffix(file.GetName(), "/header.proto") {
					assert.Equal(t, prefix+"header.proto", file.GetName())
					assert.Equal(t, []string{prefix + "error_code.proto"}, file.GetDependency())
				}
				built, err := protodesc.NewFile(&file, &known)
				require.NoError(t, err, "dependencies come first")
				require.NoError(t, known.RegisterFile(built), "each once")
			}
			d, err := known.FindDescriptorByName(message.Proto().ProtoReflect().Descriptor().FullName())
			require.NoError(t, err)
			got := dynamicpb.NewMessage(d.(protoreflect.MessageDescriptor))
			require.NoError(t, proto.Unmarshal(vector(t, s.Name), got))
			near(t, s.Name, got, got) // no field is unknown
		}
	}
}
