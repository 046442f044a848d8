package city

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// paintedOfVersion is the SHA-256 of the pictures of seed 1 that paintVersion stands for.
const paintedOfVersion = "ea6846e55bb484bd5cdddc13ee506b4cc5399d48e2306c8efe9402e840e78704"

// TestPaintVersion: who changes the pictures raises paintVersion, and takes the hash that this tells over. Else old
// pictures would come from the cache.
func TestPaintVersion(t *testing.T) {
	if fuses() {
		t.Skip("this architecture's pictures differ in their last digits")
	}
	h := sha256.New()
	for _, texture := range paintTextures(1, allPictures()) {
		h.Write(texture.Image.Pix)
	}
	assert.Equal(t, paintedOfVersion, fmt.Sprintf("%x", h.Sum(nil)), "the pictures have changed since version %d", paintVersion)
}

// TestKeptPictures are those that are painted, also where the file is damaged.
func TestKeptPictures(t *testing.T) {
	dir := t.TempDir()
	want := paintTextures(3, allPictures())
	assert.Equal(t, want, townTextures(3, dir))
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	require.NoError(t, err)
	require.Len(t, files, 1)
	assert.Equal(t, want, townTextures(3, dir))
	assert.NotEqual(t, want, townTextures(4, dir), "another seed")

	kept, err := os.ReadFile(files[0])
	require.NoError(t, err)
	for name, damaged := range map[string][]byte{
		"short": kept[:len(kept)-1], "long": append(kept[:len(kept):len(kept)], 0), "a bit": flipped(kept, len(kept)/2), "its sum": flipped(kept, len(kept)-1),
		"its key": flipped(kept, 20), "empty": nil,
	} {
		require.NoError(t, os.WriteFile(files[0], damaged, 0o600))
		assert.Equal(t, want, townTextures(3, dir), name)
		mended, err := os.ReadFile(files[0])
		require.NoError(t, err)
		assert.Equal(t, kept, mended, name)
	}
	assert.Equal(t, want, townTextures(3, filepath.Join(files[0], "no folder")), "a cache that can't be written")
}

func flipped(data []byte, at int) []byte {
	other := append([]byte(nil), data...)
	other[at] ^= 1
	return other
}
