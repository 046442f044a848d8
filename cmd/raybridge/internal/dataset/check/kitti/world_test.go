package kitti

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
)

// This file writes a good set by the format's description: a small street of boxes, seen by a camera and a lidar on a car. It has its own mathematics, in the world's axes: x and y along the
// ground, z up, angles counter-clockwise.

// A thing is a box in the street, which stands at x, y with its bottom at z.
type thing struct {
	kind                  string // KITTI's type, "" for what isn't labelled
	class                 uint16 // SemanticKITTI's
	x, y, z, yaw          float64
	length, width, height float64
	speed                 float64 // along its heading
	instance, moving      uint16
}

var street = []thing{
	{"Car", 10, 13, -3.4, 0, 0.12, 4.2, 1.8, 1.5, 0, 1, 0},
	{"Car", 10, 19, 3.8, 0, 3.3, 4.4, 1.9, 1.6, 0, 2, 0},
	{"Car", 252, 24, -0.5, 0, 0.6, 4.0, 1.7, 1.5, 3, 3, 0},
	{"Car", 10, 9, 4.0, 0, 2.4, 3.9, 1.7, 1.4, 0, 4, 0},
	{"Van", 10, 30, 4.6, 0, 0.3, 5.2, 2.0, 2.3, 0, 5, 0},
	{"Pedestrian", 30, 11, 1.2, 0, 0.9, 0.5, 0.7, 1.75, 0, 6, 0},
	{"Pedestrian", 254, 16, -1.8, 0, 1.9, 0.5, 0.6, 1.7, 1.2, 7, 0},
	{"Cyclist", 253, 15, 1.9, 0, 0.5, 1.8, 0.6, 1.75, 2, 8, 0},
	{"Truck", 18, 38, -5, 0, -0.2, 8, 2.5, 3.2, 0, 9, 0},
	{"Car", 10, 16.2, -8.0, 0, 1.2, 4.2, 1.8, 1.5, 0, 10, 0},
	{"", 50, 30, 12, 0, 0.1, 50, 3, 6, 0, 0, 0},
	{"", 50, 32, -13, 0, -0.05, 55, 3, 7, 0, 0, 0},
	{"", 80, 14, 5.6, 0, 0, 0.3, 0.3, 5, 0, 0, 0},
	{"", 80, 21, -5.8, 0, 0, 0.3, 0.3, 5, 0, 0, 0},
	{"", 50, 75, 0, 0, 0.4, 4, 20, 8, 0, 0, 0},
}

const (
	frameCount         = 5
	pictureW, pictureH = 416, 128
	focal              = 230.0
	centreX, centreY   = 207.5, 60.5
	baseline           = 0.06 // camera 2 is so far left of camera 0
)

// A place is where something on the ground stands.
type place struct{ x, y, z, yaw float64 }

// out leads from the place's own axes, in leads into them.
func (p place) out(v [3]float64) [3]float64 {
	s, c := math.Sincos(p.yaw)
	return [3]float64{p.x + c*v[0] - s*v[1], p.y + s*v[0] + c*v[1], p.z + v[2]}
}

func (p place) in(v [3]float64) [3]float64 {
	s, c := math.Sincos(p.yaw)
	x, y := v[0]-p.x, v[1]-p.y
	return [3]float64{c*x + s*y, -s*x + c*y, v[2] - p.z}
}

var (
	cameraAt = place{1.0, 0.1, 1.65, 0} // camera 0 on the car; it looks forward
	lidarAt  = place{0.3, 0, 1.73, 0.03}
)

func egoAt(i int) place { return place{2.2 * float64(i), 0.2 * float64(i), 0, 0.05 * float64(i)} }

func thingAt(t *thing, i int) place {
	s, c := math.Sincos(t.yaw)
	d := t.speed * 0.1 * float64(i)
	return place{t.x + c*d, t.y + s*d, t.z, t.yaw}
}

// toCam turns a point in the car's axes into those of the rectified camera 0.
func toCam(v [3]float64) [3]float64 {
	p := cameraAt.in(v)
	return [3]float64{-p[1], -p[2], p[0]}
}

// A view is the street as it is seen from a point in a frame.
type view struct {
	from  [3]float64
	boxes []viewed
}

// viewed is a box with its turn, its half size, and the point of view in its axes.
type viewed struct {
	sin, cos   float64
	from, half [3]float64
}

func viewFrom(frame int, from [3]float64) *view {
	v := &view{from: from}
	for i := range street {
		t, at := &street[i], thingAt(&street[i], frame)
		at.z += t.height / 2
		s, c := math.Sincos(at.yaw)
		v.boxes = append(v.boxes, viewed{s, c, at.in(from), [3]float64{t.length / 2, t.width / 2, t.height / 2}})
	}
	return v
}

// hit returns where a ray meets a box or the ground, and what it meets: -1 ground, -2 nothing.
func (v *view) hit(to [3]float64, meets func(thing int)) (t float64, what int) {
	along := [3]float64{to[0] - v.from[0], to[1] - v.from[1], to[2] - v.from[2]}
	t, what = math.Inf(1), -2
	if along[2] < 0 {
		t, what = -v.from[2]/along[2], -1
	}
	for i := range v.boxes {
		b := &v.boxes[i]
		d := [3]float64{b.cos*along[0] + b.sin*along[1], b.cos*along[1] - b.sin*along[0], along[2]}
		near, far := 0.0, math.Inf(1)
		for a := range 3 {
			a0, a1 := (-b.half[a]-b.from[a])/d[a], (b.half[a]-b.from[a])/d[a]
			near, far = max(near, min(a0, a1)), min(far, max(a0, a1))
		}
		if near < far && near > 0 {
			if meets != nil {
				meets(i)
			}
			if near < t {
				t, what = near, i
			}
		}
	}
	return t, what
}

// write makes the whole set.
func write(t *testing.T) fstest.MapFS {
	t.Helper()
	files := fstest.MapFS{}
	put := func(name, text string) { files[name] = &fstest.MapFile{Data: []byte(text), Mode: 0o644} }
	var names, poses, times []string
	random := rand.New(rand.NewPCG(3, 4))
	for i := range frameCount {
		name := fmt.Sprintf("%06d", i)
		names = append(names, name)
		picture, seen, whole := drawn(i)
		put("training/label_2/"+name+".txt", labelsOf(i, seen, whole))
		put("training/calib/"+name+".txt", calibText(false))
		var b bytes.Buffer
		require.NoError(t, png.Encode(&b, picture))
		put("training/image_2/"+name+".png", b.String())
		put("sequences/00/image_2/"+name+".png", b.String())
		points, labels := scan(i, random)
		put("training/velodyne/"+name+".bin", points)
		put("sequences/00/velodyne/"+name+".bin", points)
		put("sequences/00/labels/"+name+".label", labels)
		poses = append(poses, poseText(i))
		times = append(times, fmt.Sprintf("%.6e", 0.1*float64(i)))
	}
	lines := func(l []string) string { return strings.Join(l, "\n") + "\n" }
	put("sequences/00/calib.txt", calibText(true))
	put("sequences/00/times.txt", lines(times))
	put("poses/00.txt", lines(poses))
	put("ImageSets/train.txt", lines(names[:3]))
	put("ImageSets/val.txt", lines(names[3:]))
	put("ImageSets/trainval.txt", lines(names))
	put("ImageSets/test.txt", "")
	return files
}

// drawn is the picture, how many pixels each thing shows, and how many it would show by itself.
func drawn(frame int) (picture *image.RGBA, seen, whole map[int]int) {
	picture, seen, whole = image.NewRGBA(image.Rect(0, 0, pictureW, pictureH)), map[int]int{}, map[int]int{}
	ego := egoAt(frame)
	seenFrom := viewFrom(frame, ego.out(cameraAt.out([3]float64{0, baseline, 0})))
	for v := range pictureH {
		for u := range pictureW {
			right, down := (float64(u)-centreX)/focal, (float64(v)-centreY)/focal
			_, what := seenFrom.hit(ego.out(cameraAt.out([3]float64{1, baseline - right, -down})), func(i int) { whole[i]++ })
			seen[what]++
			shade := color.RGBA{150, 180, 230, 255}
			switch {
			case what == -1:
				shade = color.RGBA{90, 90, 90, 255}
			case what >= 0:
				shade = color.RGBA{uint8(60 + 37*what%190), uint8(40 + 91*what%200), uint8(50 + 53*what%170), 255}
			}
			picture.Set(u, v, shade)
		}
	}
	return picture, seen, whole
}

func labelsOf(frame int, seen, whole map[int]int) string {
	ego, text := egoAt(frame), ""
	for i := range street {
		t := &street[i]
		if t.kind == "" || seen[i] < 20 {
			continue
		}
		at := thingAt(t, frame)
		left, top, right, bottom := math.Inf(1), math.Inf(1), math.Inf(-1), math.Inf(-1)
		behind := false
		for corner := range 8 {
			p := [3]float64{t.length / 2, t.width / 2, 0}
			if corner&1 > 0 {
				p[0] = -p[0]
			}
			if corner&2 > 0 {
				p[1] = -p[1]
			}
			if corner&4 > 0 {
				p[2] = t.height
			}
			c := toCam(ego.in(at.out(p)))
			behind = behind || c[2] < 0.5
			u, v := focal*(c[0]+baseline)/c[2]+centreX, focal*c[1]/c[2]+centreY
			left, right, top, bottom = min(left, u), max(right, u), min(top, v), max(bottom, v)
		}
		if behind {
			continue
		}
		area := (right - left) * (bottom - top)
		left, top, right, bottom = max(left, 0), max(top, 0), min(right, pictureW-1), min(bottom, pictureH-1)
		truncated := max(0, 1-(right-left)*(bottom-top)/area)
		occluded := 2
		if hidden := 1 - float64(seen[i])/float64(whole[i]); hidden <= 0.1 {
			occluded = 0
		} else if hidden <= 0.5 {
			occluded = 1
		}
		c := toCam(ego.in([3]float64{at.x, at.y, at.z}))
		ry := math.Remainder(-(at.yaw-ego.yaw)-math.Pi/2, 2*math.Pi)
		alpha := math.Remainder(ry-math.Atan2(c[0], c[2]), 2*math.Pi)
		text += fmt.Sprintf("%s %.2f %d %.2f %.2f %.2f %.2f %.2f %.2f %.2f %.2f %.2f %.2f %.2f %.2f\n", t.kind, truncated, occluded, alpha,
			left, top, right, bottom, t.height, t.width, t.length, c[0], c[1], c[2], ry)
	}
	return text + "DontCare -1 -1 -10 0.00 40.00 12.00 52.00 -1 -1 -1 -1000 -1000 -1000 -10\n"
}

// scan returns the bytes of the lidar's points and of their labels.
func scan(frame int, random *rand.Rand) (points, labels string) {
	ego := egoAt(frame)
	seenFrom := viewFrom(frame, ego.out(lidarAt.out([3]float64{})))
	var p, l []byte
	for ring := range 26 {
		for step := range 300 {
			up, left := (-24+float64(ring)*1.1)*math.Pi/180, float64(step)*2*math.Pi/300
			se, ce := math.Sincos(up)
			sa, ca := math.Sincos(left)
			along := [3]float64{ce * ca, ce * sa, se}
			t, what := seenFrom.hit(ego.out(lidarAt.out(along)), nil)
			if what == -2 || t > 80 {
				continue
			}
			t += random.NormFloat64() * 0.01
			for _, v := range []float64{along[0] * t, along[1] * t, along[2] * t, 0.1 + 0.05*float64(what+2)} {
				p = binary.LittleEndian.AppendUint32(p, math.Float32bits(float32(v)))
			}
			label := uint32(40)
			if what >= 0 {
				label = uint32(street[what].class) | uint32(street[what].instance)<<16
			}
			l = binary.LittleEndian.AppendUint32(l, label)
		}
	}
	return string(p), string(l)
}

func calibText(sequence bool) string {
	p := func(b float64) string {
		return numbersText(focal, 0, centreX, -focal*b, 0, focal, centreY, 0, 0, 0, 1, 0)
	}
	text := fmt.Sprintf("P0: %s\nP1: %s\nP2: %s\nP3: %s\n", p(0), p(0.54), p(-baseline), p(0.48))
	// Columns of the lidar's axes and its place in the rectified camera.
	var m [12]float64
	origin := toCam(lidarAt.out([3]float64{}))
	for j := range 3 {
		var axis [3]float64
		axis[j] = 1
		c := toCam(lidarAt.out(axis))
		for i := range 3 {
			m[4*i+j], m[4*i+3] = c[i]-origin[i], origin[i]
		}
	}
	if sequence {
		return text + "Tr: " + numbersText(m[:]...) + "\n"
	}
	// The unrectified camera is rolled a little.
	s, c := math.Sincos(0.02)
	rect := [9]float64{c, -s, 0, s, c, 0, 0, 0, 1}
	var before [12]float64
	for i := range 3 {
		for j := range 4 {
			for k := range 3 {
				before[4*i+j] += rect[3*k+i] * m[4*k+j]
			}
		}
	}
	return text + "R0_rect: " + numbersText(rect[:]...) + "\nTr_velo_to_cam: " + numbersText(before[:]...) + "\nTr_imu_to_velo: " +
		numbersText(1, 0, 0, -0.5, 0, 1, 0, 0.2, 0, 0, 1, -0.8) + "\n"
}

func numbersText(values ...float64) string {
	var text []string
	for _, v := range values {
		text = append(text, fmt.Sprintf("%.12e", v))
	}
	return strings.Join(text, " ")
}

// poseText is the camera's pose in the first frame's camera.
func poseText(frame int) string {
	first, ego := egoAt(0), egoAt(frame)
	point := func(x, y, z float64) [3]float64 { // in this frame's camera
		return toCam(first.in(ego.out(cameraAt.out([3]float64{z, -x, -y}))))
	}
	origin := point(0, 0, 0)
	axes := [3][3]float64{point(1, 0, 0), point(0, 1, 0), point(0, 0, 1)}
	var m [12]float64
	for i := range 3 {
		for j := range 3 {
			m[4*i+j] = axes[j][i] - origin[i]
		}
		m[4*i+3] = origin[i]
	}
	return numbersText(m[:]...)
}
