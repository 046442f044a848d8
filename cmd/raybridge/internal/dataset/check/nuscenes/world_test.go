package nuscenes

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"testing/fstest"

	"github.com/go-gl/mathgl/mgl64"
)

// rows are a table's.
type rows = []map[string]any

// world is a small set in memory: two scenes of five key frames, a lidar, two cameras and a radar that see eight boxes on a plane.
// What it measures is computed from the boxes alone; nothing of the reader is used.
type world struct {
	tables map[string]rows
	files  map[string][]byte
}

// thing is one box of the world.
type thing struct {
	category, attribute string
	at                  mgl64.Vec3 // centre at time 0, global
	yaw                 float64
	size                mgl64.Vec3 // length, width, height
	velocity            mgl64.Vec3
	instance            string
}

var things = []thing{
	{"vehicle.car", "vehicle.moving", mgl64.Vec3{122, 60, 0.75}, 0.1, mgl64.Vec3{4.4, 1.8, 1.5}, mgl64.Vec3{6 * math.Cos(0.1), 6 * math.Sin(0.1), 0}, ""},
	{"vehicle.car", "vehicle.parked", mgl64.Vec3{115, 67, 0.7}, 0.4, mgl64.Vec3{4.1, 1.7, 1.4}, mgl64.Vec3{}, ""},
	{"vehicle.truck", "vehicle.parked", mgl64.Vec3{125, 51, 1.5}, -0.3, mgl64.Vec3{8, 2.5, 3}, mgl64.Vec3{}, ""},
	{"human.pedestrian.adult", "pedestrian.moving", mgl64.Vec3{112, 56, 0.9}, 1.8, mgl64.Vec3{0.6, 0.7, 1.8}, mgl64.Vec3{1.2 * math.Cos(1.8), 1.2 * math.Sin(1.8), 0}, ""},
	{"movable_object.barrier", "", mgl64.Vec3{118, 54, 0.5}, 0.2, mgl64.Vec3{0.5, 2, 1}, mgl64.Vec3{}, ""},
	{"movable_object.trafficcone", "", mgl64.Vec3{111, 62, 0.4}, 0, mgl64.Vec3{0.4, 0.4, 0.8}, mgl64.Vec3{}, ""},
	{"vehicle.car", "vehicle.parked", mgl64.Vec3{90, 64, 0.75}, 3, mgl64.Vec3{4.5, 1.9, 1.5}, mgl64.Vec3{}, ""},
	{"vehicle.bicycle", "cycle.with_rider", mgl64.Vec3{92, 57, 0.8}, 0.2, mgl64.Vec3{1.8, 0.6, 1.6}, mgl64.Vec3{4 * math.Cos(0.2), 4 * math.Sin(0.2), 0}, ""},
}

// Times in microseconds: a scan or picture each 250 ms, every second one a key frame.
const (
	epoch     = 1_700_000_000_000_000
	period    = 250_000
	perScene  = 9
	picWidth  = 160
	picHeight = 90
	picFocal  = 80.0
)

// wxyz are the numbers of a rotation about z.
func wxyz(yaw float64) []float64 { return []float64{math.Cos(yaw / 2), 0, 0, math.Sin(yaw / 2)} }

func rotation(yaw float64) mgl64.Mat3 { return mgl64.Rotate3DZ(yaw) }

// egoAt is the ego's place and yaw after so many seconds.
func egoAt(t float64) (at mgl64.Vec3, yaw float64) {
	return mgl64.Vec3{100 + 5*t, 60 - 0.3*t, 0}, 0.12 + 0.25*t
}

func (t *thing) place(seconds float64) mgl64.Vec3 { return t.at.Add(t.velocity.Mul(seconds)) }

// cast returns the distance to the first thing or the ground, and which it is: -1 ground, -2 nothing.
func cast(from, ray mgl64.Vec3, seconds float64) (distance float64, hit int) {
	distance, hit = math.Inf(1), -2
	if ray[2] < 0 {
		distance, hit = -from[2]/ray[2], -1
	}
	for i := range things {
		if near := things[i].meets(from, ray, seconds); near < distance {
			distance, hit = near, i
		}
	}
	return distance, hit
}

// meets returns how far away a ray meets a thing, whatever else there is: infinity where it doesn't.
func (t *thing) meets(from, ray mgl64.Vec3, seconds float64) float64 {
	back := rotation(-t.yaw)
	o, d := back.Mul3x1(from.Sub(t.place(seconds))), back.Mul3x1(ray)
	near, far := 0.0, math.Inf(1)
	for k := range 3 {
		a, b := (-t.size[k]/2-o[k])/d[k], (t.size[k]/2-o[k])/d[k]
		near, far = max(near, min(a, b)), min(far, max(a, b))
	}
	if near > 0 && near < far {
		return near
	}
	return math.Inf(1)
}

// mount is a sensor's place in the ego: its axes are the columns, in the ego's.
type mount struct {
	channel, modality string
	at                mgl64.Vec3
	axes              mgl64.Mat3
	rotation          []float64
}

var r2 = math.Sqrt(0.5)

var mounts = []mount{
	{"LIDAR_TOP", "lidar", mgl64.Vec3{0.9, 0, 1.8}, mgl64.Mat3FromCols(mgl64.Vec3{0, -1, 0}, mgl64.Vec3{1, 0, 0}, mgl64.Vec3{0, 0, 1}), []float64{r2, 0, 0, -r2}},
	{"CAM_FRONT", "camera", mgl64.Vec3{1.6, 0.1, 1.5}, mgl64.Mat3FromCols(mgl64.Vec3{0, -1, 0}, mgl64.Vec3{0, 0, -1}, mgl64.Vec3{1, 0, 0}), []float64{0.5, -0.5, 0.5, -0.5}},
	{"CAM_BACK", "camera", mgl64.Vec3{-0.5, 0, 1.5}, mgl64.Mat3FromCols(mgl64.Vec3{0, 1, 0}, mgl64.Vec3{0, 0, -1}, mgl64.Vec3{-1, 0, 0}), []float64{0.5, -0.5, -0.5, 0.5}},
	{"RADAR_FRONT", "radar", mgl64.Vec3{3.4, 0, 0.5}, mgl64.Ident3(), []float64{1, 0, 0, 0}},
}

func name(parts ...any) string { return strings.ReplaceAll(fmt.Sprint(parts...), " ", "-") }

// newWorld makes the good set.
var newWorld = sync.OnceValue(func() *world {
	w := &world{map[string]rows{}, map[string][]byte{}}
	for i, n := range []string{"noise", "animal", "human.pedestrian.adult", "human.pedestrian.child", "human.pedestrian.construction_worker", "human.pedestrian.personal_mobility",
		"human.pedestrian.police_officer", "human.pedestrian.stroller", "human.pedestrian.wheelchair", "movable_object.barrier", "movable_object.debris", "movable_object.pushable_pullable",
		"movable_object.trafficcone", "static_object.bicycle_rack", "vehicle.bicycle", "vehicle.bus.bendy", "vehicle.bus.rigid", "vehicle.car", "vehicle.construction",
		"vehicle.emergency.ambulance", "vehicle.emergency.police", "vehicle.motorcycle", "vehicle.trailer", "vehicle.truck", "flat.driveable_surface", "flat.other", "flat.sidewalk",
		"flat.terrain", "static.manmade", "static.other", "static.vegetation", "vehicle.ego"} {
		w.add("category", map[string]any{"token": name("category ", n), "name": n, "description": "", "index": i})
	}
	for _, n := range []string{"vehicle.moving", "vehicle.stopped", "vehicle.parked", "cycle.with_rider", "cycle.without_rider", "pedestrian.moving", "pedestrian.standing", "pedestrian.sitting_lying_down"} {
		w.add("attribute", map[string]any{"token": name("attribute ", n), "name": n, "description": ""})
	}
	for i, level := range []string{"v0-40", "v40-60", "v60-80", "v80-100"} {
		w.add("visibility", map[string]any{"token": fmt.Sprint(i + 1), "level": level, "description": ""})
	}
	w.add("log", map[string]any{"token": "log", "logfile": "test", "vehicle": "ego", "date_captured": "2023-11-14", "location": "nowhere"})
	w.add("map", map[string]any{"token": "map", "log_tokens": []any{"log"}, "category": "semantic_prior", "filename": "maps/map.png"})
	w.files["maps/map.png"] = mapPicture()
	w.addSensors()
	for scene := range 2 {
		w.addScene(scene)
	}
	w.link("sample", func(r map[string]any) string { return fmt.Sprint(r["scene_token"]) })
	w.link("sample_data", func(r map[string]any) string {
		return fmt.Sprint(r["calibrated_sensor_token"])
	})
	w.link("sample_annotation", func(r map[string]any) string { return fmt.Sprint(r["instance_token"]) })
	return w
})

func (w *world) add(table string, row map[string]any) { w.tables[table] = append(w.tables[table], row) }

// mapPicture is 20 pixels a row of 2 m: drivable from y = 45 to 80 m.
func mapPicture() []byte {
	m := image.NewGray(image.Rect(0, 0, 2000, 1200))
	for row := range 1200 {
		if y := float64(1200-row) / 10; y > 45 && y < 80 {
			for column := range 2000 {
				m.SetGray(column, row, color.Gray{Y: 255})
			}
		}
	}
	var b bytes.Buffer
	if err := png.Encode(&b, m); err != nil {
		panic(err)
	}
	return b.Bytes()
}

func (w *world) addSensors() {
	for _, m := range mounts {
		row := map[string]any{"token": name("sensor ", m.channel), "channel": m.channel, "modality": m.modality}
		if m.modality == "lidar" {
			row["rolling"] = false
		}
		w.add("sensor", row)
		for scene := range 2 {
			intrinsic := []any{}
			if m.modality == "camera" {
				intrinsic = []any{[]float64{picFocal, 0, picWidth / 2}, []float64{0, picFocal, picHeight / 2}, []float64{0, 0, 1}}
			}
			w.add("calibrated_sensor", map[string]any{"token": name("mount ", m.channel, scene), "sensor_token": name("sensor ", m.channel), "translation": m.at[:], "rotation": m.rotation,
				"camera_intrinsic": intrinsic})
		}
	}
}

// addScene adds a scene of perScene instants. The second one begins 60 s after the first; its world is the same.
func (w *world) addScene(scene int) {
	first, last := name("sample ", scene, " 0"), name("sample ", scene, " ", perScene/2)
	w.add("scene", map[string]any{"token": name("scene ", scene), "name": fmt.Sprintf("scene-%04d", scene+1), "description": "", "log_token": "log", "nbr_samples": perScene/2 + 1, "first_sample_token": first, "last_sample_token": last})
	for i := range things {
		things[i].instance = name("instance ", scene, " ", i)
		w.add("instance", map[string]any{"token": things[i].instance, "category_token": name("category ", things[i].category), "nbr_annotations": perScene/2 + 1,
			"first_annotation_token": name("box ", scene, " 0 ", i), "last_annotation_token": name("box ", scene, " ", perScene/2, " ", i)})
	}
	for step := range perScene {
		seconds, stamp := float64(step)*period/1e6, int64(epoch+scene*60_000_000+step*period)
		key := step%2 == 0
		sample := name("sample ", scene, " ", (step+1)/2)
		lidar, radar := make([]int, len(things)), make([]int, len(things))
		if key {
			w.add("sample", map[string]any{"token": sample, "timestamp": stamp, "scene_token": name("scene ", scene)})
		}
		for _, m := range mounts {
			w.addData(dataOf{m, scene, step, seconds, stamp, sample, key}, lidar, radar)
		}
		if !key {
			continue
		}
		for i, t := range things {
			attributes := []any{}
			if t.attribute != "" {
				attributes = append(attributes, name("attribute ", t.attribute))
			}
			at := t.place(seconds)
			w.add("sample_annotation", map[string]any{"token": name("box ", scene, " ", step/2, " ", i), "sample_token": sample, "instance_token": t.instance, "attribute_tokens": attributes,
				"visibility_token": "4", "translation": at[:], "size": []float64{t.size[1], t.size[0], t.size[2]}, "rotation": wxyz(t.yaw), "num_lidar_pts": lidar[i], "num_radar_pts": radar[i]})
		}
	}
}

// dataOf is one measurement.
type dataOf struct {
	mount
	scene, step int
	seconds     float64
	stamp       int64
	sample      string
	key         bool
}

// toGlobal returns the sensor's place, and its axes as columns.
func (d *dataOf) toGlobal(seconds float64) (mgl64.Vec3, mgl64.Mat3) {
	at, yaw := egoAt(seconds)
	turn := rotation(yaw)
	return at.Add(turn.Mul3x1(d.at)), turn.Mul3(d.axes)
}

func (w *world) addData(d dataOf, lidar, radar []int) {
	token := name("data ", d.channel, " ", d.scene, " ", d.step)
	folder := map[bool]string{true: "samples", false: "sweeps"}[d.key]
	file := fmt.Sprintf("%s/%s/test__%s__%d", folder, d.channel, d.channel, d.stamp)
	row := map[string]any{"token": token, "sample_token": d.sample, "ego_pose_token": token, "calibrated_sensor_token": name("mount ", d.channel, d.scene), "fileformat": "pcd", "width": 0, "height": 0,
		"timestamp": d.stamp, "is_key_frame": d.key}
	at, yaw := egoAt(d.seconds)
	w.add("ego_pose", map[string]any{"token": token, "timestamp": d.stamp, "translation": at[:], "rotation": wxyz(yaw)})
	switch d.modality {
	case "lidar":
		file += ".pcd.bin"
		points, hits := d.scan()
		w.files[file] = points
		if d.key {
			w.addLabels(token, hits)
			count(lidar, hits)
		}
	case "radar":
		file += ".pcd"
		returns, hits := d.returns()
		w.files[file] = returns
		count(radar, hits)
	case "camera":
		file += ".jpg"
		row["fileformat"], row["width"], row["height"] = "jpg", picWidth, picHeight
		picture, ids := d.picture()
		w.files[file] = picture
		if d.key {
			w.addBoxes(&d, token, ids)
		}
	}
	row["filename"] = file
	w.add("sample_data", row)
}

func count(counts []int, hits []int) {
	for _, hit := range hits {
		if hit >= 0 {
			counts[hit]++
		}
	}
}

// scan casts 24 rings of 360 rays.
func (d *dataOf) scan() (file []byte, hits []int) {
	from, axes := d.toGlobal(d.seconds)
	for ring := range 24 {
		pitch := mgl64.DegToRad(-20 + 0.9*float64(ring))
		for i := range 360 {
			azimuth := mgl64.DegToRad(float64(i) + 0.37)
			ray := mgl64.Vec3{math.Cos(pitch) * math.Cos(azimuth), math.Cos(pitch) * math.Sin(azimuth), math.Sin(pitch)}
			distance, hit := cast(from, axes.Mul3x1(ray), d.seconds)
			if hit < -1 || distance > 60 {
				continue
			}
			for _, v := range []float64{ray[0] * distance, ray[1] * distance, ray[2] * distance, 40, float64(ring)} {
				file = binary.LittleEndian.AppendUint32(file, math.Float32bits(float32(v)))
			}
			hits = append(hits, hit)
		}
	}
	return file, hits
}

var indices = map[string]int{"vehicle.car": 17, "vehicle.truck": 23, "human.pedestrian.adult": 2, "movable_object.barrier": 9, "movable_object.trafficcone": 12, "vehicle.bicycle": 14}

func (w *world) addLabels(token string, hits []int) {
	classes, instances := make([]byte, len(hits)), []byte{}
	for i, hit := range hits {
		classes[i] = 24
		label := 24000
		if hit >= 0 {
			classes[i] = byte(indices[things[hit].category])
			label = 1000*int(classes[i]) + hit + 1
		}
		instances = binary.LittleEndian.AppendUint16(instances, uint16(label))
	}
	w.files["lidarseg/v1.0-test/"+token+"_lidarseg.bin"] = classes
	w.files["panoptic/v1.0-test/"+token+"_panoptic.npz"] = npz(instances)
	w.add("lidarseg", map[string]any{"token": token, "sample_data_token": token, "filename": "lidarseg/v1.0-test/" + token + "_lidarseg.bin"})
	w.add("panoptic", map[string]any{"token": token, "sample_data_token": token, "filename": "panoptic/v1.0-test/" + token + "_panoptic.npz"})
}

// npz is an archive with the uint16 array data, as NumPy writes it.
func npz(array []byte) []byte {
	header := fmt.Sprintf("{'descr': '<u2', 'fortran_order': False, 'shape': (%d,), }", len(array)/2)
	header += strings.Repeat(" ", 63-(len(header)+10)%64) + "\n"
	var b bytes.Buffer
	archive := zip.NewWriter(&b)
	member, err := archive.Create("data.npy")
	if err != nil {
		panic(err)
	}
	_, _ = member.Write([]byte("\x93NUMPY\x01\x00" + string(binary.LittleEndian.AppendUint16(nil, uint16(len(header)))) + header))
	_, _ = member.Write(array)
	if err := archive.Close(); err != nil {
		panic(err)
	}
	return b.Bytes()
}

// returns has the radar's: 61 rays in a plane.
func (d *dataOf) returns() (file []byte, hits []int) {
	from, axes := d.toGlobal(d.seconds)
	var points []byte
	for i := -30; i <= 30; i++ {
		azimuth := mgl64.DegToRad(float64(i) * 1.5)
		ray := mgl64.Vec3{math.Cos(azimuth), math.Sin(azimuth), 0}
		distance, hit := cast(from, axes.Mul3x1(ray), d.seconds)
		if hit < 0 || distance > 80 {
			continue
		}
		hits = append(hits, hit)
		// Radars measure along the ray.
		v := ray.Mul(axes.Transpose().Mul3x1(things[hit].velocity).Dot(ray))
		number := func(v float64) { points = binary.LittleEndian.AppendUint32(points, math.Float32bits(float32(v))) }
		number(ray[0] * distance)
		number(ray[1] * distance)
		number(0)
		dynamic := byte(1)
		if things[hit].velocity.Len() > 0 {
			dynamic = 0
		}
		points = append(points, dynamic, byte(len(hits)), 0)
		number(10)
		number(v[0] - 5)
		number(v[1])
		number(v[0])
		number(v[1])
		points = append(points, 1, 3, 19, 19, 0, 1, 16, 3)
	}
	if len(hits) == 0 {
		points = binary.LittleEndian.AppendUint32(nil, math.Float32bits(float32(math.NaN())))
		points = append(points, make([]byte, 39)...)
		points[36] = 3
	}
	return radarFile(points), hits
}

// radarFile is a .pcd of points.
func radarFile(points []byte) []byte {
	n := len(points) / 43
	return []byte(fmt.Sprintf("# .PCD v0.7 - Point Cloud Data file format\nVERSION 0.7\n"+
		"FIELDS x y z dyn_prop id rcs vx vy vx_comp vy_comp is_quality_valid ambig_state x_rms y_rms invalid_state pdh0 vx_rms vy_rms\n"+
		"SIZE 4 4 4 1 2 4 4 4 4 4 1 1 1 1 1 1 1 1\nTYPE F F F I I F F F F F I I I I I I I I\nCOUNT 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1\n"+
		"WIDTH %d\nHEIGHT 1\nVIEWPOINT 0 0 0 1 0 0 0\nPOINTS %d\nDATA binary\n%s\n", n, n, points))
}

// picture draws what a ray through each pixel's centre hits.
func (d *dataOf) picture() (file []byte, ids []int) {
	from, axes := d.toGlobal(d.seconds)
	m := image.NewRGBA(image.Rect(0, 0, picWidth, picHeight))
	for y := range picHeight {
		for x := range picWidth {
			ray := mgl64.Vec3{(float64(x) + 0.5 - picWidth/2) / picFocal, (float64(y) + 0.5 - picHeight/2) / picFocal, 1}
			_, hit := cast(from, axes.Mul3x1(ray), d.seconds)
			ids = append(ids, hit)
			m.Set(x, y, color.RGBA{uint8(90 + 20*hit), uint8(130 - 30*(hit%4)), uint8(160 + 10*hit), 255})
		}
	}
	var b bytes.Buffer
	if err := jpeg.Encode(&b, m, nil); err != nil {
		panic(err)
	}
	return b.Bytes(), ids
}

// window returns pixels among which are those of a thing, whatever hides it: all, if a part of it is beside the camera.
func (d *dataOf) window(t *thing) (low, high [2]int) {
	from, axes := d.toGlobal(d.seconds)
	low, high = [2]int{picWidth, picHeight}, [2]int{}
	for corner := range 8 {
		half := mgl64.Vec3{float64(corner&1) - 0.5, float64(corner>>1&1) - 0.5, float64(corner>>2) - 0.5}
		p := axes.Transpose().Mul3x1(t.place(d.seconds).Add(rotation(t.yaw).Mul3x1(mgl64.Vec3{half[0] * t.size[0], half[1] * t.size[1], half[2] * t.size[2]})).Sub(from))
		if p[2] < 0.5 {
			return [2]int{}, [2]int{picWidth, picHeight}
		}
		x, y := int(picFocal*p[0]/p[2]+picWidth/2), int(picFocal*p[1]/p[2]+picHeight/2)
		low = [2]int{max(0, min(low[0], x-1)), max(0, min(low[1], y-1))}
		high = [2]int{min(picWidth, max(high[0], x+2)), min(picHeight, max(high[1], y+2))}
	}
	return low, high
}

// addBoxes adds what the devkit's export of 2-D boxes has, and the bounds of the visible pixels.
func (w *world) addBoxes(d *dataOf, token string, ids []int) {
	for i := range things {
		visible := [4]float64{math.Inf(1), math.Inf(1), math.Inf(-1), math.Inf(-1)}
		for k, hit := range ids {
			if x, y := float64(k%picWidth), float64(k/picWidth); hit == i {
				visible = [4]float64{min(visible[0], x), min(visible[1], y), max(visible[2], x+1), max(visible[3], y+1)}
			}
		}
		if visible[2] < 0 {
			continue
		}
		from, axes := d.toGlobal(d.seconds)
		low, high := d.window(&things[i])
		amodal := [4]float64{picWidth, picHeight, 0, 0}
		for y := low[1]; y < high[1]; y++ {
			for x := low[0]; x < high[0]; x++ {
				ray := axes.Mul3x1(mgl64.Vec3{(float64(x) + 0.5 - picWidth/2) / picFocal, (float64(y) + 0.5 - picHeight/2) / picFocal, 1})
				if !math.IsInf(things[i].meets(from, ray, d.seconds), 1) {
					amodal = [4]float64{min(amodal[0], float64(x)), min(amodal[1], float64(y)), max(amodal[2], float64(x+1)), max(amodal[3], float64(y+1))}
				}
			}
		}
		w.add("image_annotations", map[string]any{"token": name("view ", token, " ", i), "sample_data_token": token, "sample_annotation_token": name("box ", d.scene, " ", d.step/2, " ", i),
			"bbox_corners": amodal[:], "bbox_visible": visible[:]})
	}
}

// link sets prev and next of rows with one key, in the table's order.
func (w *world) link(table string, key func(map[string]any) string) {
	last := map[string]map[string]any{}
	for _, row := range w.tables[table] {
		row["prev"], row["next"] = "", ""
		if prev := last[key(row)]; prev != nil {
			row["prev"], prev["next"] = prev["token"], row["token"]
		}
		last[key(row)] = row
	}
}

// clone copies the tables, so that rows can be changed. Files are replaced, never changed.
func (w *world) clone() *world {
	c := &world{map[string]rows{}, maps.Clone(w.files)}
	for table, list := range w.tables {
		for _, row := range list {
			c.tables[table] = append(c.tables[table], maps.Clone(row))
		}
	}
	return c
}

// folder writes the set.
func (w *world) folder() fstest.MapFS {
	files := fstest.MapFS{}
	for table, list := range w.tables {
		text, err := json.Marshal(list)
		if err != nil {
			panic(err)
		}
		files["v1.0-test/"+table+".json"] = &fstest.MapFile{Data: text}
	}
	for name, data := range w.files {
		files[name] = &fstest.MapFile{Data: data}
	}
	return files
}

// row returns the row of a token.
func (w *world) row(table, token string) map[string]any {
	i := slices.IndexFunc(w.tables[table], func(r map[string]any) bool { return r["token"] == token })
	return w.tables[table][i]
}

// each calls change for each row of a table.
func (w *world) each(table string, change func(map[string]any)) {
	for _, row := range w.tables[table] {
		change(row)
	}
}

// shiftPictures gives CAM_FRONT's key frames the pictures, and the bounds in them, that were taken a period before.
func (w *world) shiftPictures() {
	w.tables["image_annotations"] = slices.DeleteFunc(slices.Clone(w.tables["image_annotations"]), func(r map[string]any) bool {
		return strings.Contains(r["sample_data_token"].(string), "CAM_FRONT")
	})
	for scene := range 2 {
		for step := 2; step < perScene; step += 2 {
			d := dataOf{mount: mounts[1], scene: scene, step: step, seconds: float64(step-1) * period / 1e6}
			_, ids := d.picture()
			w.addBoxes(&d, name("data CAM_FRONT ", scene, " ", step), ids)
		}
	}
}
