package coco

import (
	"context"
	"maps"
	"slices"

	"github.com/raybridge/raybridge/cmd/raybridge/internal/dataset/check"
)

// checkPanoptic checks a panoptic file and its PNGs.
func (s *set) checkPanoptic(ctx context.Context, d *document, f *check.Findings) error {
	images := map[int64]*imageRow{}
	for i := range d.Images {
		images[d.Images[i].ID.value] = &d.Images[i]
	}
	seen := map[int64]bool{}
	for i := range d.Annotations {
		if err := ctx.Err(); err != nil {
			return err
		}
		a := &d.Annotations[i]
		at := check.Place{File: d.file, Row: "image_id " + a.ImageID.String()}
		of := images[a.ImageID.value]
		switch {
		case a.ImageID.wrong() != "":
			f.Add(ruleAnnotationImage, at, "image_id %s", a.ImageID.wrong())
		case of == nil:
			f.Add(ruleAnnotationImage, at, "no image has the id %d", a.ImageID.value)
		case seen[a.ImageID.value]:
			f.Add(rulePanopticPicture, at, "image %d has another annotation", a.ImageID.value)
		default:
			if file, found := d.picture(s.root, of); found {
				s.panoptic[file] = panoptic{d, a}
			}
		}
		seen[a.ImageID.value] = true
		s.checkSegments(d, a, of, f)
	}
	for _, id := range slices.Sorted(maps.Keys(images)) {
		if !seen[id] {
			f.Add(rulePanopticPicture, check.Place{File: d.file}, "image %d has no annotation: one without segments is wanted where there is nothing", id)
		}
	}
	return nil
}

// checkSegments compares the rows of one picture's segments with its PNG. The image is nil where it is unknown.
func (s *set) checkSegments(d *document, a *annotation, of *imageRow, f *check.Findings) {
	file, _ := d.segments(s.root, a)
	at := check.Place{File: file}
	picture, err := d.readSegments(s.root, a)
	if err != nil {
		f.Add(rulePanopticFile, at, "can't be read: %v", err)
		return
	}
	if of != nil && (int64(picture.width) != of.Width.value || int64(picture.height) != of.Height.value) {
		f.Add(rulePanopticFile, at, "has %d x %d pixels: its picture has %d x %d", picture.width, picture.height, of.Width.value, of.Height.value)
	}
	drawn, rows, stuff := picture.measure(), map[uint32]bool{}, map[int64]bool{}
	for i := range a.Segments {
		segment := &a.Segments[i]
		at := check.Place{File: file, Row: "segment " + segment.ID.String()}
		if segment.ID.wrong() != "" || segment.ID.value < 1 || segment.ID.value >= 1<<24 || rows[uint32(segment.ID.value)] {
			f.Add(rulePanopticIDs, at, "id must be an integer from 1 to 16777215 that no other segment of the picture has")
			continue
		}
		id := uint32(segment.ID.value)
		rows[id] = true
		checkCrowd(f, at, segment.IsCrowd)
		c := d.category(segment.CategoryID)
		switch {
		case c == nil:
			f.Add(rulePanopticClass, at, "no category has the id %s", segment.CategoryID)
		case c.IsThing != nil && c.IsThing.value == 0 && stuff[c.ID.value]:
			f.Add(rulePanopticStuff, at, "another segment has the category %s, which isn't a thing: join them", c.Name)
		case c.IsThing != nil && c.IsThing.value == 0:
			stuff[c.ID.value] = true
		}
		if drawn[id] == nil {
			f.Add(rulePanopticIDs, at, "no pixel of the PNG has the id")
			continue
		}
		compareExtent(segment, drawn[id], at, f)
	}
	for _, id := range slices.Sorted(maps.Keys(drawn)) {
		if !rows[id] {
			f.Add(rulePanopticIDs, at, "%d pixels have the id %d, which no row of segments_info has", drawn[id].pixels, id)
		}
	}
}

func compareExtent(segment *annotation, drawn *extent, at check.Place, f *check.Findings) {
	if !segment.Area.ok || segment.Area.value != float64(drawn.pixels) {
		f.Add(rulePanopticArea, at, "area is %v: the PNG has %d pixels", segment.Area.value, drawn.pixels)
	}
	if box, ok := boxOfAnnotation(segment); !ok || box != drawn.box() {
		of := drawn.box()
		f.Add(rulePanopticBox, at, "bbox is %v: that of the pixels is [%v %v %v %v]", segment.Box, of.x, of.y, of.w, of.h)
	}
}
