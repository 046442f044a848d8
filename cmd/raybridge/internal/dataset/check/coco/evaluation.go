package coco

import (
	"cmp"
	"maps"
	"slices"

	"github.com/raybridge/raybridge/cmd/raybridge/internal/dataset/check"
)

// An evaluatedObject is an annotation or a detection of one picture, as the evaluation sees it.
type evaluatedObject struct {
	category int64
	box      pixelBox
	mask     runs // nil where there is none
	score    float64
	crowd    bool
}

// boxOverlap and maskOverlap are how far a detection and an annotation are the same: intersection over union; over the detection alone for a crowd.
func boxOverlap(detection, truth *evaluatedObject) float64 {
	iou := detection.box.iou(truth.box)
	if truth.crowd && iou > 0 {
		both := iou * (detection.box.area() + truth.box.area()) / (1 + iou)
		return both / detection.box.area()
	}
	return iou
}

func maskOverlap(detection, truth *evaluatedObject) float64 {
	both := float64(detection.mask.overlap(truth.mask))
	of := float64(detection.mask.ones() + truth.mask.ones())
	if truth.crowd {
		return both / max(float64(detection.mask.ones()), 1)
	}
	return both / max(of-both, 1)
}

// A picture of an evaluation has what is there and what was detected.
type pictureOf struct{ truth, detections []*evaluatedObject }

// precisions are COCO's average precisions: over the ten least overlaps 0.50, 0.55 ... 0.95, and at each of them.
type precisions struct {
	mean float64
	at   [10]float64
}

// averagePrecision is COCO's: the mean, over categories and over recalls of 0, 0.01 ... 1, of the best precision at that recall or above. It has no limit of detections for
// each picture (COCO has 100), so that crowded pictures are judged whole. Categories without any truth don't count; the result of no category is 1.
func averagePrecision(pictures []pictureOf, overlap func(detection, truth *evaluatedObject) float64) (p precisions) {
	categories := map[int64]bool{}
	for _, picture := range pictures {
		for _, t := range picture.truth {
			if !t.crowd {
				categories[t.category] = true
			}
		}
	}
	if len(categories) == 0 {
		p.mean = 1
		return p
	}
	for _, category := range slices.Sorted(maps.Keys(categories)) {
		for i, curve := range matchCategory(pictures, category, overlap) {
			p.at[i] += curve.average() / float64(len(categories))
		}
	}
	for _, at := range p.at {
		p.mean += at / 10
	}
	return p
}

// A curve is what a category's detections are at one least overlap.
type curve struct {
	truths int
	found  []match
}

type match struct {
	score float64
	right bool
}

// matchCategory pairs the detections of a category with its truth, the most certain first, each with the free truth that it overlaps most.
func matchCategory(pictures []pictureOf, category int64, overlap func(detection, truth *evaluatedObject) float64) (curves [10]curve) {
	for _, picture := range pictures {
		truth, detections := ofCategory(picture.truth, category), ofCategory(picture.detections, category)
		slices.SortStableFunc(detections, func(a, b *evaluatedObject) int { return cmp.Compare(b.score, a.score) })
		overlaps := make([][]float64, len(detections))
		for i, d := range detections {
			for _, t := range truth {
				overlaps[i] = append(overlaps[i], overlap(d, t))
			}
		}
		for i := range curves {
			curves[i].match(truth, detections, overlaps, 0.5+0.05*float64(i))
		}
	}
	return curves
}

func ofCategory(all []*evaluatedObject, category int64) (some []*evaluatedObject) {
	for _, o := range all {
		if o.category == category {
			some = append(some, o)
		}
	}
	return some
}

// match adds a picture. What is detected in a crowd is neither right nor wrong.
func (c *curve) match(truth, detections []*evaluatedObject, overlaps [][]float64, least float64) {
	taken := make([]bool, len(truth))
	for _, t := range truth {
		if !t.crowd {
			c.truths++
		}
	}
	for i, d := range detections {
		best, inCrowd := -1, false
		for j, t := range truth {
			switch o := overlaps[i][j]; {
			case o < least-1e-10:
			case t.crowd:
				inCrowd = true
			case !taken[j] && (best < 0 || o > overlaps[i][best]):
				best = j
			}
		}
		if best >= 0 {
			taken[best] = true
		}
		if best >= 0 || !inCrowd {
			c.found = append(c.found, match{d.score, best >= 0})
		}
	}
}

// average is the mean of the best precisions at 101 recalls.
func (c *curve) average() (mean float64) {
	slices.SortStableFunc(c.found, func(a, b match) int { return cmp.Compare(b.score, a.score) })
	right, recall, precision := 0, make([]float64, len(c.found)), make([]float64, len(c.found))
	for i, m := range c.found {
		if m.right {
			right++
		}
		recall[i], precision[i] = float64(right)/float64(c.truths), float64(right)/float64(i+1)
	}
	for i := len(precision) - 2; i >= 0; i-- {
		precision[i] = max(precision[i], precision[i+1])
	}
	for i, at := 0, 0; i <= 100; i++ {
		for at < len(recall) && recall[at] < float64(i)/100-1e-12 {
			at++
		}
		if at < len(recall) {
			mean += precision[at] / 101
		}
	}
	return mean
}

// evaluate gives the annotations back as detections.
func (s *set) evaluate(f *check.Findings) {
	pictures := make([]pictureOf, len(s.frames))
	for i, fr := range s.frames {
		for _, a := range fr.annotations {
			if o := fr.object(a); o != nil {
				pictures[i].truth = append(pictures[i].truth, o)
			}
		}
		for _, o := range pictures[i].truth {
			if !o.crowd {
				pictures[i].detections = append(pictures[i].detections, o)
			}
		}
	}
	if boxes := averagePrecision(pictures, boxOverlap); boxes.mean < 1-1e-9 {
		f.Add(ruleEvaluation, check.Place{File: folder}, "the average precision of boxes is %.4f, 1 is wanted: some have no area", boxes.mean)
	}
	if masks := averagePrecision(withMasks(pictures), maskOverlap); masks.mean < 1-1e-9 {
		f.Add(ruleEvaluation, check.Place{File: folder}, "the average precision of masks is %.4f, 1 is wanted: some are empty", masks.mean)
	}
}

func withMasks(pictures []pictureOf) []pictureOf {
	some := make([]pictureOf, len(pictures))
	without := func(o *evaluatedObject) bool { return o.mask == nil }
	for i, p := range pictures {
		some[i] = pictureOf{slices.DeleteFunc(slices.Clone(p.truth), without), slices.DeleteFunc(slices.Clone(p.detections), without)}
	}
	return some
}

// object is what the evaluation sees of an annotation, nil if it has no box.
func (fr frame) object(a *annotation) *evaluatedObject {
	box, ok := boxOfAnnotation(a)
	if !ok {
		return nil
	}
	o := &evaluatedObject{category: a.CategoryID.value, box: box, score: 1, crowd: a.IsCrowd.value == 1}
	if a.sound() && a.Segmentation.size == [2]int64{fr.image.Height.value, fr.image.Width.value} {
		o.mask = a.Segmentation.runs
	}
	return o
}
