package kitti

import (
	"math"
	"slices"
	"strings"

	"github.com/raybridge/raybridge/cmd/raybridge/internal/dataset/check"
)

// A detection is a label with a score.
type detection struct {
	label
	score float64
}

// A difficulty says which objects count: those at least so high in the picture, and at most so hidden and cut off.
type difficulty struct {
	name      string
	height    float64
	occluded  int
	truncated float64
}

// difficulties are KITTI's.
var difficulties = []difficulty{{"easy", 40, 0, 0.15}, {"moderate", 25, 1, 0.3}, {"hard", 25, 2, 0.5}}

// An evaluated class has a least overlap, and a neighbour that is neither right nor wrong.
type evaluatedClass struct {
	name, neighbour string
	overlap         float64
}

var evaluatedClasses = []evaluatedClass{{"Car", "Van", 0.7}, {"Pedestrian", "Person_sitting", 0.5}, {"Cyclist", "", 0.5}}

// An evaluation is one of KITTI's: of a class and a difficulty, by an overlap.
type evaluation struct {
	class   evaluatedClass
	level   difficulty
	overlap func(detection, truth *label) float64
	// inDontCare is what share of a detection an area that isn't labelled covers. It is nil for evaluations in space, where these areas have no place.
	inDontCare func(detection, area *label) float64
}

// A picture of an evaluation has what is there and what was detected.
type evaluated struct {
	truth      []label
	detections []detection
}

// A curve has precision and orientation similarity at 41 recalls, 0, 1/40 ... 1, of which only the first steps are filled: so many as scores tell apart.
type curve struct {
	precision, similarity [41]float64
	steps                 int
	truths                int // that count
	right                 int // of the truths, at the lowest score
}

// average40 is the mean over the recalls 1/40 to 1, KITTI's since 2019; average11 that over 0, 0.1 ... 1, of before.
func average40(values *[41]float64) (mean float64) {
	for _, v := range values[1:] {
		mean += v / 40
	}
	return mean
}

func average11(values *[41]float64) (mean float64) {
	for i := 0; i <= 40; i += 4 {
		mean += values[i] / 11
	}
	return mean
}

// The two ways of pairing detections with truth: to find scores, and to count at a score.
const (
	byScore = iota
	byOverlap
)

// A role is how an object or a detection takes part: it counts, is neither right nor wrong, or is left out.
type role uint8

const (
	counts role = iota
	ignored
	absent
)

func (e *evaluation) roleOfTruth(l *label) role {
	tooHard := l.occluded > e.level.occluded || l.truncated > e.level.truncated || l.bottom-l.top < e.level.height
	switch {
	case strings.EqualFold(l.class, e.class.name) && !tooHard:
		return counts
	case strings.EqualFold(l.class, e.class.name), strings.EqualFold(l.class, e.class.neighbour):
		return ignored
	}
	return absent
}

// roleOfDetection cuts the height to whole pixels, as KITTI's program does.
func (e *evaluation) roleOfDetection(d *detection) role {
	switch {
	case math.Trunc(math.Abs(d.bottom-d.top)) < e.level.height:
		return ignored
	case strings.EqualFold(d.class, e.class.name):
		return counts
	}
	return absent
}

// A tally is what a picture adds at one score.
type tally struct {
	right, wrong int
	similarity   float64
	scores       []float64 // of those that are right
}

// run evaluates.
func (e *evaluation) run(pictures []evaluated) (c curve) {
	var scores []float64
	for i := range pictures {
		t := e.pair(&pictures[i], math.Inf(-1), byScore)
		scores = append(scores, t.scores...)
		for j := range pictures[i].truth {
			if e.roleOfTruth(&pictures[i].truth[j]) == counts {
				c.truths++
			}
		}
	}
	steps := scoreSteps(scores, c.truths)
	c.steps = min(len(steps), len(c.precision))
	for i, least := range steps[:c.steps] {
		if i > 0 && least == steps[i-1] {
			c.precision[i], c.similarity[i] = c.precision[i-1], c.similarity[i-1]
			continue
		}
		var all tally
		for j := range pictures {
			t := e.pair(&pictures[j], least, byOverlap)
			all.right, all.wrong, all.similarity = all.right+t.right, all.wrong+t.wrong, all.similarity+t.similarity
		}
		if n := all.right + all.wrong; n > 0 {
			c.precision[i], c.similarity[i] = float64(all.right)/float64(n), all.similarity/float64(n)
		}
		c.right = all.right
	}
	for i := c.steps - 2; i >= 0; i-- {
		c.precision[i] = max(c.precision[i], c.precision[i+1])
		c.similarity[i] = max(c.similarity[i], c.similarity[i+1])
	}
	return c
}

// scoreSteps picks the scores at which recall is nearest to 0, 1/40, ...
func scoreSteps(scores []float64, truths int) (steps []float64) {
	slices.SortFunc(scores, func(a, b float64) int { return compare(b, a) })
	recall := 0.0
	for i, score := range scores {
		here, next := float64(i+1)/float64(truths), float64(i+2)/float64(truths)
		if i < len(scores)-1 && next-recall < recall-here {
			continue
		}
		steps = append(steps, score)
		recall += 1.0 / 40
	}
	return steps
}

func compare(a, b float64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// pair gives each object a detection of at least that score.
func (e *evaluation) pair(p *evaluated, least float64, way int) (t tally) {
	taken, roles := make([]bool, len(p.detections)), make([]role, len(p.detections))
	for i := range p.detections {
		if roles[i] = e.roleOfDetection(&p.detections[i]); p.detections[i].score < least {
			roles[i] = absent
		}
	}
	for i := range p.truth {
		truth := &p.truth[i]
		of := e.roleOfTruth(truth)
		if of == absent {
			continue
		}
		best := e.best(p, i, way, func(j int) (role, bool) { return roles[j], !taken[j] && roles[j] != absent })
		if best >= 0 {
			taken[best] = true
		}
		if best >= 0 && of == counts && roles[best] == counts {
			t.right++
			t.scores = append(t.scores, p.detections[best].score)
			t.similarity += (1 + math.Cos(truth.alpha-p.detections[best].alpha)) / 2
		}
	}
	for i := range p.detections {
		if roles[i] == counts && !taken[i] && !e.unlabelled(p, &p.detections[i].label) {
			t.wrong++
		}
	}
	return t
}

// best returns the detection of an object, -1 for none: the one with the highest score or the largest overlap. By overlap one that counts goes before one that doesn't.
func (e *evaluation) best(p *evaluated, truth, way int, free func(int) (role, bool)) int {
	best, bestRole, bestValue := -1, ignored, math.Inf(-1)
	for j := range p.detections {
		of, ok := free(j)
		if !ok {
			continue
		}
		value := e.overlap(&p.detections[j].label, &p.truth[truth])
		if value <= e.class.overlap {
			continue
		}
		switch {
		case way == byScore:
			if value = p.detections[j].score; value > bestValue {
				best, bestValue = j, value
			}
		case of == counts && (bestRole == ignored || value > bestValue):
			best, bestRole, bestValue = j, of, value
		case of == ignored && best < 0:
			best = j
		}
	}
	return best
}

// unlabelled reports whether a detection lies in an area that isn't labelled.
func (e *evaluation) unlabelled(p *evaluated, d *label) bool {
	if e.inDontCare == nil {
		return false
	}
	for i := range p.truth {
		if strings.EqualFold(p.truth[i].class, dontCare) && e.inDontCare(d, &p.truth[i]) > e.class.overlap {
			return true
		}
	}
	return false
}

// covered is the share of a detection's box that an area covers.
func covered(d, area *label) float64 {
	return d.rectangle().both(area.rectangle()).area() / d.rectangle().area()
}

// metrics are what KITTI evaluates, in its order.
var metrics = []struct {
	name       string
	overlap    func(a, b *label) float64
	inDontCare func(d, area *label) float64
}{{"picture", overlapInPicture, covered}, {"bird's eye", overlapAbove, nil}, {"space", overlapInSpace, nil}}

// leastFound is the share of objects that must be found among themselves. A few are lost to KITTI's rules in a good set, too: one that just doesn't count, but hides another that does, may take its
// detection.
const leastFound = 0.98

// evaluateSelf gives the labels back as detections: objects must be found, and nothing be wrong. It doesn't ask for an average of 1: scores that are equal fill as many of the 41 recalls as there
// are objects.
func (s *set) evaluateSelf(f *check.Findings) {
	for _, class := range evaluatedClasses {
		pictures := s.withoutClass(class.neighbour)
		for _, level := range difficulties {
			for _, m := range metrics {
				c := (&evaluation{class, level, m.overlap, m.inDontCare}).run(pictures)
				at := check.Place{File: labelFolder}
				if c.truths > 0 && (float64(c.right) < leastFound*float64(c.truths) || c.precision[0] < leastFound) {
					f.Add(ruleEvaluation, at, "%s, %s, in the %s: %d of %d labels that were given back as detections are found, with precision %.3f", class.name, level.name, m.name, c.right, c.truths, c.precision[0])
				}
				if c.truths > 0 && m.name == metrics[0].name && c.similarity[0] < leastFound {
					f.Add(ruleEvaluation, at, "%s, %s: the orientation similarity of labels to themselves is %.3f", class.name, level.name, c.similarity[0])
				}
			}
		}
	}
}

// withoutClass returns all labels and the same as detections, except those of a class, which would take other detections.
func (s *set) withoutClass(class string) []evaluated {
	pictures := make([]evaluated, len(s.frames))
	for i, fr := range s.frames {
		for _, l := range fr.labels {
			if l.class == class {
				continue
			}
			pictures[i].truth = append(pictures[i].truth, l)
			if l.class != dontCare {
				pictures[i].detections = append(pictures[i].detections, detection{l, 1})
			}
		}
	}
	return pictures
}
