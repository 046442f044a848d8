package kitti

import (
	"fmt"
	"math"
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
