package coco

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"maps"
	"math"
	"slices"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/cmd/raybridge/internal/dataset/check"
)

type object = map[string]any

const (
	testW, testH = 96, 70
	detections   = "annotations/instances_train.json"
	segments     = "annotations/panoptic_train.json"
)

// drawn is a picture's ids, pixel by pixel: 1 sky, 2 road, 3 a far car, 4 a person before it, 5 a near car whose roof is open, so that its mask has a hole.
func drawnIDs(frame int) [testH][testW]int {
	var ids [testH][testW]int
	for y := range testH {
		for x := range testW {
			id := 1
			if y > 30 {
				id = 2
			}
			if dx, dy := float64(x-40-7*frame), float64(y-32); dx*dx/140+dy*dy/60 < 1 {
				id = 3
			}
			if x >= 44+6*frame && x < 50+6*frame && y >= 25 && y < 45 {
				id = 4
			}
			if x > 50 && y > 45 && !(x > 60 && x < 70 && y > 50 && y < 56) {
				id = 5
			}
			ids[y][x] = id
		}
	}
	return ids
}

// weathers are those of the good set's pictures: in numbers, in words, and none.
var weathers = [...]any{object{"visibility": 100, "rain": 5, "snow": 0, "wetness": 0.45, "wind": object{"x": 3, "y": -1}, "cloud": 1}, "rain", nil}

// write makes a good set by the format's description.
func write(t *testing.T) fstest.MapFS {
	t.Helper()
	files := fstest.MapFS{}
	categoryOf := map[int]int{1: 10, 2: 11, 3: 1, 4: 2, 5: 1}
	things := []any{object{"id": 1, "name": "car", "supercategory": "vehicle"}, object{"id": 2, "name": "person", "supercategory": "human"}}
	all := []any{
		object{"id": 1, "name": "car", "supercategory": "vehicle", "isthing": 1, "color": []int{0, 0, 142}},
		object{"id": 2, "name": "person", "supercategory": "human", "isthing": 1, "color": []int{220, 20, 60}},
		object{"id": 10, "name": "sky", "supercategory": "sky", "isthing": 0, "color": []int{70, 130, 180}},
		object{"id": 11, "name": "road", "supercategory": "ground", "isthing": 0, "color": []int{128, 64, 128}},
	}
	var images, annotations, pictures []any
	for frame := range 3 {
		ids := drawnIDs(frame)
		photo, ofSegments := image.NewRGBA(image.Rect(0, 0, testW, testH)), image.NewNRGBA(image.Rect(0, 0, testW, testH))
		var rows []any
		for id := 1; id <= 5; id++ {
			segment := id*70_000 + frame
			set, area := make([]bool, testW*testH), 0
			for y := range testH {
				for x := range testW {
					if ids[y][x] == id {
						set[x*testH+y] = true
						area++
						photo.Set(x, y, color.RGBA{uint8(40 * id), uint8(255 - 40*id), 99, 255})
						ofSegments.Set(x, y, color.NRGBA{uint8(segment), uint8(segment >> 8), uint8(segment >> 16), 255})
					}
				}
			}
			box := boxOf(func(x, y int) bool { return ids[y][x] == id }, testW, testH)
			row := object{"id": segment, "category_id": categoryOf[id], "area": area, "bbox": []any{box.x, box.y, box.w, box.h}, "iscrowd": 0}
			rows = append(rows, maps.Clone(row))
			if id > 2 {
				row["id"], row["image_id"] = len(annotations)+1, frame+1
				row["amodal_bbox"], row["occlusion"], row["distance"] = []any{box.x - 3.5, box.y, box.w + 5, box.h + 2}, 0.25, 12.5
				row["segmentation"] = object{"size": []any{testH, testW}, "counts": runsText(runsOf(set))}
				annotations = append(annotations, row)
			}
		}
		var b bytes.Buffer
		require.NoError(t, jpeg.Encode(&b, photo, nil))
		name := fmt.Sprintf("%012d", frame+1)
		files["train/"+name+".jpg"] = &fstest.MapFile{Data: slices.Clone(b.Bytes())}
		b.Reset()
		require.NoError(t, png.Encode(&b, opaque{ofSegments}))
		files["annotations/panoptic_train/"+name+".png"] = &fstest.MapFile{Data: b.Bytes()}
		images = append(images, object{"id": frame + 1, "width": testW, "height": testH, "file_name": name + ".jpg", "weather": weathers[frame]})
		pictures = append(pictures, object{"image_id": frame + 1, "file_name": name + ".png", "segments_info": rows})
	}
	for file, d := range map[string]object{
		detections: {"info": object{}, "licenses": []any{}, "images": images, "annotations": annotations, "categories": things},
		segments:   {"info": object{}, "licenses": []any{}, "images": images, "annotations": pictures, "categories": all},
	} {
		text, err := json.Marshal(d)
		require.NoError(t, err)
		files[file] = &fstest.MapFile{Data: text}
	}
	return files
}

// opaque has png.Encode write red, green and blue without alpha.
type opaque struct{ *image.NRGBA }

func (opaque) Opaque() bool { return true }

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
	require.Equal(t, 3, r.Set.Frames())
	objects := slices.Collect(r.Set.Objects())
	assert.Len(t, objects, 9)
	assert.Equal(t, check.Object{Category: "car", Distance: 12.5, Occlusion: "10 to 50 % hidden"}, objects[0])
	name, views := r.Set.Views(1)
	assert.Equal(t, "000000000002", name)
	require.Len(t, views, 1)
	assert.Equal(t, "train/000000000002.jpg", views[0].File)
}

// each changes the rows of a table.
func each(file, table string, change func(row object)) func(fstest.MapFS) {
	return changed(file, func(d object) {
		for _, row := range d[table].([]any) {
			change(row.(object))
		}
	})
}

func first(file, table string, change func(row object)) func(fstest.MapFS) {
	return changed(file, func(d object) { change(d[table].([]any)[0].(object)) })
}

func changed(file string, change func(d object)) func(fstest.MapFS) {
	return func(files fstest.MapFS) {
		var d object
		if err := json.Unmarshal(files[file].Data, &d); err != nil {
			panic(err)
		}
		change(d)
		text, err := json.Marshal(d)
		if err != nil {
			panic(err)
		}
		files[file] = &fstest.MapFile{Data: text}
	}
}

// segmentsOf changes the segments of each picture.
func segmentsOf(change func(rows []any) []any) func(fstest.MapFS) {
	return each(segments, "annotations", func(row object) { row["segments_info"] = change(row["segments_info"].([]any)) })
}

// recoded changes each mask's pixels, and writes them in some order.
func recoded(change func(set []bool) []bool) func(fstest.MapFS) {
	return each(detections, "annotations", func(row object) {
		mask := row["segmentation"].(object)
		r, err := parseRuns(mask["counts"].(string))
		if err != nil {
			panic(err)
		}
		set := make([]bool, testW*testH)
		r.each(func(from, to int) {
			for i := from; i < to; i++ {
				set[i] = true
			}
		})
		mask["counts"] = runsText(runsOf(change(set)))
	})
}

var faults = []struct {
	name, rule string
	inject     func(files fstest.MapFS)
}{
	{"an annotation's id is 0", ruleAnnotationID, each(detections, "annotations", func(row object) { row["id"] = row["id"].(float64) - 1 })},
	{"two annotations of one id", ruleAnnotationID, each(detections, "annotations", func(row object) { row["id"] = row["image_id"] })},
	{"an id as text", ruleAnnotationID, each(detections, "annotations", func(row object) { row["id"] = fmt.Sprint(row["id"]) })},
	{"masks by rows", ruleMaskOrder, recoded(func(set []bool) []bool {
		rows := make([]bool, len(set))
		for i := range set {
			rows[i] = set[i%testW*testH+i/testW]
		}
		return rows
	})},
	{"masks upside down", ruleMaskBox, recoded(func(set []bool) []bool {
		turned := slices.Clone(set)
		slices.Reverse(turned)
		return turned
	})},
	{"the first run is of ones", ruleMaskBox, recoded(func(set []bool) []bool {
		for i := range set {
			set[i] = !set[i]
		}
		return set
	})},
	{"a mask of another size", ruleMask, each(detections, "annotations", func(row object) { row["segmentation"].(object)["counts"] = "5220003" })},
	{"a string that isn't a mask", ruleMask, each(detections, "annotations", func(row object) { row["segmentation"].(object)["counts"] = "~~~" })},
	{"no mask", ruleMask, each(detections, "annotations", func(row object) { delete(row, "segmentation") })},
	{"size is width and height", ruleMaskSize, each(detections, "annotations", func(row object) { row["segmentation"].(object)["size"] = []any{testW, testH} })},
	{"area is the box's", ruleArea, each(detections, "annotations", func(row object) {
		box := row["bbox"].([]any)
		row["area"] = box[2].(float64) * box[3].(float64)
	})},
	{"bbox has right and lower edge", ruleBoxForm, boxes(func(b []float64) { b[2] += b[0]; b[3] += b[1] })},
	{"bbox has the last column and row", ruleBoxForm, boxes(func(b []float64) { b[2] += b[0] - 1; b[3] += b[1] - 1 })},
	{"bbox from 1", ruleMaskBox, boxes(func(b []float64) { b[0]++; b[1]++ })},
	{"bbox one pixel short", ruleMaskBox, boxes(func(b []float64) { b[2]--; b[3]-- })},
	{"bbox beyond the picture", ruleBox, boxes(func(b []float64) { b[2] += 60 })},
	{"bbox of hidden objects", ruleBox, each(detections, "annotations", func(row object) {
		row["segmentation"].(object)["counts"], row["area"], row["bbox"] = runsText(runs{testW * testH}), 0, []any{0, 0, 0, 0}
	})},
	{"bbox has three numbers", ruleBox, each(detections, "annotations", func(row object) { row["bbox"] = row["bbox"].([]any)[:3] })},
	{"iscrowd is a bool", ruleIsCrowd, each(detections, "annotations", func(row object) { row["iscrowd"] = false })},
	{"iscrowd is missing", ruleIsCrowd, each(detections, "annotations", func(row object) { delete(row, "iscrowd") })},
	{"an unknown category", ruleAnnotationClass, first(detections, "annotations", func(row object) { row["category_id"] = 77 })},
	{"a category by name", ruleAnnotationClass, first(detections, "annotations", func(row object) { row["category_id"] = "car" })},
	{"no annotations", ruleAnnotations, changed(detections, func(d object) { d["annotations"] = []any{} })},
	{"an unknown image", ruleAnnotationImage, first(detections, "annotations", func(row object) { row["image_id"] = 77 })},
	{"two images of one id", ruleImageID, each(detections, "images", func(row object) { row["id"] = 1 })},
	{"a category's id is 0", ruleCategoryID, first(detections, "categories", func(row object) { row["id"] = 0 })},
	{"two categories of one name", ruleCategoryID, each(detections, "categories", func(row object) { row["name"] = "car" })},
	{"a picture is missing", rulePicture, func(files fstest.MapFS) { delete(files, "train/000000000002.jpg") }},
	{"a picture is cut off", rulePicture, func(files fstest.MapFS) {
		files["train/000000000002.jpg"] = &fstest.MapFile{Data: files["train/000000000002.jpg"].Data[:700]}
	}},
	{"width and height swapped", rulePictureSize, each(detections, "images", func(row object) { row["width"], row["height"] = row["height"], row["width"] })},
	{"no info", ruleInfo, changed(detections, func(d object) { delete(d, "info") })},
	{"no categories", ruleJSON, changed(detections, func(d object) { delete(d, "categories") })},
	{"a file is cut off", ruleJSON, func(files fstest.MapFS) { files[detections] = &fstest.MapFile{Data: files[detections].Data[:900]} }},
	{"masks share pixels", ruleOverlap, func(files fstest.MapFS) {
		changed(detections, func(d object) {
			rows := d["annotations"].([]any)
			for _, key := range []string{"segmentation", "area", "bbox"} {
				rows[1].(object)[key] = rows[0].(object)[key]
			}
		})(files)
	}},
	{"an id only in the PNG", rulePanopticIDs, segmentsOf(func(rows []any) []any { return rows[1:] })},
	{"an id only in the JSON", rulePanopticIDs, segmentsOf(func(rows []any) []any {
		more := maps.Clone(rows[2].(object))
		more["id"] = 5
		return append(rows, more)
	})},
	{"ids are big-endian", rulePanopticIDs, segmentsOf(func(rows []any) []any {
		for _, row := range rows {
			id := int(row.(object)["id"].(float64))
			row.(object)["id"] = id>>16 | id&0xff00 | id&0xff<<16
		}
		return rows
	})},
	{"a segment of an unknown category", rulePanopticClass, segmentsOf(func(rows []any) []any { rows[0].(object)["category_id"] = 99; return rows })},
	{"two segments of stuff", rulePanopticStuff, segmentsOf(func(rows []any) []any { rows[0].(object)["category_id"] = 11; return rows })},
	{"a segment's area", rulePanopticArea, segmentsOf(func(rows []any) []any { rows[0].(object)["area"] = 12; return rows })},
	{"a segment's box", rulePanopticBox, segmentsOf(func(rows []any) []any { rows[0].(object)["bbox"] = []any{0, 0, 1, 1}; return rows })},
	{"a picture without segments", rulePanopticPicture, changed(segments, func(d object) { d["annotations"] = d["annotations"].([]any)[1:] })},
	{"a PNG is missing", rulePanopticFile, func(files fstest.MapFS) { delete(files, "annotations/panoptic_train/000000000001.png") }},
	{"a PNG with a palette", rulePanopticFile, func(files fstest.MapFS) {
		var b bytes.Buffer
		if err := png.Encode(&b, image.NewPaletted(image.Rect(0, 0, testW, testH), color.Palette{color.Black, color.White})); err != nil {
			panic(err)
		}
		files["annotations/panoptic_train/000000000001.png"] = &fstest.MapFile{Data: b.Bytes()}
	}},
	{"isthing is a bool", ruleCategoryID, each(segments, "categories", func(row object) { row["isthing"] = row["isthing"].(float64) == 1 })},
	{"masks of the next picture", rulePanopticAgreement, changed(detections, func(d object) {
		rows := d["annotations"].([]any)
		for i := range len(rows) - 3 {
			for _, key := range []string{"segmentation", "area", "bbox"} {
				rows[i].(object)[key] = rows[i+3].(object)[key]
			}
		}
	})},
	{"another category than the segment's", rulePanopticAgreement, each(detections, "annotations", func(row object) { row["category_id"] = 3 - row["category_id"].(float64) })},
	{"the hidden share as percent", ruleShares, each(detections, "annotations", func(row object) { row["occlusion"] = 25 })},
	{"wetness as percent", ruleWeather, first(detections, "images", func(row object) { row["weather"] = object{"rain": 5, "wetness": 45} })},
	{"no visibility", ruleWeather, first(detections, "images", func(row object) { row["weather"] = object{"visibility": 0} })},
	{"rain in words", ruleWeather, first(detections, "images", func(row object) { row["weather"] = object{"rain": "heavy"} })},
	{"the amodal box begins at the right edge", ruleAmodal, each(detections, "annotations", func(row object) {
		b := row["amodal_bbox"].([]any)
		row["amodal_bbox"] = []any{b[0].(float64) + b[2].(float64), b[1], b[2], b[3]}
	})},
	{"boxes without an extent", ruleEvaluation, boxes(func(b []float64) { b[2], b[3] = 0, 0 })},
}

func boxes(change func(b []float64)) func(fstest.MapFS) {
	return each(detections, "annotations", func(row object) {
		box := make([]float64, 4)
		for i, v := range row["bbox"].([]any) {
			box[i] = v.(float64)
		}
		change(box)
		row["bbox"] = box
	})
}

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

// TestPolygons checks masks as polygons, as older frameworks want them.
func TestPolygons(t *testing.T) {
	polygons := each(detections, "annotations", func(row object) {
		b := row["bbox"].([]any)
		x, y, r, l := b[0].(float64), b[1].(float64), b[0].(float64)+b[2].(float64), b[1].(float64)+b[3].(float64)
		row["segmentation"] = []any{[]any{x, y, r, y, r, l, x, l}}
	})
	files := write(t)
	polygons(files)
	assert.Empty(t, judged(t, files).All())
	boxes(func(b []float64) { b[2] += b[0]; b[3] += b[1] })(files)
	assert.Positive(t, judged(t, files).Count(ruleBoxForm))
}

// TestAveragePrecision compares precisions of shifted boxes with those that are computed by hand.
func TestAveragePrecision(t *testing.T) {
	truth := func(x float64) *evaluatedObject {
		return &evaluatedObject{category: 1, box: pixelBox{x, 0, 20, 10}, mask: rectangleRuns(int(x), 20), score: 1}
	}
	shifted := func(x, by, score float64) *evaluatedObject {
		o := truth(x + by)
		o.score = score
		return o
	}
	for _, c := range []struct {
		name string
		by   float64
		hits int // thresholds that a shifted box passes
	}{
		{"not shifted", 0, 10},
		{"by 1 of 20 columns", 1, 9}, // 19/21 = 0.905
		{"by 3 of 20 columns", 3, 5}, // 17/23 = 0.739
		{"by 6 of 20 columns", 6, 1}, // 14/26 = 0.538
		{"by 7 of 20 columns", 7, 0}, // 13/27 = 0.481
		{"by 20 of 20 columns", 20, 0},
	} {
		var pictures []pictureOf
		for range 3 {
			pictures = append(pictures, pictureOf{[]*evaluatedObject{truth(0), truth(50)}, []*evaluatedObject{shifted(0, c.by, 1), shifted(50, c.by, 0.5)}})
		}
		for name, overlap := range map[string]func(a, b *evaluatedObject) float64{"boxes": boxOverlap, "masks": maskOverlap} {
			p := averagePrecision(pictures, overlap)
			assert.InDelta(t, float64(c.hits)/10, p.mean, 1e-9, "%s, %s", c.name, name)
		}
	}
	// Two truths, one found, one wrong with a higher score: precision is 1/2 up to the recall 1/2, which 51 of the 101 recalls reach.
	p := averagePrecision([]pictureOf{{[]*evaluatedObject{truth(0), truth(50)}, []*evaluatedObject{shifted(0, 0, 0.5), shifted(0, 25, 0.9)}}}, boxOverlap)
	assert.InDelta(t, 0.5*51/101, p.mean, 1e-9)
	// What is found in a crowd counts neither way.
	crowd := truth(50)
	crowd.crowd = true
	p = averagePrecision([]pictureOf{{[]*evaluatedObject{truth(0), crowd}, []*evaluatedObject{shifted(0, 0, 0.5), shifted(53, 0, 0.9)}}}, boxOverlap)
	assert.InDelta(t, (8+2*0.5)/10, p.mean, 1e-9, "17 of 20 columns are in the crowd: beyond 0.9 the detection is wrong")
	assert.False(t, math.IsNaN(averagePrecision(nil, boxOverlap).mean))
}

// rectangleRuns are the runs of columns in a picture of 10 rows and 100 columns.
func rectangleRuns(x, columns int) runs { return runs{10 * x, 10 * columns, 1000 - 10*x - 10*columns} }

// TestOutline compares the length of outlines with that of edges between pixels.
func TestOutline(t *testing.T) {
	ids := drawnIDs(0)
	for id := 1; id <= 5; id++ {
		set, edges := make([]bool, testW*testH), 0
		at := func(x, y int) bool { return x >= 0 && y >= 0 && x < testW && y < testH && ids[y][x] == id }
		for y := range testH {
			for x := range testW {
				set[x*testH+y] = at(x, y)
				for _, d := range [][2]int{{1, 0}, {-1, 0}, {0, 1}, {0, -1}} {
					if at(x, y) && !at(x+d[0], y+d[1]) {
						edges++
					}
				}
			}
		}
		length := 0.0
		for _, s := range outline(runsOf(set), testH, "") {
			length += math.Hypot(s.To[0]-s.From[0], s.To[1]-s.From[1])
		}
		assert.Equal(t, float64(edges), length, "mask %d", id)
	}
}

func FuzzDocument(f *testing.F) {
	f.Add([]byte(`{"info":{},"images":[{"id":1,"width":4,"height":4,"file_name":"a.jpg"}],"categories":[{"id":1,"name":"car"}],"annotations":[{"id":1,"image_id":1,"category_id":1,"area":1,"bbox":[0,0,1,1],"iscrowd":0,"segmentation":{"size":[4,4],"counts":"01?"}}]}`))
	f.Add([]byte(`{"annotations":[{"image_id":1,"file_name":"a.png","segments_info":[{"id":1,"category_id":1,"area":1,"bbox":[0,0,1,1],"iscrowd":0}]}],"images":[],"categories":[]}`))
	f.Add([]byte(`{"annotations":[{"segmentation":{"size":[2,2],"counts":[0,1,3]}},{"segmentation":[[1,2,3,4,5,6]]}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		files := fstest.MapFS{"annotations/instances_a.json": {Data: text}}
		results, err := check.Run(context.Background(), files, []check.Format{Format}, nil)
		require.NoError(t, err)
		if s := results[0].Set; s != nil {
			for i := range s.Frames() {
				s.Views(i)
			}
		}
	})
}

func FuzzSegments(f *testing.F) {
	var b bytes.Buffer
	require.NoError(f, png.Encode(&b, image.NewNRGBA(image.Rect(0, 0, 3, 2))))
	f.Add(b.Bytes())
	f.Fuzz(func(t *testing.T, data []byte) {
		config, err := png.DecodeConfig(bytes.NewReader(data))
		if err == nil && config.Width*config.Height > 1<<20 {
			return // image/png's own work
		}
		if s, err := decodeSegments(data); err == nil {
			s.measure()
		}
	})
}
