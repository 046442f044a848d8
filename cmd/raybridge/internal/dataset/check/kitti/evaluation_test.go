package kitti

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
)

// cars are labels of one picture each: 50 cars of 4 x 1.6 x 1.5 m, ahead of the camera, that look to the right.
func cars() (pictures []evaluated) {
	for i := range 50 {
		l := label{class: "Car", left: 100, top: 100, right: 200, bottom: 160, height: 1.5, width: 1.6, length: 4, y: 1.6, z: 10 + float64(i), alpha: 0.3}
		pictures = append(pictures, evaluated{truth: []label{l}, detections: []detection{{l, 1 - float64(i)/100}}})
	}
	return pictures
}

func averages(pictures []evaluated, metric int) (average, average11th, orientation float64) {
	m := metrics[metric]
	c := (&evaluation{evaluatedClasses[0], difficulties[1], m.overlap, m.inDontCare}).run(pictures)
	return average40(&c.precision), average11(&c.precision), average40(&c.similarity)
}

const (
	inPicture = iota
	fromAbove
	inSpace
)

// TestAverageOfShifted compares averages of shifted sets with those that are computed by hand: a car that is shifted along its 4 m by d overlaps itself by (4 - d)/(4 + d), and 0.7 is wanted.
func TestAverageOfShifted(t *testing.T) {
	for _, c := range []struct {
		along float64
		want  float64
	}{
		{0, 1},
		{0.3, 1}, // 0.860
		{0.7, 1}, // 0.702
		{0.71, 0},
		{1, 0}, // 0.6
		{3, 0},
	} {
		pictures := cars()
		for i := range pictures {
			pictures[i].detections[0].x += c.along
		}
		for _, metric := range []int{fromAbove, inSpace} {
			average, average11th, _ := averages(pictures, metric)
			assert.InDelta(t, c.want, average, 1e-9, "%v m", c.along)
			assert.InDelta(t, c.want, average11th, 1e-9, "%v m", c.along)
		}
		average, _, _ := averages(pictures, inPicture)
		assert.InDelta(t, 1, average, 1e-9, "the box in the picture is where it was")
	}
	// 1.5 m high: 0.25 m up leaves 1.25/1.75 = 0.714, 0.3 m up 1.2/1.8 = 0.667.
	for up, want := range map[float64]float64{0.25: 1, 0.3: 0} {
		pictures := cars()
		for i := range pictures {
			pictures[i].detections[0].y -= up
		}
		average, _, _ := averages(pictures, inSpace)
		assert.InDelta(t, want, average, 1e-9, "%v m up", up)
		average, _, _ = averages(pictures, fromAbove)
		assert.InDelta(t, 1, average, 1e-9, "from above they are where they were")
	}
}

// TestAverage40 shifts half of 40 cars by 3 m: the surest detections, or the least sure. Each that is found is one step of recall, 1/40.
func TestAverage40(t *testing.T) {
	for _, c := range []struct {
		name      string
		shifted   func(i int) bool
		precision float64
	}{
		{"the last 20", func(i int) bool { return i >= 20 }, 1},
		// At n found precision is n/(20 + n): it rises up to 1/2, which holds for the recalls below, too.
		{"the first 20", func(i int) bool { return i < 20 }, 0.5},
	} {
		t.Run(c.name, func(t *testing.T) {
			pictures := cars()[:40]
			for i := range pictures {
				if c.shifted(i) {
					pictures[i].detections[0].x += 3
				}
			}
			average, average11th, _ := averages(pictures, fromAbove)
			assert.InDelta(t, c.precision*19/40, average, 1e-9, "20 steps from 0, of which the first isn't in the average")
			assert.InDelta(t, c.precision*5/11, average11th, 1e-9, "steps 0, 4, 8, 12, 16")
		})
	}
}

// TestOrientation turns what is found: similarity is (1 + cos d)/2.
func TestOrientation(t *testing.T) {
	for _, turn := range []float64{0, 0.5, math.Pi / 2, math.Pi} {
		pictures := cars()
		for i := range pictures {
			pictures[i].detections[0].alpha += turn
		}
		_, _, similarity := averages(pictures, inPicture)
		assert.InDelta(t, (1+math.Cos(turn))/2, similarity, 1e-9, "%v rad", turn)
	}
}

// TestRoles shows what counts: difficulties, neighbours, and areas that aren't labelled.
func TestRoles(t *testing.T) {
	for _, c := range []struct {
		name    string
		change  func(p *evaluated)
		average float64
	}{
		{"as it is", func(*evaluated) {}, 1},
		{"an unfound car that is hidden doesn't count", func(p *evaluated) {
			l := p.truth[0]
			l.left, l.right, l.occluded = 300, 400, 2
			p.truth = append(p.truth, l)
		}, 1},
		{"nor does one that is cut off", func(p *evaluated) {
			l := p.truth[0]
			l.left, l.right, l.truncated = 300, 400, 0.31
			p.truth = append(p.truth, l)
		}, 1},
		{"nor one that is less than 25 pixels high", func(p *evaluated) {
			l := p.truth[0]
			l.left, l.right, l.bottom = 300, 400, 124.5
			p.truth = append(p.truth, l)
		}, 1},
		{"a van that is taken for a car isn't wrong", func(p *evaluated) {
			d := p.detections[0]
			d.left, d.right = 300, 400
			van := d.label
			van.class = "Van"
			p.truth, p.detections = append(p.truth, van), append(p.detections, d)
		}, 1},
		{"a car where nothing is labelled isn't wrong", func(p *evaluated) {
			d := p.detections[0]
			d.left, d.right = 300, 400
			p.truth = append(p.truth, label{class: dontCare, left: 290, top: 90, right: 410, bottom: 170})
			p.detections = append(p.detections, d)
		}, 1},
		{"one where there is none is wrong", func(p *evaluated) {
			d := p.detections[0]
			d.left, d.right = 300, 400
			p.detections = append(p.detections, d)
		}, 0.5},
	} {
		pictures := cars()
		for i := range pictures {
			pictures[i].detections[0].score = 1
			c.change(&pictures[i])
		}
		average, _, _ := averages(pictures, inPicture)
		assert.InDelta(t, c.average, average, 1e-9, c.name)
	}
}

// Scores of equal detections fill no more recalls than there are objects: KITTI's average of few objects is below 1, though all are found.
func Example_fewObjects() {
	m := metrics[inPicture]
	c := (&evaluation{evaluatedClasses[0], difficulties[0], m.overlap, m.inDontCare}).run(cars()[:10])
	fmt.Printf("%d of %d, average %.3f", c.right, c.truths, average40(&c.precision))
	// Output: 10 of 10, average 0.225
}

// kitSums are what the development kit's program (evaluate_object_3d_offline.cpp of prclibo/kitti_eval, 955c04c) wrote for randomSet: the sums of the 41 values of each curve, which it prints with
// six decimals, for easy, moderate and hard.
var kitSums = []struct {
	class, curve string
	sums         [3]float64
}{
	{"Car", "detection", [3]float64{1.820921, 13.055612, 19.916196}},
	{"Car", "detection_ground", [3]float64{0.686026, 5.914382, 11.666669}},
	{"Car", "detection_3d", [3]float64{0.686026, 5.914382, 11.666669}},
	{"Car", "orientation", [3]float64{1.807033, 13.043511, 19.893300}},
	{"Pedestrian", "detection", [3]float64{0.291667, 4.828577, 19.323175}},
	{"Pedestrian", "detection_ground", [3]float64{0.291667, 5.444446, 19.323175}},
	{"Pedestrian", "detection_3d", [3]float64{0.291667, 5.444446, 19.323175}},
	{"Pedestrian", "orientation", [3]float64{0.290565, 4.806698, 18.991539}},
	{"Cyclist", "detection", [3]float64{1.333332, 16.892762, 23.432877}},
	{"Cyclist", "detection_ground", [3]float64{1.230768, 15.935945, 22.813803}},
	{"Cyclist", "detection_3d", [3]float64{1.230768, 15.935945, 22.813803}},
	{"Cyclist", "orientation", [3]float64{1.303422, 16.753496, 23.351576}},
}

// randomSet has everything that an evaluation tells apart: neighbours, areas without labels, objects that are hidden, cut off or low, detections that are double, wrong or missing.
func randomSet() (pictures []evaluated) {
	r := rand.New(rand.NewPCG(1, 9))
	// Numbers are those of the files that the program read.
	printed := func(l *label) label {
		text := fmt.Sprintf("%s %.2f %d %.2f %.2f %.2f %.2f %.2f %.2f %.2f %.2f %.2f %.2f %.2f %.2f", l.class, l.truncated, l.occluded, l.alpha, l.left, l.top, l.right, l.bottom, l.height, l.width, l.length, l.x, l.y, l.z, l.ry)
		read, err := parseLabel(text)
		if err != nil {
			panic(err)
		}
		return read
	}
	kinds := []string{"Car", "Car", "Car", "Van", "Pedestrian", "Person_sitting", "Cyclist", "Truck", "DontCare"}
	for range 150 {
		var p evaluated
		for range 3 + r.IntN(12) {
			l := label{class: kinds[r.IntN(len(kinds))], truncated: r.Float64() * 0.6, occluded: r.IntN(4), alpha: 6*r.Float64() - 3, left: 1000 * r.Float64(), top: 100 + 80*r.Float64(), height: 1 + r.Float64(), width: 1 + r.Float64(), length: 1 + 3*r.Float64(), x: 40*r.Float64() - 20, y: 1.6, z: 5 + 40*r.Float64(), ry: 6*r.Float64() - 3}
			l.right, l.bottom = l.left+30+120*r.Float64(), l.top+15+60*r.Float64()
			if l.class == dontCare {
				l.truncated, l.occluded, l.alpha, l.height, l.width, l.length, l.x, l.y, l.z, l.ry = -1, -1, -10, -1, -1, -1, -1000, -1000, -1000, -10
			}
			l = printed(&l)
			p.truth = append(p.truth, l)
			d := l
			if d.class == dontCare || d.class == "Van" {
				d.class, d.x, d.y, d.z, d.height, d.width, d.length, d.alpha, d.ry = "Car", 3, 1.6, 10, 1.5, 1.5, 4, 0.4, 0.3
			}
			n := 0.15 * r.Float64() * r.Float64()
			d.left += 100 * n * r.NormFloat64()
			d.right += 100 * n * r.NormFloat64()
			d.top += 40 * n * r.NormFloat64()
			d.bottom += 40 * n * r.NormFloat64()
			d.x += n * r.NormFloat64()
			d.z += n * r.NormFloat64()
			d.ry += n * r.NormFloat64()
			d.alpha += 3 * n * r.NormFloat64()
			if r.IntN(6) == 0 {
				d.x += 30
				d.left += 200
				d.right += 200
			}
			if r.IntN(8) == 0 {
				continue
			}
			d = printed(&d)
			score := math.Round(1000*(1-4*n-0.3*r.Float64())) / 1000
			p.detections = append(p.detections, detection{d, score})
		}
		pictures = append(pictures, p)
	}
	return pictures
}

// TestKit compares curves with those of the development kit's program.
func TestKit(t *testing.T) {
	pictures := randomSet()
	for _, want := range kitSums {
		class := evaluatedClasses[slices.IndexFunc(evaluatedClasses, func(c evaluatedClass) bool { return c.name == want.class })]
		m := metrics[map[string]int{"detection": inPicture, "orientation": inPicture, "detection_ground": fromAbove, "detection_3d": inSpace}[want.curve]]
		for i, level := range difficulties {
			c := (&evaluation{class, level, m.overlap, m.inDontCare}).run(pictures)
			values, sum := c.precision, 0.0
			if want.curve == "orientation" {
				values = c.similarity
			}
			for _, v := range values {
				sum += v
			}
			assert.InDelta(t, want.sums[i], sum, 41*0.5e-6, "%s, %s, %s", want.class, want.curve, level.name)
		}
	}
}
