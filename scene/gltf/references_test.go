package gltf_test

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/scene/gltf"
)

func TestReferences(t *testing.T) {
	t.Parallel()
	const good = `{"buffers": [{"uri": "m.bin"}, {"uri": "data:;base64,AAAA"}, {}], "images": [{"uri": "textures/a%20b.png"}, {"bufferView": 0}]}`
	glb := []byte("glTF\x02\x00\x00\x00")
	for _, n := range []int{20 + len(good), len(good), 0x4e4f534a} {
		glb = binary.LittleEndian.AppendUint32(glb, uint32(n))
	}
	for name, c := range map[string]struct {
		text  string
		want  []string
		fails string
	}{
		"text":      {text: good, want: []string{"m.bin", "textures/a b.png"}},
		"container": {text: string(glb) + good, want: []string{"m.bin", "textures/a b.png"}},
		"alone":     {text: `{"asset": {"version": "2.0"}}`},
		"outside":   {text: `{"buffers": [{"uri": "m.bin"}], "images": [{"uri": "../a.png"}]}`, fails: "images[0]: URI \"../a.png\" leads out of the model's folder"},
		"no JSON":   {text: "solid", fails: "model"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "model.gltf")
			require.NoError(t, os.WriteFile(file, []byte(c.text), 0o600))
			got, err := gltf.References(file)
			if c.fails != "" {
				require.ErrorContains(t, err, c.fails)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, c.want, got)
		})
	}
}
