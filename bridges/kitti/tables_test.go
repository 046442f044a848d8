package kitti

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges/dataset"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/spatial"
)

// testSet writes a set of one scene, whose camera drives a quarter of a circle in three key frames, and returns its folder.
func testSet(t *testing.T, run string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	var journal []byte
	row := func(v any) {
		line, err := json.Marshal(v)
		require.NoError(t, err)
		journal = append(append(journal, line...), '\n')
	}
	write := func(name, data string) {
		file := filepath.Join(dir, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o777))
		require.NoError(t, os.WriteFile(file, []byte(data), 0o666))
	}
	row(dataset.Head{Format: "kitti", Version: "1", Options: map[string]string{"boxes": "visible"}})
	row(dataset.Row{Scene: &dataset.SceneRow{Run: run, Data: json.RawMessage(`{}`)}})
	for i := range 3 {
		at := camera(mgl64.Vec3{})
		angle := float64(i) * 45
		sin, cos := math.Sincos(mgl64.DegToRad(angle))
		at.mount = spatial.FromRPY(mgl64.Vec3{100 + 10*sin, 50 + 10*(1-cos), 1.5}, 0, 0, angle)
		data, err := json.Marshal(frameRow{simtime.Stamp(5e9 + i*5e8), at.optical()})
		require.NoError(t, err)
		files := []string{fmt.Sprintf("sequences/00/velodyne/%06d.bin", i), fmt.Sprintf("training/velodyne/%06d.bin", i)}
		for _, f := range files {
			write(f, run+f[len(f)-10:])
		}
		row(dataset.Row{Frame: &dataset.FrameRow{Number: i, Files: files, Data: data}})
	}
	write(dataset.JournalFile, string(journal))
	return dir
}

func lines(t *testing.T, file string) []string {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	return strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
}

// TestMergedTables gives the frames of two runs numbers in the order of the runs, and each its sequence: its times begin at 0,
// and its poses are the camera's in its first frame.
func TestMergedTables(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out")
	_, err := dataset.Merge(t.Context(), []dataset.Format{Format}, out, []string{testSet(t, "b"), testSet(t, "a")}, nil)
	require.NoError(t, err)
	for name, want := range map[string]string{
		"training/velodyne/000001.bin": "a000001.bin", "training/velodyne/000005.bin": "b000002.bin", "sequences/01/velodyne/000002.bin": "b000002.bin",
	} {
		assert.Equal(t, []string{want}, lines(t, filepath.Join(out, filepath.FromSlash(name))))
	}
	for list, want := range map[string][]string{
		"train": {"000000", "000001", "000002", "000003", "000004", "000005"}, "trainval": {"000000", "000001", "000002", "000003", "000004", "000005"},
		"val": {""}, "test": {""},
	} {
		assert.Equal(t, want, lines(t, filepath.Join(out, "ImageSets", list+".txt")))
	}
	for _, sequence := range []string{"00", "01"} {
		assert.Equal(t, []string{"0.000000000e+00", "5.000000000e-01", "1.000000000e+00"}, lines(t, filepath.Join(out, "sequences", sequence, "times.txt")))
		var poses [3][12]float64
		for i, line := range lines(t, filepath.Join(out, "poses", sequence+".txt")) {
			for k, text := range strings.Split(line, " ") {
				_, err := fmt.Sscanf(text, "%g", &poses[i][k])
				require.NoError(t, err)
			}
		}
		assert.Equal(t, [12]float64{1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0}, poses[0])
		// A quarter of a circle of 10 m to the left: x is right, z ahead, and the camera then looks to where -x was.
		assert.InDeltaSlice(t, []float64{0, 0, -1, -10, 0, 1, 0, 0, 1, 0, 0, 10}, poses[2][:], 1e-9)
	}
}

func TestSplitTables(t *testing.T) {
	dirs := []string{testSet(t, "b"), testSet(t, "a"), testSet(t, "c")}
	shares, err := dataset.ParseShares("train=2,val=1")
	require.NoError(t, err)
	out := filepath.Join(t.TempDir(), "out")
	_, err = dataset.Merge(t.Context(), []dataset.Format{Format}, out, dirs, shares)
	require.NoError(t, err)
	train, val := lines(t, filepath.Join(out, "ImageSets", "train.txt")), lines(t, filepath.Join(out, "ImageSets", "val.txt"))
	assert.Len(t, train, 6)
	assert.Len(t, val, 3)
	assert.ElementsMatch(t, lines(t, filepath.Join(out, "ImageSets", "trainval.txt")), append(train, val...))

	shares, err = dataset.ParseShares("train=2,test=1")
	require.NoError(t, err)
	_, err = dataset.Merge(t.Context(), []dataset.Format{Format}, filepath.Join(t.TempDir(), "out"), dirs, shares)
	require.ErrorIs(t, err, dataset.ErrShares)
}
