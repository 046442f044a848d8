// Package coco reads and checks data sets in COCO's format: detection with masks, and panoptic segmentation.
//
// Reference: the format's description (cocodataset.org), and what its evaluation takes for granted and doesn't notice.
package coco

import (
	"cmp"
	"context"
	"encoding/json"
	"io/fs"
	"iter"
	"math"
	"path"
	"slices"
	"strings"

	"github.com/raybridge/raybridge/cmd/raybridge/internal/dataset/check"
)

const (
	ruleJSON              = "structure.json"
	ruleInfo              = "structure.info"
	ruleImageID           = "record.image_id"
	ruleCategoryID        = "record.category_id"
	ruleAnnotationID      = "record.annotation_id"
	ruleIsCrowd           = "record.iscrowd"
	ruleBox               = "record.bbox"
	ruleAnnotationImage   = "reference.image"
	ruleAnnotationClass   = "reference.category"
	rulePicture           = "format.picture"
	rulePictureSize       = "format.picture_size"
	ruleMask              = "format.mask"
	ruleMaskSize          = "format.mask_size"
	ruleMaskOrder         = "geometry.mask_order"
	ruleBoxForm           = "geometry.bbox_form"
	ruleMaskBox           = "geometry.bbox"
	ruleArea              = "geometry.area"
	ruleOverlap           = "geometry.overlap"
	ruleAnnotations       = "structure.annotations"
	rulePanopticPicture   = "structure.panoptic_picture"
	rulePanopticFile      = "format.panoptic_file"
	rulePanopticIDs       = "reference.segment"
	rulePanopticClass     = "reference.segment_category"
	rulePanopticArea      = "geometry.segment_area"
	rulePanopticBox       = "geometry.segment_bbox"
	rulePanopticStuff     = "record.stuff"
	rulePanopticAgreement = "geometry.segment_mask"
	ruleShares            = "record.shares"
	ruleWeather           = "record.weather"
	ruleAmodal            = "geometry.amodal"
	ruleEvaluation        = "evaluation.self"
)

// Format is COCO. A set is all of a folder's files of annotations.
var Format = check.Format{Name: "coco", Rules: []check.Rule{
	{ID: ruleJSON, Severity: check.Error, Holds: "each file in annotations is JSON with images, annotations and categories"},
	{ID: ruleInfo, Severity: check.Error, Holds: "a file has the object info, which COCO's reader asks for"},
	{ID: ruleAnnotations, Severity: check.Warning, Holds: "some picture has an annotation"},
	{ID: rulePanopticPicture, Severity: check.Error, Holds: "a panoptic file has one annotation for each of its images"},
	{ID: ruleImageID, Severity: check.Error, Holds: "ids of images are integers, each there once"},
	{ID: ruleCategoryID, Severity: check.Error, Holds: "ids of categories are integers from 1, each there once, and so are their names; isthing is 0 or 1"},
	{ID: ruleAnnotationID, Severity: check.Error, Holds: "ids of annotations are integers from 1, each there once: COCO's evaluation takes 0 for no match"},
	{ID: ruleIsCrowd, Severity: check.Error, Holds: "iscrowd is 0 or 1"},
	{ID: ruleBox, Severity: check.Error, Holds: "bbox is column, row, width and height, not empty, within its picture"},
	{ID: ruleShares, Severity: check.Error, Holds: "occlusion, truncation and visibility, where they are given, are from 0 to 1, or -1 for unknown"},
	{ID: ruleWeather, Severity: check.Error, Holds: "the weather of an image, where it is an object, has visibility above 0, rain and snow from 0, wetness and cloud from 0 to 1"},
	{ID: rulePanopticStuff, Severity: check.Error, Holds: "a panoptic picture has one segment of a category that isn't a thing"},
	{ID: ruleAnnotationImage, Severity: check.Error, Holds: "image_id is an image's"},
	{ID: ruleAnnotationClass, Severity: check.Error, Holds: "category_id is a category's"},
	{ID: rulePanopticIDs, Severity: check.Error, Holds: "the ids of a panoptic PNG and those of its segments are the same, each there once"},
	{ID: rulePanopticClass, Severity: check.Error, Holds: "a segment's category_id is a category's"},
	{ID: rulePicture, Severity: check.Error, Holds: "each picture is there and whole"},
	{ID: rulePictureSize, Severity: check.Error, Holds: "width and height are the picture's"},
	{ID: ruleMask, Severity: check.Error, Holds: "a mask is run lengths that cover its size, or polygons of three points and more"},
	{ID: ruleMaskSize, Severity: check.Error, Holds: "a mask's size is the picture's height, then its width"},
	{ID: rulePanopticFile, Severity: check.Error, Holds: "each panoptic PNG is there, with 8 bits of red, green and blue, of its picture's size"},
	{ID: ruleMaskOrder, Severity: check.Error, Holds: "run lengths go down the columns"},
	{ID: ruleBoxForm, Severity: check.Error, Holds: "bbox has a width and a height, not the right and lower edge"},
	{ID: ruleMaskBox, Severity: check.Error, Holds: "bbox is that of the mask's pixels"},
	{ID: ruleArea, Severity: check.Error, Holds: "area is the number of the mask's pixels"},
	{ID: ruleOverlap, Severity: check.Warning, Holds: "no pixel is in two masks of a picture"},
	{ID: ruleAmodal, Severity: check.Error, Holds: "amodal_bbox, where it is given, holds bbox"},
	{ID: rulePanopticArea, Severity: check.Error, Holds: "a segment's area is the number of its pixels"},
	{ID: rulePanopticBox, Severity: check.Error, Holds: "a segment's bbox is that of its pixels"},
	{ID: rulePanopticAgreement, Severity: check.Error, Holds: "a mask is a segment of the panoptic picture, of the same category"},
	{ID: ruleEvaluation, Severity: check.Error, Holds: "the annotations, given back as detections, have the average precision 1 in boxes and masks"},
}, Detect: detect, Open: open}

// detect returns one set without a name if there are annotations.
func detect(root fs.FS) []string {
	files, _ := fs.Glob(root, folder+"/*.json")
	if len(files) == 0 {
		return nil
	}
	return []string{""}
}

// A set is the documents of a folder.
type set struct {
	root      fs.FS
	documents []*document
	frames    []frame
	panoptic  map[string]panoptic // by the path of the picture
}

// A frame is a picture of a detection file with its annotations.
type frame struct {
	document    *document
	image       *imageRow
	annotations []*annotation
}

func open(ctx context.Context, root fs.FS, _ string, f *check.Findings) (check.Set, error) {
	files, err := fs.Glob(root, folder+"/*.json")
	if err != nil {
		return nil, err
	}
	s := &set{root: root, panoptic: map[string]panoptic{}}
	for _, file := range files {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		d, err := readDocument(root, file)
		if err != nil {
			f.Add(ruleJSON, check.Place{File: file}, "can't be read: %v", err)
			continue
		}
		if d.Images == nil || d.Categories == nil || d.Annotations == nil {
			f.Add(ruleJSON, check.Place{File: file}, "images, annotations and categories must be there, empty or not")
		}
		s.documents = append(s.documents, d)
		if !d.isPanoptic() {
			s.frames = append(s.frames, d.frames()...)
		}
	}
	if s.documents == nil {
		return nil, nil
	}
	return s, nil
}

// frames returns the document's pictures in order, each with its annotations.
func (d *document) frames() []frame {
	all, of := make([]frame, len(d.Images)), map[int64]int{}
	for i := range d.Images {
		all[i] = frame{document: d, image: &d.Images[i]}
		of[d.Images[i].ID.value] = i
	}
	for i := range d.Annotations {
		if n, ok := of[d.Annotations[i].ImageID.value]; ok {
			all[n].annotations = append(all[n].annotations, &d.Annotations[i])
		}
	}
	return all
}

// Check checks panoptic files first: detection's masks are compared with their segments.
func (s *set) Check(ctx context.Context, f *check.Findings) error {
	for _, d := range s.documents {
		d.checkTables(f)
		if d.isPanoptic() {
			if err := s.checkPanoptic(ctx, d, f); err != nil {
				return err
			}
		} else {
			d.checkAnnotations(f)
		}
	}
	detects := slices.ContainsFunc(s.documents, func(d *document) bool { return !d.isPanoptic() })
	if detects && !slices.ContainsFunc(s.frames, func(fr frame) bool { return len(fr.annotations) > 0 }) {
		f.Add(ruleAnnotations, check.Place{File: folder}, "no picture has an annotation: nothing can be learnt from the set")
	}
	for _, frame := range s.frames {
		if err := ctx.Err(); err != nil {
			return err
		}
		s.checkFrame(frame, f)
	}
	s.evaluate(f)
	return nil
}

// at is the place of a row of the document.
func (d *document) at(kind string, id integer) check.Place {
	return check.Place{File: d.file, Row: kind + " " + id.String()}
}

func (d *document) checkTables(f *check.Findings) {
	if !strings.HasPrefix(string(d.Info), "{") {
		f.Add(ruleInfo, check.Place{File: d.file}, "info must be an object, empty or not: COCO's info() reads it")
	}
	seen := map[int64]bool{}
	for i := range d.Images {
		id := d.Images[i].ID
		if why := id.wrong(); why != "" {
			f.Add(ruleImageID, d.at("image", id), "id %s", why)
		} else if seen[id.value] {
			f.Add(ruleImageID, d.at("image", id), "another image has the id %d", id.value)
		}
		seen[id.value] = true
		checkWeather(d.Images[i].Weather, d.at("image", id), f)
	}
	ids, names := map[int64]bool{}, map[string]bool{}
	for _, c := range d.Categories {
		at := d.at("category", c.ID)
		switch why := c.ID.wrong(); {
		case why != "":
			f.Add(ruleCategoryID, at, "id %s", why)
		case c.ID.value < 1:
			f.Add(ruleCategoryID, at, "id is %d: trainers take 0 for the background, count from 1", c.ID.value)
		case ids[c.ID.value]:
			f.Add(ruleCategoryID, at, "another category has the id %d", c.ID.value)
		case c.Name == "" || names[c.Name]:
			f.Add(ruleCategoryID, at, "name is %q: one that no other category has is wanted", c.Name)
		}
		if t := c.IsThing; t != nil && (t.wrong() != "" || t.value != 0 && t.value != 1) || t == nil && d.isPanoptic() {
			f.Add(ruleCategoryID, at, "isthing must be 0 or 1, not true or false, and a panoptic file needs it")
		}
		ids[c.ID.value], names[c.Name] = true, true
	}
}

// checkWeather checks a weather that is told in numbers: a visibility in metres, rain and snow in mm/h, shares.
func checkWeather(text json.RawMessage, at check.Place, f *check.Findings) {
	var keys map[string]json.RawMessage
	if json.Unmarshal(text, &keys) != nil {
		return
	}
	for _, k := range []struct {
		name      string
		low, high float64
	}{{"visibility", math.SmallestNonzeroFloat64, math.Inf(1)}, {"rain", 0, math.Inf(1)}, {"snow", 0, math.Inf(1)}, {"wetness", 0, 1}, {"cloud", 0, 1}} {
		var n number
		if value, given := keys[k.name]; given && (n.UnmarshalJSON(value) != nil || !n.ok || n.value < k.low || n.value > k.high) {
			f.Add(ruleWeather, at, "%s of the weather is %s: visibility is in metres, rain and snow in mm/h, wetness and cloud are shares", k.name, short(string(value)))
		}
	}
}

// category returns a category by its id, nil if there is none.
func (d *document) category(id integer) *category {
	for i := range d.Categories {
		if c := &d.Categories[i]; id.wrong() == "" && c.ID.value == id.value {
			return c
		}
	}
	return nil
}

// checkAnnotations checks what rows say by themselves, and whom they name.
func (d *document) checkAnnotations(f *check.Findings) {
	images, ids := map[int64]bool{}, map[int64]bool{}
	for i := range d.Images {
		images[d.Images[i].ID.value] = true
	}
	for i := range d.Annotations {
		a := &d.Annotations[i]
		at := d.at("annotation", a.ID)
		switch why := a.ID.wrong(); {
		case why != "":
			f.Add(ruleAnnotationID, at, "id %s", why)
		case a.ID.value < 1:
			f.Add(ruleAnnotationID, at, "id is %d: COCO's evaluation counts an object with the id 0 as missed, count from 1", a.ID.value)
		case ids[a.ID.value]:
			f.Add(ruleAnnotationID, at, "another annotation has the id %d", a.ID.value)
		}
		ids[a.ID.value] = true
		if why := a.ImageID.wrong(); why != "" {
			f.Add(ruleAnnotationImage, at, "image_id %s", why)
		} else if !images[a.ImageID.value] {
			f.Add(ruleAnnotationImage, at, "no image has the id %d", a.ImageID.value)
		}
		if why := a.CategoryID.wrong(); why != "" {
			f.Add(ruleAnnotationClass, at, "category_id %s", why)
		} else if d.category(a.CategoryID) == nil {
			f.Add(ruleAnnotationClass, at, "no category has the id %d", a.CategoryID.value)
		}
		checkCrowd(f, at, a.IsCrowd)
	}
}

func checkCrowd(f *check.Findings, at check.Place, crowd integer) {
	if why := crowd.wrong(); why != "" {
		f.Add(ruleIsCrowd, at, "iscrowd %s: write 0 or 1", why)
	} else if crowd.value != 0 && crowd.value != 1 {
		f.Add(ruleIsCrowd, at, "iscrowd is %d: write 0 or 1", crowd.value)
	}
}

// checkFrame checks a picture and the masks of its annotations.
func (s *set) checkFrame(fr frame, f *check.Findings) {
	var segments *segmented
	if p, ok := s.panoptic[s.checkPicture(fr, f)]; ok {
		segments, _ = p.document.readSegments(s.root, p.annotation)
	}
	for i, a := range fr.annotations {
		at := fr.document.at("annotation", a.ID)
		box, ok := boxOfAnnotation(a)
		if ok {
			ok = checkMask(fr, a, f)
		} else {
			f.Add(ruleBox, at, "bbox must be four finite numbers: column, row, width and height")
		}
		if ok && (box.w <= 0 || box.h <= 0) {
			f.Add(ruleBox, at, "bbox %v is empty: leave hidden objects out", a.Box)
		} else if w, h := float64(fr.image.Width.value), float64(fr.image.Height.value); ok && (box.x < 0 || box.y < 0 || box.x+box.w > w || box.y+box.h > h) {
			f.Add(ruleBox, at, "bbox %v leaves the picture of %v x %v pixels", a.Box, w, h)
		}
		checkExtras(a, box, at, f)
		for _, other := range fr.annotations[:i] {
			if n := overlapOf(a, other); n > 0 {
				f.Add(ruleOverlap, at, "%d pixels are in the mask of annotation %d, too", n, other.ID.value)
			}
		}
		if segments != nil {
			segments.compare(fr, a, f)
		}
	}
}

// checkExtras checks what COCO doesn't have.
func checkExtras(a *annotation, box pixelBox, at check.Place, f *check.Findings) {
	for _, share := range []struct {
		name string
		number
	}{{"occlusion", a.Occlusion}, {"truncation", a.Truncation}, {"visibility", a.Visibility}} {
		if share.ok && share.value != -1 && (share.value < 0 || share.value > 1) {
			f.Add(ruleShares, at, "%s is %v: a share is from 0 to 1", share.name, share.value)
		}
	}
	const pixel = 1.5
	if m := a.Amodal; len(m) == 4 && (box.x < m[0]-pixel || box.y < m[1]-pixel || box.x+box.w > m[0]+m[2]+pixel || box.y+box.h > m[1]+m[3]+pixel) {
		f.Add(ruleAmodal, at, "amodal_bbox %v doesn't hold bbox %v: it is the box of the whole object, as column, row, width and height", m, a.Box)
	}
}

func boxOfAnnotation(a *annotation) (box pixelBox, ok bool) {
	if len(a.Box) != 4 {
		return box, false
	}
	for _, v := range a.Box {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return box, false
		}
	}
	return pixelBox{a.Box[0], a.Box[1], a.Box[2], a.Box[3]}, true
}

// sound reports whether an annotation has a mask as runs that cover its size.
func (a *annotation) sound() bool {
	s := a.Segmentation
	return s != nil && s.err == nil && s.runs != nil && s.size[0] > 0 && s.size[1] > 0 && s.size[0] <= maxPixels && s.size[1] <= maxPixels &&
		int64(s.runs.pixels()) == s.size[0]*s.size[1]
}

func overlapOf(a, b *annotation) int {
	if !a.sound() || !b.sound() || a.Segmentation.size != b.Segmentation.size || a.IsCrowd.value == 1 || b.IsCrowd.value == 1 {
		return 0
	}
	return a.Segmentation.runs.overlap(b.Segmentation.runs)
}

// checkMask compares an annotation's mask with its box and area. It reports whether the box has COCO's form, as far as the mask shows.
func checkMask(fr frame, a *annotation, f *check.Findings) (formed bool) {
	at, mask := fr.document.at("annotation", a.ID), a.Segmentation
	switch {
	case mask == nil:
		f.Add(ruleMask, at, "segmentation is missing")
		return true
	case mask.err != nil:
		f.Add(ruleMask, at, "segmentation %v", mask.err)
		return true
	case mask.polygons != nil:
		return checkPolygons(fr, a, f)
	}
	height, width := fr.image.Height.value, fr.image.Width.value
	switch size := mask.size; {
	case size == [2]int64{width, height} && width != height:
		f.Add(ruleMaskSize, at, "size is [%d, %d]: the height comes first, [%d, %d]", width, height, height, width)
		return true
	case size != [2]int64{height, width}:
		f.Add(ruleMaskSize, at, "size is %v: the picture's height and width are [%d, %d]", size, height, width)
		return true
	case !a.sound():
		f.Add(ruleMask, at, "the runs cover %d pixels, the picture has %d", mask.runs.pixels(), height*width)
		return true
	}
	if n := mask.runs.ones(); !a.Area.ok || a.Area.value != float64(n) {
		f.Add(ruleArea, at, "area is %v: the mask has %d pixels", a.Area.value, n)
	}
	return compareBox(fr, a, f)
}

// compareBox compares a box with its mask's, and names the mistake that explains a difference.
func compareBox(fr frame, a *annotation, f *check.Findings) (formed bool) {
	at := fr.document.at("annotation", a.ID)
	box, _ := boxOfAnnotation(a)
	of := a.Segmentation.runs.box(int(fr.image.Height.value))
	edges := pixelBox{box.x, box.y, box.w - box.x, box.h - box.y} // if the last two numbers are the right and lower edge
	last := pixelBox{edges.x, edges.y, edges.w + 1, edges.h + 1}  // or the last column and row
	switch {
	case box == of:
		return true
	case edges == of, last == of:
		f.Add(ruleBoxForm, at, "bbox %v has the right and lower edge: write the width %v and the height %v", a.Box, of.w, of.h)
		return false
	case box == a.Segmentation.runs.boxByRows(int(fr.image.Width.value)):
		f.Add(ruleMaskOrder, at, "the runs go along the rows: write them down the columns")
	default:
		f.Add(ruleMaskBox, at, "bbox is %v: that of the mask's pixels is [%v %v %v %v]", a.Box, of.x, of.y, of.w, of.h)
	}
	return true
}

// checkPolygons compares polygons with their box. Polygons lose holes and half pixels, so areas aren't compared.
func checkPolygons(fr frame, a *annotation, f *check.Findings) (formed bool) {
	at := fr.document.at("annotation", a.ID)
	box, _ := boxOfAnnotation(a)
	left, top, right, bottom := math.Inf(1), math.Inf(1), math.Inf(-1), math.Inf(-1)
	for _, p := range a.Segmentation.polygons {
		for i := 0; i+1 < len(p); i += 2 {
			left, top, right, bottom = min(left, p[i]), min(top, p[i+1]), max(right, p[i]), max(bottom, p[i+1])
		}
	}
	of := pixelBox{left, top, right - left, bottom - top}
	edges := pixelBox{box.x, box.y, box.w - box.x, box.h - box.y}
	switch {
	case box.near(of, 1.5):
		return true
	case edges.near(of, 1.5):
		f.Add(ruleBoxForm, at, "bbox %v has the right and lower edge: write the width %v and the height %v", a.Box, of.w, of.h)
		return false
	}
	f.Add(ruleMaskBox, at, "bbox is %v: that of the polygons is [%v %v %v %v]", a.Box, of.x, of.y, of.w, of.h)
	return true
}

// checkPicture returns the picture's path.
func (s *set) checkPicture(fr frame, f *check.Findings) (file string) {
	file, found := fr.document.picture(s.root, fr.image)
	at := check.Place{File: file}
	if !found {
		f.Add(rulePicture, at, "image %d of %s isn't there", fr.image.ID.value, fr.document.file)
		return file
	}
	width, height, err := check.PictureSize(s.root, file)
	if err != nil {
		f.Add(rulePicture, at, "can't be read: %v", err)
	} else if w, h := fr.image.Width.value, fr.image.Height.value; w != int64(width) || h != int64(height) {
		f.Add(rulePictureSize, at, "has %d x %d pixels: width and height of image %d are %d and %d", width, height, fr.image.ID.value, w, h)
	}
	return file
}

// Objects are the annotations. Distance and occlusion aren't COCO's, but sets may have them.
func (s *set) Objects() iter.Seq[check.Object] {
	return func(yield func(check.Object) bool) {
		for _, fr := range s.frames {
			for _, a := range fr.annotations {
				distance := math.NaN()
				if a.Distance.ok {
					distance = a.Distance.value
				}
				if !yield(check.Object{Category: fr.name(a), Distance: distance, Occlusion: hidden(a.Occlusion)}) {
					return
				}
			}
		}
	}
}

// hidden is a word for the hidden share.
func hidden(share number) string {
	switch {
	case !share.ok || share.value < 0:
		return ""
	case share.value <= 0.1:
		return "0 to 10 % hidden"
	case share.value <= 0.5:
		return "10 to 50 % hidden"
	}
	return "50 to 100 % hidden"
}

// name returns the name of an annotation's category.
func (fr frame) name(a *annotation) string {
	if c := fr.document.category(a.CategoryID); c != nil {
		return c.Name
	}
	return "unknown"
}

func (s *set) Frames() int { return len(s.frames) }

// Views draws boxes and the outlines of masks.
func (s *set) Views(i int) (name string, views []check.View) {
	fr := s.frames[i]
	file, found := fr.document.picture(s.root, fr.image)
	name = strings.TrimSuffix(path.Base(fr.image.FileName), path.Ext(fr.image.FileName))
	width, height, err := check.PictureSize(s.root, file)
	if !found || err != nil {
		return name, nil
	}
	view := check.View{Channel: cmp.Or(fr.document.name, "image"), File: file}
	for _, a := range fr.annotations {
		category := fr.name(a)
		if box, ok := boxOfAnnotation(a); ok {
			view.Segments = append(view.Segments, box.edges(category)...)
		}
		if a.sound() && a.Segmentation.size == [2]int64{int64(height), int64(width)} {
			view.Segments = append(view.Segments, outline(a.Segmentation.runs, int(a.Segmentation.size[0]), category)...)
		}
	}
	return name, []check.View{view}
}

// edges are the box's four.
func (b pixelBox) edges(category string) (all []check.Segment) {
	corners := [][2]float64{{b.x, b.y}, {b.x + b.w, b.y}, {b.x + b.w, b.y + b.h}, {b.x, b.y + b.h}}
	for i, from := range corners {
		all = append(all, check.Segment{From: from, To: corners[(i+1)%4], Category: category})
	}
	return all
}

// outline returns the edges between a mask's pixels and the others: two a run, and what two columns don't share.
func outline(r runs, height int, category string) (all []check.Segment) {
	add := func(x0, y0, x1, y1 int) {
		all = append(all, check.Segment{From: [2]float64{float64(x0), float64(y0)}, To: [2]float64{float64(x1), float64(y1)}, Category: category})
	}
	columns := map[int][][2]int{}
	r.each(func(from, to int) {
		for from < to {
			x, end := from/height, min(to, (from/height+1)*height)
			columns[x] = append(columns[x], [2]int{from - x*height, end - x*height})
			from = end
		}
	})
	for x, spans := range columns {
		for _, s := range spans {
			add(x, s[0], x+1, s[0])
			add(x, s[1], x+1, s[1])
			for _, side := range []int{-1, 1} {
				for _, open := range without(s, columns[x+side]) {
					add(x+max(side, 0), open[0], x+max(side, 0), open[1])
				}
			}
		}
	}
	slices.SortFunc(all, func(a, b check.Segment) int {
		return slices.Compare(append(a.From[:], a.To[:]...), append(b.From[:], b.To[:]...))
	})
	return all
}

// without returns what of a span the others, which rise, don't cover.
func without(s [2]int, others [][2]int) (open [][2]int) {
	for _, o := range others {
		if o[1] <= s[0] || o[0] >= s[1] {
			continue
		}
		if o[0] > s[0] {
			open = append(open, [2]int{s[0], o[0]})
		}
		s[0] = o[1]
	}
	if s[0] < s[1] {
		open = append(open, s)
	}
	return open
}
