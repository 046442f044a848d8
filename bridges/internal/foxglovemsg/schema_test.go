package foxglovemsg_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/raybridge/raybridge/bridges/internal/foxglovemsg"
	"github.com/raybridge/raybridge/bridges/internal/rossample"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
)

// A reader that has nothing but a schema can read its messages: it holds all files, those that
// others import first.
func TestSchemasStandForThemselves(t *testing.T) {
	names := map[reflect.Type]string{}
	for _, pub := range foxglovemsg.Publications() {
		require.Equal(t, pub.Type, pub.Schema.Name)
		require.NotContains(t, names, pub.Sample, "one message a sample")
		names[pub.Sample] = pub.Type
		if pub.Schema.MessageEncoding == "cdr" {
			assert.Equal(t, "ros2msg", pub.Schema.Encoding)
			assert.NotEmpty(t, pub.Schema.Data)
			continue
		}
		assert.Equal(t, "protobuf", pub.Schema.Encoding)
		var set descriptorpb.FileDescriptorSet
		require.NoError(t, proto.Unmarshal(pub.Schema.Data, &set))
		seen := map[string]bool{}
		for _, file := range set.File {
			for _, imported := range file.Dependency {
				assert.True(t, seen[imported], "%s: %s is imported before it comes", file.GetName(), imported)
			}
			seen[file.GetName()] = true
			assert.Nil(t, file.Options)
		}
		files, err := protodesc.NewFiles(&set)
		require.NoError(t, err, pub.Type)
		_, err = files.FindDescriptorByName(protoreflect.FullName(pub.Type))
		assert.NoError(t, err)
	}
	for _, pub := range rossample.Standard() {
		assert.Contains(t, names, pub.Sample)
	}
	own := 0
	for _, name := range names {
		if strings.HasPrefix(name, "foxglove.") {
			own++
		}
	}
	assert.Equal(t, 13, own)
}
