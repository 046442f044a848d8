package main

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io/fs"
	"math"
	"path"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// This file turns a set of nuScenes into what a KITTI set of the same run must say, by the two formats' descriptions.

// nuRow has the fields of nuScenes' tables that KITTI needs.
type nuRow struct {
	Token            string      `json:"token"`
	Timestamp        int64       `json:"timestamp"`
	SceneToken       string      `json:"scene_token"`
	SampleToken      string      `json:"sample_token"`
	EgoPoseToken     string      `json:"ego_pose_token"`
	CalibratedSensor string      `json:"calibrated_sensor_token"`
	SensorToken      string      `json:"sensor_token"`
	Channel          string      `json:"channel"`
	Filename         string      `json:"filename"`
	IsKeyFrame       bool        `json:"is_key_frame"`
	Translation      [3]float64  `json:"translation"`
	Rotation         [4]float64  `json:"rotation"` // w, x, y, z
	Size             [3]float64  `json:"size"`     // width, length, height
	Intrinsic        [][]float64 `json:"camera_intrinsic"`
}

// matrix is the row's pose.
func (r nuRow) matrix() mgl64.Mat4 {
	q := mgl64.Quat{W: r.Rotation[0], V: mgl64.Vec3{r.Rotation[1], r.Rotation[2], r.Rotation[3]}}
	return mgl64.Translate3D(r.Translation[0], r.Translation[1], r.Translation[2]).Mul4(q.Mat4())
}

// nuScenes are the tables by token, and the samples in order.
type nuScenes struct {
	root    fs.FS
	rows    map[string]map[string]nuRow
	samples []nuRow
	data    map[string]map[string]nuRow // key frames' sample_data, by sample and channel
	boxes   map[string][]nuRow          // annotations by sample
}

func readNuScenes(t *testing.T, root fs.FS) *nuScenes {
	t.Helper()
	n := &nuScenes{root: root, rows: map[string]map[string]nuRow{}, data: map[string]map[string]nuRow{}, boxes: map[string][]nuRow{}}
	tables, err := fs.Glob(root, "*/sample.json")
	require.NoError(t, err)
	require.Len(t, tables, 1)
	read := func(name string) (rows []nuRow) {
		text, err := fs.ReadFile(root, path.Join(path.Dir(tables[0]), name+".json"))
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(text, &rows))
		n.rows[name] = map[string]nuRow{}
		for _, r := range rows {
			n.rows[name][r.Token] = r
		}
		return rows
	}
	read("sensor")
	read("calibrated_sensor")
	read("ego_pose")
	n.samples = read("sample")
	for _, d := range read("sample_data") {
		if d.IsKeyFrame {
			if n.data[d.SampleToken] == nil {
				n.data[d.SampleToken] = map[string]nuRow{}
			}
			n.data[d.SampleToken][n.rows["sensor"][n.rows["calibrated_sensor"][d.CalibratedSensor].SensorToken].Channel] = d
		}
	}
	for _, a := range read("sample_annotation") {
		n.boxes[a.SampleToken] = append(n.boxes[a.SampleToken], a)
	}
	return n
}

// kittiFrame is what KITTI says of a key frame.
type kittiFrame struct {
	scene  string
	time   float64 // seconds
	camera mgl64.Mat4
	// lidar leads from the lidar, x forward, to the camera.
	lidar mgl64.Mat4
	p2    [12]float64
	boxes [][7]float64 // height, width, length, x, y, z, ry
	cloud []byte
}

// ahead is x forward, y left in a frame of x right, y forward.
var ahead = mgl64.Mat4FromRows(mgl64.Vec4{0, -1, 0, 0}, mgl64.Vec4{1, 0, 0, 0}, mgl64.Vec4{0, 0, 1, 0}, mgl64.Vec4{0, 0, 0, 1})

// frames converts all samples, by camera CAM_FRONT and LIDAR_TOP.
func (n *nuScenes) frames(t *testing.T) (all []kittiFrame) {
	t.Helper()
	for _, s := range n.samples {
		camera, lidar := n.data[s.Token]["CAM_FRONT"], n.data[s.Token]["LIDAR_TOP"]
		of := n.rows["calibrated_sensor"][camera.CalibratedSensor]
		toMap := n.rows["ego_pose"][camera.EgoPoseToken].matrix().Mul4(of.matrix())
		lidarToMap := n.rows["ego_pose"][lidar.EgoPoseToken].matrix().Mul4(n.rows["calibrated_sensor"][lidar.CalibratedSensor].matrix()).Mul4(ahead)
		f := kittiFrame{scene: s.SceneToken, time: float64(s.Timestamp) / 1e6, camera: toMap, lidar: toMap.Inv().Mul4(lidarToMap)}
		for i, row := range of.Intrinsic {
			copy(f.p2[4*i:], row)
		}
		for _, a := range n.boxes[s.Token] {
			box := toMap.Inv().Mul4(a.matrix())
			bottom, heading := box.Mul4x1(mgl64.Vec4{0, 0, -a.Size[2] / 2, 1}), box.Mul4x1(mgl64.Vec4{1, 0, 0, 0})
			f.boxes = append(f.boxes, [7]float64{a.Size[2], a.Size[0], a.Size[1], bottom[0], bottom[1], bottom[2], math.Atan2(-heading[2], heading[0])})
		}
		data, err := fs.ReadFile(n.root, lidar.Filename)
		require.NoError(t, err)
		for i := 0; i+20 <= len(data); i += 20 {
			value := func(j int) float32 { return math.Float32frombits(binary.LittleEndian.Uint32(data[i+4*j:])) }
			for _, v := range []float32{value(1), -value(0), value(2), value(3) / 255} {
				f.cloud = binary.LittleEndian.AppendUint32(f.cloud, math.Float32bits(v))
			}
		}
		all = append(all, f)
	}
	return all
}

// assertKITTI compares a KITTI set with converted frames: each label is a box of the frame's, calibrations, points, poses and times are the same within printing. It
// returns how many labels there are.
func assertKITTI(t *testing.T, root fs.FS, frames []kittiFrame) (labels int) {
	t.Helper()
	read := func(format string, args ...any) string {
		data, err := fs.ReadFile(root, fmt.Sprintf(format, args...))
		require.NoError(t, err)
		return string(data)
	}
	sequence, first := -1, 0
	for i, f := range frames {
		for _, l := range strings.Split(strings.TrimSpace(read("training/label_2/%06d.txt", i)), "\n") {
			if l == "" || strings.HasPrefix(l, "DontCare") {
				continue
			}
			labels++
			assert.True(t, f.has(numbersOf(t, strings.Fields(l)[8:])), "frame %d: no box of nuScenes is %s", i, l)
		}
		calib := strings.Split(read("training/calib/%06d.txt", i), "\n")
		assert.InDeltaSlice(t, f.p2[:], numbersOf(t, strings.Fields(calib[2])[1:]), 1e-6, "frame %d: P2", i)
		assert.InDeltaSlice(t, rowsOf(f.lidar), numbersOf(t, strings.Fields(calib[5])[1:]), 1e-6, "frame %d: Tr_velo_to_cam", i)
		assertPoints(t, f.cloud, read("training/velodyne/%06d.bin", i))
		if sequence < 0 || f.scene != frames[i-1].scene {
			sequence, first = sequence+1, i
		}
		line := func(file string) []string { return strings.Fields(strings.Split(file, "\n")[i-first]) }
		start := frames[first]
		assert.InDelta(t, f.time-start.time, numbersOf(t, line(read("sequences/%02d/times.txt", sequence)))[0], 1.1e-6, "frame %d", i)
		assert.InDeltaSlice(t, rowsOf(start.camera.Inv().Mul4(f.camera)), numbersOf(t, line(read("poses/%02d.txt", sequence))), 1e-5, "frame %d: pose", i)
	}
	return labels
}

// has reports whether a label's numbers, printed with two decimals, are those of a box.
func (f *kittiFrame) has(label []float64) bool {
	for _, b := range f.boxes {
		off := math.Abs(math.Remainder(b[6]-label[6], 2*math.Pi))
		for j := range 6 {
			off = max(off, math.Abs(b[j]-label[j]))
		}
		if off <= 0.005+1e-5 {
			return true
		}
	}
	return false
}

func rowsOf(m mgl64.Mat4) (rows []float64) {
	for i := range 3 {
		for j := range 4 {
			rows = append(rows, m.At(i, j))
		}
	}
	return rows
}

func numbersOf(t *testing.T, fields []string) (numbers []float64) {
	t.Helper()
	for _, field := range fields {
		v, err := strconv.ParseFloat(field, 64)
		require.NoError(t, err)
		numbers = append(numbers, v)
	}
	return numbers
}

func assertPoints(t *testing.T, want []byte, got string) {
	t.Helper()
	require.Len(t, got, len(want))
	worst := 0.0
	for i := 0; i < len(want); i += 4 {
		a, b := math.Float32frombits(binary.LittleEndian.Uint32(want[i:])), math.Float32frombits(binary.LittleEndian.Uint32([]byte(got[i:i+4])))
		worst = max(worst, math.Abs(float64(a-b)))
	}
	assert.LessOrEqual(t, worst, 1e-5)
}

// TestNuScenesAsKITTI converts a key frame that is computed by hand: the ego stands at (100, 50) and looks along the map's y, the camera is 1 m ahead and 1.5 m up, the lidar 2 m up. A car of
// 4 x 2 x 1.6 m, 10 m before the camera and 3 m to its left, looks along the map's x: to the right.
func TestNuScenesAsKITTI(t *testing.T) {
	const half = "0.7071067811865476"
	text := map[string]string{
		"sensor":            `[{"token":"a","channel":"CAM_FRONT"},{"token":"b","channel":"LIDAR_TOP"}]`,
		"calibrated_sensor": `[{"token":"a","sensor_token":"a","translation":[1,0,1.5],"rotation":[0.5,-0.5,0.5,-0.5],"camera_intrinsic":[[100,0,50],[0,100,40],[0,0,1]]},{"token":"b","sensor_token":"b","translation":[0,0,2],"rotation":[` + half + `,0,0,-` + half + `],"camera_intrinsic":[]}]`,
		"ego_pose":          `[{"token":"e","translation":[100,50,0],"rotation":[` + half + `,0,0,` + half + `]}]`,
		"sample":            `[{"token":"s","timestamp":1700000000000000}]`,
		"sample_data":       `[{"token":"a","sample_token":"s","ego_pose_token":"e","calibrated_sensor_token":"a","is_key_frame":true},{"token":"b","sample_token":"s","ego_pose_token":"e","calibrated_sensor_token":"b","is_key_frame":true,"filename":"samples/b.pcd.bin"}]`,
		"sample_annotation": `[{"sample_token":"s","translation":[97,61,0.8],"size":[2,4,1.6],"rotation":[1,0,0,0]}]`,
	}
	set := fstest.MapFS{}
	for name, rows := range text {
		set["v1.0/"+name+".json"] = &fstest.MapFile{Data: []byte(rows)}
	}
	floats := func(values ...float32) *fstest.MapFile {
		var data []byte
		for _, v := range values {
			data = binary.LittleEndian.AppendUint32(data, math.Float32bits(v))
		}
		return &fstest.MapFile{Data: data}
	}
	set["samples/b.pcd.bin"] = floats(-3, 10, -0.5, 51, 7) // 10 m ahead, 3 m to the left
	identity := "1 0 0 0 0 1 0 0 0 0 1 0"
	kitti := fstest.MapFS{
		"training/label_2/000000.txt":  {Data: []byte("Car 0.00 0 0.29 1.00 2.00 3.00 4.00 1.60 2.00 4.00 -3.00 1.50 10.00 0.00\n")},
		"training/calib/000000.txt":    {Data: []byte("P0: 0\nP1: 0\nP2: 100 0 50 0 0 100 40 0 0 0 1 0\nP3: 0\nR0_rect: 0\nTr_velo_to_cam: 0 -1 0 0 0 0 -1 -0.5 1 0 0 -1\n")},
		"training/velodyne/000000.bin": floats(10, 3, -0.5, 0.2),
		"sequences/00/times.txt":       {Data: []byte("0\n")},
		"poses/00.txt":                 {Data: []byte(identity + "\n")},
	}
	assert.Equal(t, 1, assertKITTI(t, kitti, readNuScenes(t, set).frames(t)))
}
