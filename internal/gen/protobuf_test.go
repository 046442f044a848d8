package main

import (
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Files of one name in two folders become one package, and keep their own packages in
// protobuf.
func TestProtobuf(t *testing.T) {
	const goPackage = "option go_package = \"example.org/tyrepb\";\n"
	write(t, map[string]string{
		"a/part.proto":    "syntax = \"proto3\";\npackage wheels;\n" + goPackage + "message Tyre {}\n",
		"to/b/part.proto": "syntax = \"proto3\";\npackage cars;\n" + goPackage + "import \"a/part.proto\";\nmessage Car { wheels.Tyre tyre = 1; }\n",
	})
	require.ErrorContains(t, protobuf([]string{"."}), "FROM TO")
	require.ErrorContains(t, protobuf([]string{"../bridgetest", "to"}), "bridgetest has no .proto files")
	require.ErrorContains(t, protobuf([]string{"to", "to"}), "a/part.proto", "what is imported lies elsewhere")
	require.NoError(t, protobuf([]string{".", "to"}))

	tyre, err := os.ReadFile("to/a_part.pb.go")
	require.NoError(t, err)
	assert.Contains(t, string(tyre), "package tyrepb\n")
	assert.Contains(t, string(tyre), "wheels.Tyre")
	car, err := os.ReadFile("to/b_part.pb.go")
	require.NoError(t, err)
	assert.Contains(t, string(car), "*Tyre")
	assert.Contains(t, string(car), "cars.Car")
}
