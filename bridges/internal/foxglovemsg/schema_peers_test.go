//go:build peers

package foxglovemsg_test

import (
	"encoding/json"
	"testing"

	"github.com/bufbuild/protocompile"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"github.com/raybridge/raybridge/bridges/bridgetest"
	_ "github.com/raybridge/raybridge/bridges/internal/foxglovemsg" // registers our files
)

// Every message that we wrote down is, in names, numbers, types and labels, what
// Foxglove's npm package generates.
func TestSchemasEqualFoxgloves(t *testing.T) {
	out := bridgetest.StartProcess(t, bridgetest.Node("testdata/peers/schemas.cjs")).Wait(t)
	files := map[string]string{}
	require.NoError(t, json.Unmarshal([]byte(out), &files))
	require.Greater(t, len(files), 40)
	compiler := protocompile.Compiler{
		Resolver: protocompile.WithStandardImports(&protocompile.SourceResolver{Accessor: protocompile.SourceAccessorFromMap(files)}),
	}
	compared := 0
	protoregistry.GlobalFiles.RangeFilesByPackage("foxglove", func(ours protoreflect.FileDescriptor) bool {
		require.Contains(t, files, ours.Path())
		compiled, err := compiler.Compile(t.Context(), ours.Path())
		require.NoError(t, err)
		require.Equal(t, 1, ours.Messages().Len())
		theirs := compiled[0].Messages().Get(0)
		assert.Equal(t,
			prototext.Format(protodesc.ToDescriptorProto(theirs)), prototext.Format(protodesc.ToDescriptorProto(ours.Messages().Get(0))))
		compared++
		return true
	})
	assert.Equal(t, 36, compared)
}
