package kitti

import (
	"context"
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/cmd/raybridge/internal/dataset/check"
)

func judged(t *testing.T, files fstest.MapFS) *check.Result {
	t.Helper()
	results, err := check.Run(context.Background(), files, []check.Format{Format}, nil)
	require.NoError(t, err)
	require.Len(t, results, 1)
	return results[0]
}

// TestGood checks a set that is written by the format's description.
func TestGood(t *testing.T) {
	r := judged(t, write(t))
	for _, found := range r.All() {
		t.Errorf("%s: %s %s: %s", found.Rule, found.File, found.Row, found.Message)
	}
	assert.Equal(t, frameCount, r.Set.Frames())
	for _, s := range r.Shares() {
		t.Log(s)
	}
}

// TestParts checks an object set, and one of odometry, each by itself.
func TestParts(t *testing.T) {
	for _, part := range []string{"training", "sequences"} {
		files := write(t)
		maps.DeleteFunc(files, func(name string, _ *fstest.MapFile) bool {
			inTraining := strings.HasPrefix(name, "training") || strings.HasPrefix(name, "ImageSets")
			return inTraining == (part == "sequences")
		})
		assert.Empty(t, judged(t, files).All(), part)
	}
}

// A fault is one that a set may have, and the rule that must name it.
type fault struct {
	name, rule string
	inject     func(files fstest.MapFS)
}

// edit changes the text of each file whose name the pattern matches.
func edit(pattern string, change func(text string) string) func(fstest.MapFS) {
	return func(files fstest.MapFS) {
		for _, name := range matching(files, pattern) {
			put(files, name, change(string(files[name].Data)))
		}
	}
}

func matching(files fstest.MapFS, pattern string) (names []string) {
	for name := range files {
		if ok, err := path.Match(pattern, name); err != nil {
			panic(err)
		} else if ok {
			names = append(names, name)
		}
	}
	if names == nil {
		panic("no file matches " + pattern)
	}
	slices.Sort(names)
	return names
}

func put(files fstest.MapFS, name, text string) {
	files[name] = &fstest.MapFile{Data: []byte(text), Mode: 0o644}
}

// columns changes the numbers of each label that isn't DontCare. They are counted as the format counts them: c[4] is alpha.
func columns(change func(c []float64)) func(fstest.MapFS) {
	return edit("training/label_2/*.txt", func(text string) string {
		lines := rows(text)
		for i, l := range lines {
			fields := strings.Split(l, " ")
			if fields[0] == dontCare {
				continue
			}
			c := make([]float64, 16)
			for j := range 14 {
				c[j+2], _ = strconv.ParseFloat(fields[j+1], 64)
			}
			change(c)
			lines[i] = fields[0]
			for j, v := range c[2:] {
				if j == 1 {
					lines[i] += fmt.Sprintf(" %d", int(v))
				} else {
					lines[i] += fmt.Sprintf(" %.2f", v)
				}
			}
		}
		return strings.Join(lines, "\n") + "\n"
	})
}

// matrices changes the numbers of one line in each file.
func matrices(pattern, key string, change func(m []float64)) func(fstest.MapFS) {
	return edit(pattern, func(text string) string {
		lines := rows(text)
		for i, l := range lines {
			prefix, rest, found := strings.Cut(l, ": ")
			if !found {
				prefix, rest = "", l
			}
			if prefix != key {
				continue
			}
			var m []float64
			for _, field := range strings.Split(rest, " ") {
				v, _ := strconv.ParseFloat(field, 64)
				m = append(m, v)
			}
			change(m)
			lines[i] = numbersText(m...)
			if found {
				lines[i] = prefix + ": " + lines[i]
			}
		}
		return strings.Join(lines, "\n") + "\n"
	})
}

// realpha writes alpha so that it agrees with ry and the place.
func realpha(c []float64) { c[4] = math.Remainder(c[15]-math.Atan2(c[12], c[14]), 2*math.Pi) }

func transpose(m []float64) {
	for i := range 3 {
		for j := range i {
			m[4*i+j], m[4*j+i] = m[4*j+i], m[4*i+j]
		}
	}
}

func invert(m []float64) {
	inverse := (*matrix)(m).inverse()
	copy(m, inverse[:])
}

// swap swaps two lines.
func swap(a, b int) func(string) string {
	return func(text string) string {
		lines := rows(text)
		lines[a], lines[b] = lines[b], lines[a]
		return strings.Join(lines, "\n") + "\n"
	}
}

func floats(pattern string, change func(v []float32) []float32) func(fstest.MapFS) {
	return edit(pattern, func(text string) string {
		v := make([]float32, len(text)/4)
		for i := range v {
			v[i] = math.Float32frombits(binary.LittleEndian.Uint32([]byte(text[4*i : 4*i+4])))
		}
		var out []byte
		for _, f := range change(v) {
			out = binary.LittleEndian.AppendUint32(out, math.Float32bits(f))
		}
		return string(out)
	})
}

func both(a, b func(fstest.MapFS)) func(fstest.MapFS) {
	return func(files fstest.MapFS) { a(files); b(files) }
}

var faults = []fault{
	{"occluded with a decimal point", ruleOccluded, edit("training/label_2/*.txt", func(text string) string {
		return regexp.MustCompile(`(?m)^(\S+ \S+) ([0-3]) `).ReplaceAllString(text, "$1 $2.0 ")
	})},
	{"occluded out of range", ruleOccluded, columns(func(c []float64) { c[3] += 4 })},
	{"calib in another order", ruleCalibration, edit("training/calib/*.txt", swap(4, 5))},
	{"calib without Tr_imu_to_velo", ruleCalibration, edit("training/calib/*.txt", func(text string) string { return strings.Join(rows(text)[:6], "\n") + "\n" })},
	{"a sequence's calib has the object's keys", ruleCalibration, edit("sequences/*/calib.txt", func(text string) string { return strings.Replace(text, "Tr:", "Tr_velo_to_cam:", 1) })},
	{"length, width, height", ruleBoxSize, columns(func(c []float64) { c[9], c[11] = c[11], c[9] })},
	{"length for width", ruleBoxSize, columns(func(c []float64) { c[10], c[11] = c[11], c[10] })},
	{"width, length, height", ruleBoxSize, columns(func(c []float64) { c[9], c[10], c[11] = c[10], c[11], c[9] })},
	{"the middle for the bottom", ruleBoxBottom, columns(func(c []float64) { c[13] -= c[9] / 2 })},
	{"ry + 90 degrees", ruleBoxHeading, columns(func(c []float64) { c[15] = math.Remainder(c[15]+math.Pi/2, 2*math.Pi); realpha(c) })},
	{"ry - 90 degrees, alpha as it was", ruleBoxHeading, columns(func(c []float64) { c[15] = math.Remainder(c[15]-math.Pi/2, 2*math.Pi) })},
	{"ry + 180 degrees", ruleBoxHeading, columns(func(c []float64) { c[15] = math.Remainder(c[15]+math.Pi, 2*math.Pi); realpha(c) })},
	{"ry with the other sign", ruleBoxHeading, columns(func(c []float64) { c[15] = -c[15]; realpha(c) })},
	{"ry is a yaw", ruleBoxHeading, columns(func(c []float64) { c[15] = math.Remainder(-c[15]-math.Pi/2, 2*math.Pi); realpha(c) })},
	{"alpha is ry", ruleAlpha, columns(func(c []float64) { c[4] = c[15] })},
	{"alpha has the other sign", ruleAlpha, columns(func(c []float64) { c[4] = -c[4] })},
	{"alpha by atan2(z, x)", ruleAlpha, columns(func(c []float64) { c[4] = math.Remainder(c[15]-math.Atan2(c[14], c[12]), 2*math.Pi) })},
	{"degrees", ruleAngles, columns(func(c []float64) { c[15] *= 180 / math.Pi; c[4] *= 180 / math.Pi })},
	{"pixels from 1", rulePixelOrigin, both(columns(func(c []float64) {
		for i := 5; i <= 8; i++ {
			c[i]++
		}
	}), edit("training/label_2/*.txt", func(text string) string {
		return strings.ReplaceAll(text, "-10 0.00 40.00 12.00 52.00", "-10 1.00 41.00 13.00 53.00")
	}))},
	{"boxes that aren't clipped", ruleBox, columns(func(c []float64) {
		if c[5] == 0 {
			c[5] = -37
		}
	})},
	{"left, top, width, height", ruleBox, columns(func(c []float64) { c[7] -= c[5]; c[8] -= c[6] })},
	{"P2 is that of camera 3", ruleCameraMatrix, matrices("training/calib/*.txt", "P2", func(m []float64) { m[3] = -focal * 0.48 })},
	{"P2's fourth column has the other sign, in centimetres", ruleCameraMatrix, matrices("training/calib/*.txt", "P2", func(m []float64) { m[3] *= -10 })},
	{"P2 of another size", ruleProjection, matrices("training/calib/*.txt", "P2", func(m []float64) { m[0] *= 2; m[5] *= 2 })},
	{"P2's centre in another picture", ruleCamera, matrices("training/calib/*.txt", "P2", func(m []float64) { m[2] *= 3 })},
	{"Tr leads from the camera to the lidar", ruleLidarAxes, matrices("training/calib/*.txt", "Tr_velo_to_cam", invert)},
	{"Tr transposed", ruleLidarAxes, matrices("training/calib/*.txt", "Tr_velo_to_cam", transpose)},
	{"Tr's place has the other sign", ruleBoxPoints, both(matrices("training/calib/*.txt", "Tr_velo_to_cam", otherPlace), matrices("sequences/*/calib.txt", "Tr", otherPlace))},
	{"R0_rect isn't a rotation", ruleRotations, matrices("training/calib/*.txt", "R0_rect", func(m []float64) { m[4] = -1 })},
	{"a sequence's Tr without R0_rect", ruleSameTr, func(files fstest.MapFS) {
		_, tr, _ := strings.Cut(string(files["training/calib/000000.txt"].Data), "Tr_velo_to_cam: ")
		edit("sequences/*/calib.txt", func(text string) string { return strings.Join(rows(text)[:4], "\n") + "\nTr: " + rows(tr)[0] + "\n" })(files)
	}},
	{"points of five floats", ruleRings, floats("training/velodyne/*.bin", func(v []float32) (five []float32) {
		for i := 0; i < len(v); i += 4 {
			five = append(append(five, v[i:i+4]...), float32(i/4%32))
		}
		return five
	})},
	{"a file of points that is cut off", rulePoints, edit("training/velodyne/000002.bin", func(text string) string { return text[:len(text)-7] })},
	{"points that aren't numbers", rulePoints, floats("training/velodyne/*.bin", func(v []float32) []float32 { v[0] = float32(math.NaN()); return v })},
	{"reflectance up to 255", ruleReflectance, floats("training/velodyne/*.bin", func(v []float32) []float32 {
		for i := 3; i < len(v); i += 4 {
			v[i] *= 255
		}
		return v
	})},
	{"points in the camera's axes", ruleBoxPoints, floats("training/velodyne/*.bin", func(v []float32) []float32 {
		for i := 0; i < len(v); i += 4 {
			v[i], v[i+1], v[i+2] = -v[i+1], -v[i+2], v[i]
		}
		return v
	})},
	{"points of the next frame", ruleBoxPoints, func(files fstest.MapFS) {
		for i := range frameCount - 1 {
			for _, f := range [][2]string{{"training/velodyne", ".bin"}, {"sequences/00/velodyne", ".bin"}, {"sequences/00/labels", ".label"}} {
				files[fmt.Sprintf("%s/%06d%s", f[0], i, f[1])] = files[fmt.Sprintf("%s/%06d%s", f[0], i+1, f[1])]
			}
		}
	}},
	{"labels without a picture", ruleFrames, func(files fstest.MapFS) { delete(files, "training/image_2/000001.png") }},
	{"names of five digits", ruleFrames, func(files fstest.MapFS) {
		files["training/label_2/00001.txt"] = files["training/label_2/000001.txt"]
		delete(files, "training/label_2/000001.txt")
	}},
	{"a picture that is cut off", rulePicture, edit("training/image_2/000003.png", func(text string) string { return text[:len(text)/2] })},
	{"ImageSets without a frame", ruleImageSets, edit("ImageSets/trainval.txt", func(text string) string { return text[:len(text)-7] })},
	{"ImageSets with a frame that isn't there", ruleImageSets, edit("ImageSets/train.txt", func(text string) string { return text + "000099\n" })},
	{"ImageSets without zeros", ruleImageSets, edit("ImageSets/*.txt", func(text string) string { return strings.ReplaceAll(text, "00000", "") })},
	{"a frame in train and val", ruleImageSets, edit("ImageSets/val.txt", func(text string) string { return "000000\n" + text })},
	{"no ImageSets", ruleImageSets, func(files fstest.MapFS) { delete(files, "ImageSets/train.txt") }},
	{"DontCare with other numbers", ruleDontCare, edit("training/label_2/*.txt", func(text string) string { return strings.ReplaceAll(text, "-1000", "-1") })},
	{"DontCare with a decimal point", ruleOccluded, edit("training/label_2/*.txt", func(text string) string { return strings.ReplaceAll(text, "DontCare -1 -1 ", "DontCare -1 -1.0 ") })},
	{"no labels", ruleLabels, edit("training/label_2/*.txt", func(string) string { return "" })},
	{"a score in labels", ruleColumns, edit("training/label_2/*.txt", func(text string) string { return strings.ReplaceAll(text, "\n", " 1.00\n") })},
	{"two blanks", ruleColumns, edit("training/label_2/*.txt", func(text string) string { return strings.Replace(text, " ", "  ", 1) })},
	{"a type of another format", ruleClass, edit("training/label_2/*.txt", func(text string) string { return strings.ReplaceAll(text, "Pedestrian", "human.pedestrian") })},
	{"truncated as percent", ruleTruncated, columns(func(c []float64) { c[2] = 50 })},
	{"no size", ruleSize, columns(func(c []float64) { c[9] = 0 })},
	{"poses of the map", ruleFirstPose, edit("poses/00.txt", func(text string) string { return strings.Join(rows(text)[1:], "\n") + "\n" + rows(text)[4] + "\n" })},
	{"poses are inverted", ruleMotion, matrices("poses/00.txt", "", invert)},
	{"poses in the lidar's axes", ruleMotion, matrices("poses/00.txt", "", func(m []float64) {
		axes := matrix{1: -1, 6: -1, 8: 1} // lidar to camera
		back := axes.inverse()
		in := back.times((*matrix)(m))
		in = in.times(&axes)
		copy(m, in[:])
	})},
	{"a pose has a scale", rulePoses, matrices("poses/00.txt", "", func(m []float64) { m[0], m[1], m[2] = 2*m[0], 2*m[1], 2*m[2] })},
	{"a pose too few", ruleSequence, edit("poses/00.txt", func(text string) string { return strings.Join(rows(text)[:4], "\n") + "\n" })},
	{"poses with a fourth row", rulePoses, edit("poses/00.txt", func(text string) string { return strings.ReplaceAll(text, "\n", " 0 0 0 1\n") })},
	{"times that don't rise", ruleTimes, edit("sequences/00/times.txt", swap(2, 3))},
	{"times from the epoch", ruleTimes, edit("sequences/00/times.txt", func(text string) string { return regexp.MustCompile(`(?m)^`).ReplaceAllString(text, "1700") })},
	{"a label too few for the points", rulePointLabels, edit("sequences/00/labels/*.label", func(text string) string { return text[4:] })},
	{"class and instance swapped", rulePointClass, edit("sequences/00/labels/*.label", func(text string) string {
		b := []byte(text)
		for i := 0; i < len(b); i += 4 {
			b[i], b[i+1], b[i+2], b[i+3] = b[i+2], b[i+3], b[i], b[i+1]
		}
		return string(b)
	})},
	{"two boxes of negative size", ruleEvaluation, columns(func(c []float64) { c[9], c[10], c[11] = -c[9], -c[10], -c[11] })},
}

func otherPlace(m []float64) { m[3], m[7], m[11] = -m[3], -m[7], -m[11] }

// TestFaults injects faults one by one into a good set. Each must be found, and be named by its rule.
func TestFaults(t *testing.T) {
	good := write(t)
	for _, c := range faults {
		t.Run(c.name, func(t *testing.T) {
			files := maps.Clone(good)
			c.inject(files)
			r := judged(t, files)
			if r.Count(c.rule) == 0 {
				for _, found := range r.All() {
					t.Logf("%s: %s %s: %s", found.Rule, found.File, found.Row, found.Message)
				}
				t.Errorf("%s doesn't find it", c.rule)
			}
		})
	}
}

// TestViews compares the drawn edges of boxes with the boxes in the picture, which the tests' street has from its own mathematics, and looks for points on all of the picture that the lidar reaches.
func TestViews(t *testing.T) {
	files := write(t)
	s := judged(t, files).Set
	for i := range s.Frames() {
		name, views := s.Views(i)
		require.Len(t, views, 1)
		assert.Equal(t, "training/image_2/"+name+".png", views[0].File)
		segments, boxes := views[0].Segments, 0
		for _, line := range rows(string(files["training/label_2/"+name+".txt"].Data)) {
			l, err := parseLabel(line)
			require.NoError(t, err)
			n := len(edges)
			if l.class == dontCare {
				n = 4
			}
			in := rectangle{math.Inf(1), math.Inf(1), math.Inf(-1), math.Inf(-1)}
			for _, segment := range segments[:n] {
				assert.Equal(t, l.class, segment.Category)
				for _, p := range [][2]float64{segment.From, segment.To} {
					in = rectangle{min(in.left, p[0]), min(in.top, p[1]), max(in.right, p[0]), max(in.bottom, p[1])}
				}
			}
			segments = segments[n:]
			if l.truncated <= 0 {
				boxes++
				// A pixel's centre, an integer in KITTI, is drawn half a pixel farther.
				assert.InDeltaSlice(t, []float64{l.left, l.top, l.right, l.bottom}, []float64{in.left - 0.5, in.top - 0.5, in.right - 0.5, in.bottom - 0.5}, 0.5, line)
			}
		}
		assert.Empty(t, segments)
		assert.GreaterOrEqual(t, boxes, 3)
		assert.Greater(t, len(views[0].Dots), 500)
		for _, d := range views[0].Dots {
			assert.True(t, d.At[0] >= 0 && d.At[1] >= 0 && d.At[0] < pictureW && d.At[1] < pictureH && d.Depth > 0)
		}
	}
}
