//go:build cgo && linux && peers

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestPeerTorchTakesBatches: PyTorch's DataLoader with two workers takes a hundred batches of a set of each format.
func TestPeerTorchTakesBatches(t *testing.T) {
	sets := t.TempDir()
	out, err := python(t, ".", "python/tests/written_sets.py", sets).CombinedOutput()
	require.NoError(t, err, "%s", out)
	for _, name := range []string{"nuscenes", "coco", "kitti"} {
		t.Run(name, func(t *testing.T) {
			out, err := python(t, ".", "python/examples/torch_loader.py", filepath.Join(sets, name), "100").CombinedOutput()
			require.NoError(t, err, "%s", out)
			assert.Equal(t, 100, strings.Count(string(out), "\n"), "%s", out)
			assert.Regexp(t, `\n100 \([124], 3, 48, 64\) `, string(out))
		})
	}
}

// TestPeersSetsPass: sets that a script in Python writes by the formats' descriptions pass the check, and what it writes of one world as nuScenes and as KITTI is the same.
func TestPeersSetsPass(t *testing.T) {
	sets := t.TempDir()
	out, err := python(t, ".", "python/tests/written_sets.py", sets).CombinedOutput()
	require.NoError(t, err, "%s", out)
	for _, name := range []string{"coco", "kitti"} {
		o := call(t, "dataset", "check", "--strict", filepath.Join(sets, name))
		assert.Equal(t, exitDone, o.code, "%s\n%s", o.out, o.err)
	}
	frames := readNuScenes(t, os.DirFS(filepath.Join(sets, "nuscenes"))).frames(t)
	const together = 4 // key frames of the first scene; KITTI's sequence continues
	assert.Positive(t, assertKITTI(t, os.DirFS(filepath.Join(sets, "kitti")), frames[:together]))
}

// TestPeersDecodePictures: Pillow and OpenCV decode the pictures of sets to the colours that were written, as the program does.
func TestPeersDecodePictures(t *testing.T) {
	out, err := python(t, "python/tests", "-c", "import PIL.Image, cv2").CombinedOutput()
	require.NoError(t, err, "%s", out)
	out, err = python(t, "python/tests", "-m", "unittest", "-v", "test_dataset.TestNuScenes", "test_dataset.TestCoco", "test_dataset.TestKitti").CombinedOutput()
	require.NoError(t, err, "%s", out)
	assert.Contains(t, string(out), "test_pictures")
}
