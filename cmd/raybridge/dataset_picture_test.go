package main

import (
	"bytes"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestDatasetPicture(t *testing.T) {
	folder := t.TempDir()
	painted := image.NewNRGBA(image.Rect(0, 0, 16, 8))
	for i := range painted.Rect.Dx() * painted.Rect.Dy() {
		painted.Set(i%16, i/16, color.NRGBA{R: 200, G: uint8(100 * (i % 16 / 8)), B: 30, A: 255})
	}
	var encoded bytes.Buffer
	require.NoError(t, png.Encode(&encoded, painted))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "a.png"), encoded.Bytes(), 0o600))
	encoded.Reset()
	require.NoError(t, jpeg.Encode(&encoded, painted, &jpeg.Options{Quality: 100}))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "a.jpg"), encoded.Bytes(), 0o600))
	for file, tolerance := range map[string]float64{"a.png": 0, "a.jpg": 25} { // a JPEG blurs edges of colours
		got := call(t, "dataset", "picture", filepath.Join(folder, file))
		require.Zero(t, got.code, got.err)
		pixels, found := bytes.CutPrefix([]byte(got.out), []byte("P6\n16 8\n255\n"))
		require.True(t, found, "%s: %.20q", file, got.out)
		require.Len(t, pixels, 16*8*3)
		for i := range 16 * 8 {
			want := painted.NRGBAAt(i%16, i/16)
			assert.InDeltaSlice(t, []uint8{want.R, want.G, want.B}, pixels[3*i:3*i+3], tolerance, "%s: pixel %d", file, i)
		}
	}
}

func TestDatasetPictureTellsWhatIsWrong(t *testing.T) {
	folder := t.TempDir()
	huge := []byte("\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x01\x00\x00\x00\x01\x00\x00\x08\x02\x00\x00\x00\xe3\xe6\xa7\xb4")
	for name, c := range map[string]struct {
		content []byte
		code    int
		want    string
	}{
		"none.jpg":  {nil, exitUsage, "no such file"},
		"text.jpg":  {[]byte("no picture"), exitFailed, "unknown format"},
		"short.jpg": {[]byte("\xff\xd8\xff"), exitFailed, "read .*short.jpg: "},
		"huge.png":  {huge, exitFailed, "65536x65536 pixels are more than 268435456"},
	} {
		path := filepath.Join(folder, name)
		if c.content != nil {
			require.NoError(t, os.WriteFile(path, c.content, 0o600))
		}
		got := call(t, "dataset", "picture", path)
		assert.Equal(t, c.code, got.code, name)
		assert.Empty(t, got.out)
		assert.Regexp(t, c.want, got.err)
	}
}
