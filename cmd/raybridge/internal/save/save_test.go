package save_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/stream"
	"github.com/raybridge/raybridge/cmd/raybridge/internal/save"
	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/spatial"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func header(seq uint64) sample.Header {
	return sample.Header{
		Stamp: simtime.Stamp(1_200_000_000 + int64(seq)*100_000_000), Seq: seq, FrameID: "roof",
		Pose: spatial.Pose{Position: mgl64.Vec3{1, -2.5, 1e-7}, Orientation: mgl64.Quat{W: 0.5, V: mgl64.Vec3{0.5, -0.5, 0.5}}},
	}
}

// message is a sample as it is received from a server.
func message(t testing.TB, msg simtime.Stamped) *stream.Data {
	t.Helper()
	encoding := encodingOf(t, msg)
	b, err := encoding.Append(nil, 5, msg, stream.MaxSize)
	require.NoError(t, err)
	d, err := stream.Open(&stream.Info{Name: "a", Type: stream.NewTypeID(400, 0), Schema: encoding.Schema}, b)
	require.NoError(t, err)
	return d
}

func encodingOf(t testing.TB, msg any) *stream.Encoding {
	t.Helper()
	encoding, err := stream.EncodingOf(reflect.TypeOf(msg))
	require.NoError(t, err)
	return encoding
}

// files returns what lies below a folder, by path.
func files(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	found := map[string][]byte{}
	require.NoError(t, filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, path)
		require.NoError(t, err)
		found[name], err = os.ReadFile(path)
		return err
	}))
	return found
}

// saved saves samples as messages of one stream, and returns the files.
func saved(t *testing.T, format save.Format, info stream.Info, list ...simtime.Stamped) map[string][]byte {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "new", "folder")
	folder, err := save.NewFolder(dir, format)
	require.NoError(t, err)
	info.Schema, info.Type = encodingOf(t, list[0]).Schema, stream.NewTypeID(400, 0)
	s, err := folder.Stream(info)
	require.NoError(t, err)
	for _, msg := range list {
		d := message(t, msg)
		d.Stream = &info
		require.NoError(t, s.Save(d))
	}
	require.NoError(t, s.Close())
	found := files(t, dir)
	n, size := s.Saved()
	assert.Equal(t, len(list), n)
	sum := 0
	for _, data := range found {
		sum += len(data)
	}
	assert.EqualValues(t, sum, size)
	return found
}

// scan is a cloud of two returns.
func scan() *sample.PointCloud {
	return &sample.PointCloud{
		Header: header(3), Rings: 4, Columns: 5,
		Points: []sample.Point{
			{X: 1, Y: 2, Z: 3, Intensity: 40.5, TimeNs: 5000, Ring: 300, Tag: 14, Instance: 70000},
			{X: -1, Y: -2, Z: -3, Intensity: 0.25, TimeNs: 100_000_000, Ring: 1, Tag: 255, Instance: math.MaxUint32},
		},
	}
}

const pcdHeader = `# .PCD v0.7 - Point Cloud Data file format
# frame roof, stamp 1.500000000 s, sequence 3
VERSION 0.7
FIELDS x y z intensity ring time tag instance
SIZE 4 4 4 4 2 4 1 4
TYPE F F F F U F U U
COUNT 1 1 1 1 1 1 1 1
WIDTH 2
HEIGHT 1
VIEWPOINT 1 -2.5 0.0000001 0.5 0.5 -0.5 0.5
POINTS 2
DATA binary
`

const plyHeader = `ply
format binary_little_endian 1.0
comment frame roof, stamp 1.500000000 s, sequence 3
comment sensor in the map x y z qw qx qy qz 1 -2.5 0.0000001 0.5 0.5 -0.5 0.5
element vertex 2
property float x
property float y
property float z
property float intensity
property ushort ring
property float time
property uchar tag
property uint instance
end_header
`

func TestClouds(t *testing.T) {
	info := stream.Info{Name: "/roof/points"}
	pcd := saved(t, save.Auto, info, scan())["roof/points/00000003_1.500000000.pcd"]
	require.True(t, strings.HasPrefix(string(pcd), pcdHeader), "%.500s", pcd)
	ply := saved(t, save.PLY, info, scan())["roof/points/00000003_1.500000000.ply"]
	require.True(t, strings.HasPrefix(string(ply), plyHeader), "%.500s", ply)
	for _, c := range []*cloud{readPCD(t, pcd), readPLY(t, ply)} {
		for field, want := range map[string][]float64{
			"x": {1, -1}, "y": {2, -2}, "z": {3, -3}, "intensity": {40.5, 0.25}, "ring": {300, 1},
			"time": {float64(float32(5e-6)), float64(float32(0.1))}, "tag": {14, 255}, "instance": {70000, math.MaxUint32},
		} {
			assert.Equal(t, want, c.column(field), field)
		}
		assert.Equal(t, []int{2, 1}, []int{c.width, c.height})
	}
}

// TestOrganizedClouds: rows are rings, whatever order they fire in.
func TestOrganizedClouds(t *testing.T) {
	for name, c := range map[string]struct {
		rings [2]uint16
		want  []float64
	}{
		"in order":    {[2]uint16{0, 1}, []float64{0, 2, 4, 1, 3, 5}},
		"interleaved": {[2]uint16{1, 0}, []float64{1, 3, 5, 0, 2, 4}},
		"unnumbered":  {[2]uint16{7, 9}, []float64{0, 2, 4, 1, 3, 5}},
		"ambiguous":   {[2]uint16{1, 1}, []float64{0, 2, 4, 1, 3, 5}},
	} {
		t.Run(name, func(t *testing.T) {
			m := &sample.PointCloud{Header: header(0), Organized: true, Rings: 2, Columns: 3}
			for i := range 6 {
				m.Points = append(m.Points, sample.Point{X: float32(i), Ring: c.rings[i%2]})
			}
			m.Points[1].Y = float32(math.NaN())
			p, err := save.CloudPoints(m)
			require.NoError(t, err)
			got := readPCD(t, save.AppendPCD(nil, p))
			assert.Equal(t, []int{3, 2}, []int{got.width, got.height})
			assert.Equal(t, c.want, got.column("x"))
			assert.Equal(t, c.want, readPLY(t, save.AppendPLY(nil, p)).column("x"))
		})
	}
	// Two points of each firing lie side by side, and have what tells them apart.
	dual := &sample.PointCloud{Header: header(0), Organized: true, Rings: 2, Columns: 2, Returns: sample.DualReturns}
	for i := range 8 {
		dual.Points = append(dual.Points, sample.Point{X: float32(i), Ring: []uint16{1, 0}[i/2%2], Return: uint8(i), Ray: uint32(i / 2)})
	}
	p, err := save.CloudPoints(dual)
	require.NoError(t, err)
	for _, got := range []*cloud{readPCD(t, save.AppendPCD(nil, p)), readPLY(t, save.AppendPLY(nil, p))} {
		assert.Equal(t, []float64{2, 3, 6, 7, 0, 1, 4, 5}, got.column("x"))
		assert.Equal(t, got.column("x"), got.column("return_type"))
		assert.Equal(t, []float64{1, 1, 3, 3, 0, 0, 2, 2}, got.column("ray"))
	}
	for _, shape := range [][2]int{{0, 0}, {2, 4}, {-1, -6}, {1 << 32, 1 << 32}, {6, 0}} {
		_, err := save.CloudPoints(&sample.PointCloud{Organized: true, Points: make([]sample.Point, 6), Rings: shape[0], Columns: shape[1]})
		require.ErrorContains(t, err, "6 points are no", "%v", shape)
	}
}

// TestEmptyClouds: a file without points is one, too, and a frame's name ends no line.
func TestEmptyClouds(t *testing.T) {
	p, err := save.CloudPoints(&sample.PointCloud{Header: sample.Header{Stamp: -1, FrameID: "a\nDATA ascii\r"}})
	require.NoError(t, err)
	data := save.AppendPCD([]byte("before\n"), p)
	got := readPCD(t, bytes.TrimPrefix(data, []byte("before\n")))
	assert.Equal(t, []int{0, 1}, []int{got.width, got.height})
	assert.Equal(t, strings.Fields("0 0 0 1 0 0 0"), got.viewpoint)
	assert.Contains(t, string(data), "# frame a DATA ascii , stamp -0.000000001 s, sequence 0\n")
	assert.Empty(t, readPLY(t, save.AppendPLY(nil, p)).points)
}

func TestRadar(t *testing.T) {
	m := &sample.Radar{Header: header(1), Detections: []sample.RadarDetection{
		{Velocity: -3, Azimuth: math.Pi / 2, Depth: 10, Instance: 9, Tag: 14},
		{Velocity: 4, Altitude: math.Pi / 6, Depth: 2},
	}}
	info := stream.Info{Name: "radar"}
	pcd := readPCD(t, saved(t, save.Auto, info, m)["radar/00000001_1.300000000.pcd"])
	ply := readPLY(t, saved(t, save.PLY, info, m)["radar/00000001_1.300000000.ply"])
	for _, got := range []*cloud{pcd, ply} {
		assert.InDeltaSlice(t, []float64{0, 2 * math.Cos(math.Pi/6)}, got.column("x"), 1e-6)
		assert.InDeltaSlice(t, []float64{10, 0}, got.column("y"), 1e-6)
		assert.InDeltaSlice(t, []float64{0, 1}, got.column("z"), 1e-6)
		for field, want := range map[string][]float64{
			"velocity": {-3, 4}, "depth": {10, 2}, "azimuth": {float64(float32(math.Pi / 2)), 0},
			"altitude": {0, float64(float32(math.Pi / 6))}, "tag": {14, 0}, "instance": {9, 0},
		} {
			assert.Equal(t, want, got.column(field), field)
		}
	}
}

func TestImages(t *testing.T) {
	rgb := &sample.Image{Header: header(12), Width: 2, Height: 1, Step: 8, Encoding: sample.EncodingRGB8, Data: []byte{1, 2, 3, 4, 5, 6, 0, 0}}
	tags := &sample.Image{Header: header(13), Width: 1, Height: 1, Step: 1, Encoding: sample.EncodingMono8, Data: []byte{byte(scene.TagRoads)}}
	for name, c := range map[string]struct {
		sensor string
		m      *sample.Image
		file   string
		want   []color.RGBA
	}{
		"colours": {"sensor.camera.rgb", rgb, "front/image_raw/00000012_2.400000000.png", []color.RGBA{{1, 2, 3, 255}, {4, 5, 6, 255}}},
		"grey":    {"sensor.camera.depth", tags, "front/image_raw/00000013_2.500000000.png", []color.RGBA{{1, 1, 1, 255}}},
		"tags":    {"sensor.camera.semantic_segmentation", tags, "front/image_raw/00000013_2.500000000.png", []color.RGBA{{128, 64, 128, 255}}},
	} {
		t.Run(name, func(t *testing.T) {
			found := saved(t, save.PNG, stream.Info{Name: "/front/image_raw", SensorType: c.sensor}, c.m)
			require.Contains(t, found, c.file)
			got, err := png.Decode(bytes.NewReader(found[c.file]))
			require.NoError(t, err)
			require.Equal(t, image.Rect(0, 0, len(c.want), 1), got.Bounds())
			for x, want := range c.want {
				assert.Equal(t, want, color.RGBAModel.Convert(got.At(x, 0)))
			}
		})
	}
}

// TestCompressedImages: they are written as they came.
func TestCompressedImages(t *testing.T) {
	for format, suffix := range map[string]string{"jpeg": ".jpg", "png": ".png"} {
		m := &sample.CompressedImage{Header: header(0), Format: format, Data: []byte("as it " + format)}
		assert.Equal(t, map[string][]byte{"a/00000000_1.200000000" + suffix: m.Data}, saved(t, save.Auto, stream.Info{Name: "a"}, m))
	}
}

func TestLines(t *testing.T) {
	speed := func(seq uint64) *sample.Speed {
		return &sample.Speed{Header: header(seq), MetresPerSecond: float64(seq) / 4}
	}
	found := saved(t, save.Auto, stream.Info{Name: "/car/speed", Sensor: "meter"}, speed(1), speed(2))
	assert.Equal(t, map[string][]byte{"car/speed.jsonl": []byte(
		`{"Name":"meter","Frame":"roof","Time":1.300000000,"StampNs":1300000000,"Sequence":1,"Speed":0.25}` + "\n" +
			`{"Name":"meter","Frame":"roof","Time":1.400000000,"StampNs":1400000000,"Sequence":2,"Speed":0.5}` + "\n")}, found)
	for _, msg := range []simtime.Stamped{scan(), &sample.Clock{Stamp: 5}, &sample.LaserScan{Ranges: []float32{float32(math.Inf(1))}}} {
		line := saved(t, save.JSON, stream.Info{Name: "x"}, msg)["x.jsonl"]
		assert.True(t, json.Valid(line), "%s", line)
	}
}

// beeps is a message type that only its own sensor knows.
type beeps struct {
	sample.Header
	Tones []byte
}

func TestLinesOfTypesFromOutside(t *testing.T) {
	found := saved(t, save.Auto, stream.Info{Name: "beeps", Sensor: "horn"}, &beeps{header(1), []byte{1, 2}})
	assert.Equal(t, `{"Name":"horn","Frame":"roof","Time":1.300000000,"StampNs":1300000000,"Sequence":1,"SensorNumber":400,"Message":"raybridge_msgs/msg/Beeps","Encoding":"cdr","Body":"AAEAAAEAAAAAo+ERBQAAAHJvb2YAAAAAAgAAAAEC"}`+"\n",
		string(found["beeps.jsonl"]))
}

// TestNothingIsReplaced: a second run saves beside the first.
func TestNothingIsReplaced(t *testing.T) {
	dir := t.TempDir()
	for range 3 {
		folder, err := save.NewFolder(dir, save.Auto)
		require.NoError(t, err)
		for _, msg := range []simtime.Stamped{&sample.CompressedImage{Header: header(0), Format: "png"}, &sample.Clock{}} {
			s, err := folder.Stream(stream.Info{Name: "a", Schema: encodingOf(t, msg).Schema})
			require.NoError(t, err)
			require.NoError(t, s.Save(message(t, msg)))
			require.NoError(t, s.Close())
		}
	}
	found := files(t, dir)
	assert.Len(t, found, 4)
	for _, name := range []string{"", "_2", "_3"} {
		assert.Contains(t, found, "a/00000000_1.200000000"+name+".png")
	}
	assert.Equal(t, 3, bytes.Count(found["a.jsonl"], []byte("\n")))
}

// TestNamesOfFiles: no topic leads out of the folder.
func TestNamesOfFiles(t *testing.T) {
	for topic, want := range map[string]string{
		"/a/b": "a/b", "a b/ü/c:d": "a_b/_/c_d", "../../etc/passwd": "_./_./etc/passwd", "": "_", "//": "_",
		"/.hidden/..": "_hidden/_.", strings.Repeat("x", 300): strings.Repeat("x", 200),
	} {
		found := saved(t, save.JSON, stream.Info{Name: topic}, &sample.Clock{})
		assert.Contains(t, found, want+".jsonl", topic)
	}
}

func TestWhatCannotBeSaved(t *testing.T) {
	dir := t.TempDir()
	folder, err := save.NewFolder(dir, save.Auto)
	require.NoError(t, err)
	for name, msg := range map[string]simtime.Stamped{
		"encoding":    &sample.Image{Width: 1, Height: 1, Step: 4, Encoding: "yuv", Data: make([]byte, 4)},
		"size":        &sample.Image{Width: 4, Height: 1, Step: 3, Encoding: "mono8", Data: make([]byte, 3)},
		"compression": &sample.CompressedImage{Format: "../x"},
	} {
		m := message(t, msg)
		s, err := folder.Stream(*m.Stream)
		require.NoError(t, err)
		require.ErrorIs(t, s.Save(m), save.ErrContent, name)
		assert.Empty(t, files(t, dir), name)
	}
	s, err := folder.Stream(stream.Info{Name: "a", Schema: encodingOf(t, &sample.Image{}).Schema})
	require.NoError(t, err)
	require.ErrorIs(t, s.Save(message(t, &sample.Imu{})), save.ErrContent, "another kind than was announced")

	require.NoError(t, os.WriteFile(filepath.Join(dir, "taken"), nil, 0o644))
	_, err = save.NewFolder(filepath.Join(dir, "taken"), save.Auto)
	require.Error(t, err)
	s, err = folder.Stream(stream.Info{Name: "taken", Schema: encodingOf(t, &sample.CompressedImage{}).Schema})
	require.NoError(t, err)
	err = s.Save(message(t, &sample.CompressedImage{Format: "png"}))
	require.ErrorContains(t, err, "save taken: ")
	require.NotErrorIs(t, err, save.ErrContent)
}

func TestFormats(t *testing.T) {
	assert.Equal(t, []string{"auto", "png", "pcd", "ply", "json"}, save.Formats())
	image, jpeg, cloud, radar, imu, foreign := &sample.Image{}, &sample.CompressedImage{}, &sample.PointCloud{}, &sample.Radar{}, &sample.Imu{}, &beeps{}
	for format, kinds := range map[save.Format]map[any]save.Format{
		save.Auto: {image: save.PNG, jpeg: save.PNG, cloud: save.PCD, radar: save.PCD, imu: save.JSON, foreign: save.JSON},
		save.PNG:  {image: save.PNG, jpeg: save.PNG},
		save.PCD:  {cloud: save.PCD, radar: save.PCD},
		save.PLY:  {cloud: save.PLY, radar: save.PLY},
		save.JSON: {image: save.JSON, jpeg: save.JSON, cloud: save.JSON, radar: save.JSON, imu: save.JSON, foreign: save.JSON},
	} {
		for _, msg := range []any{image, jpeg, cloud, radar, imu, foreign} {
			got, ok := format.For(&encodingOf(t, msg).Schema)
			want, can := kinds[msg]
			assert.Equal(t, can, ok, "%v %T", format, msg)
			if can {
				assert.Equal(t, want, got, "%v %T", format, msg)
			}
		}
		parsed, err := save.ParseFormat(strings.ToUpper(format.String()))
		require.NoError(t, err)
		assert.Equal(t, format, parsed)
	}
	_, err := save.ParseFormat("bmp")
	require.ErrorIs(t, err, save.ErrFormat)
	require.EqualError(t, err, `unknown format "bmp": want auto, png, pcd, ply or json`)
	folder, err := save.NewFolder(t.TempDir(), save.PNG)
	require.NoError(t, err)
	_, err = folder.Stream(stream.Info{Name: "a", Schema: encodingOf(t, &sample.Imu{}).Schema})
	require.ErrorIs(t, err, save.ErrContent)
	require.ErrorContains(t, err, "sensor_msgs/msg/Imu can't be saved as PNG")
}

// FuzzSave: whatever a server sends, saving it ends with a file or an error.
func FuzzSave(f *testing.F) {
	for _, msg := range []simtime.Stamped{
		scan(), &sample.PointCloud{Organized: true, Rings: 1, Columns: 1, Points: make([]sample.Point, 1)},
		&sample.Radar{Detections: make([]sample.RadarDetection, 1)}, &sample.Imu{}, &sample.Clock{},
		&sample.Image{Width: 1, Height: 1, Step: 4, Encoding: "32FC1", Data: make([]byte, 4)}, &sample.CompressedImage{Format: "jpeg"},
	} {
		d := message(f, msg)
		f.Add(d.Stream.Schema.Name, d.Bytes())
	}
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, name string, b []byte) {
		info := stream.Info{Name: "a", Schema: bridges.Schema{Name: name, MessageEncoding: "cdr"}}
		m, err := stream.Open(&info, b)
		if err != nil {
			return
		}
		for format := save.Auto; format <= save.JSON; format++ {
			folder, err := save.NewFolder(dir, format)
			require.NoError(t, err)
			s, err := folder.Stream(info)
			if err != nil {
				continue
			}
			if err := s.Save(m); err != nil {
				require.ErrorIs(t, err, save.ErrContent)
			}
			require.NoError(t, s.Close())
		}
	})
}

// cloud is what a reader finds in a file: the values of each point by field.
type cloud struct {
	fields        []string
	width, height int
	viewpoint     []string
	points        []map[string]float64
}

// readPCD reads what the PCL's documentation calls a PCD file, as strictly as its
// reader: the header's entries in their order.
func readPCD(t *testing.T, data []byte) *cloud {
	t.Helper()
	entries := map[string][]string{}
	var order []string
	for {
		line, rest, ok := bytes.Cut(data, []byte("\n"))
		require.True(t, ok, "the header ends")
		data = rest
		words := strings.Fields(string(line))
		if len(words) == 0 || strings.HasPrefix(words[0], "#") {
			continue
		}
		entries[words[0]] = words[1:]
		order = append(order, words[0])
		if words[0] == "DATA" {
			break
		}
	}
	require.Equal(t, []string{"VERSION", "FIELDS", "SIZE", "TYPE", "COUNT", "WIDTH", "HEIGHT", "VIEWPOINT", "POINTS", "DATA"}, order)
	require.Equal(t, []string{"0.7"}, entries["VERSION"])
	require.Equal(t, []string{"binary"}, entries["DATA"])
	require.Len(t, entries["VIEWPOINT"], 7)
	c := &cloud{fields: entries["FIELDS"], viewpoint: entries["VIEWPOINT"], width: number(t, entries["WIDTH"]), height: number(t, entries["HEIGHT"])}
	require.Equal(t, c.width*c.height, number(t, entries["POINTS"]))
	var types []string
	for i := range c.fields {
		require.Equal(t, "1", entries["COUNT"][i])
		types = append(types, entries["TYPE"][i]+entries["SIZE"][i])
	}
	c.read(t, data, types)
	return c
}

// readPLY reads a binary PLY file of vertices.
func readPLY(t *testing.T, data []byte) *cloud {
	t.Helper()
	head, body, ok := bytes.Cut(data, []byte("end_header\n"))
	require.True(t, ok)
	lines := strings.Split(strings.TrimSuffix(string(head), "\n"), "\n")
	require.Equal(t, []string{"ply", "format binary_little_endian 1.0"}, lines[:2])
	c := &cloud{height: 1}
	var types []string
	for _, line := range lines[2:] {
		words := strings.Fields(line)
		switch words[0] {
		case "comment":
		case "element":
			require.Equal(t, "vertex", words[1])
			c.width = number(t, words[2:])
		case "property":
			types = append(types, map[string]string{"float": "F4", "uchar": "U1", "ushort": "U2", "uint": "U4"}[words[1]])
			c.fields = append(c.fields, words[2])
		default:
			t.Fatalf("unknown line %q", line)
		}
	}
	c.read(t, body, types)
	return c
}

func number(t *testing.T, words []string) int {
	t.Helper()
	require.Len(t, words, 1)
	n, err := strconv.Atoi(words[0])
	require.NoError(t, err)
	return n
}

func (c *cloud) read(t *testing.T, data []byte, types []string) {
	t.Helper()
	r := bytes.NewReader(data)
	for range c.width * c.height {
		point := map[string]float64{}
		for i, name := range c.fields {
			var value any
			switch types[i] {
			case "F4":
				value = new(float32)
			case "U1":
				value = new(uint8)
			case "U2":
				value = new(uint16)
			case "U4":
				value = new(uint32)
			default:
				t.Fatalf("type %s", types[i])
			}
			require.NoError(t, binary.Read(r, binary.LittleEndian, value))
			point[name] = value64(value)
		}
		c.points = append(c.points, point)
	}
	require.Zero(t, r.Len(), "nothing follows the points")
}

func value64(value any) float64 {
	switch v := value.(type) {
	case *float32:
		return float64(*v)
	case *uint8:
		return float64(*v)
	case *uint16:
		return float64(*v)
	case *uint32:
		return float64(*v)
	}
	panic(fmt.Sprintf("%T", value))
}

// column returns a field of all points.
func (c *cloud) column(name string) []float64 {
	var list []float64
	for _, p := range c.points {
		v, ok := p[name]
		if !ok {
			v = math.NaN()
		}
		list = append(list, v)
	}
	return list
}

// BenchmarkPCD makes the file of a VLS-128's scan.
func BenchmarkPCD(b *testing.B) {
	m := &sample.PointCloud{Points: make([]sample.Point, 230_400), Rings: 128, Columns: 1800}
	p, err := save.CloudPoints(m)
	require.NoError(b, err)
	var out []byte
	b.ReportAllocs()
	for b.Loop() {
		out = save.AppendPCD(out[:0], p)
	}
	b.SetBytes(int64(len(out)))
}
