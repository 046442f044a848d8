package nuscenes_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"image"
	"image/jpeg"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/simtime"
)

const half = math.Sqrt2 / 2

// TestSet looks at one set from all sides.
func TestSet(t *testing.T) {
	t.Parallel()
	dir := record(t, "a", "?")
	for name, check := range map[string]func(t *testing.T, dir string){
		"tables": checkTables, "chains": checkChains, "places": checkPlaces, "annotations": checkAnnotations, "masks": checkMasks,
		"cloud": checkCloud, "categories": checkCategories, "radars": checkRadars, "pictures": checkPictures,
	} {
		t.Run(name, func(t *testing.T) { check(t, dir) })
	}
}

// TestWeatherIsInTheDescription, in words that filters look for; clear weather has none.
func TestWeatherIsInTheDescription(t *testing.T) {
	t.Parallel()
	for id, want := range map[string]string{"wet": "; configured weather: rain 5 mm/h, wetness 0.25, cloud 1", "a": ""} {
		for _, s := range readTable(t, record(t, id, "?"), "scene") {
			_, after, _ := strings.Cut(s.text("description"), " m, y -")
			_, after, _ = strings.Cut(after, " m")
			assert.Equal(t, want, after)
		}
	}
}

// checkTables: all tables have the fields of nuScenes, and each reference leads to a row.
func checkTables(t *testing.T, dir string) {
	rows := map[string]map[string]row{}
	for name, fields := range map[string]string{
		"category": "name description index", "attribute": "name description", "visibility": "level description", "sensor": "channel modality",
		"calibrated_sensor": "sensor_token translation rotation camera_intrinsic", "ego_pose": "timestamp translation rotation",
		"log": "logfile vehicle date_captured location", "map": "log_tokens category filename",
		"scene":  "name description log_token nbr_samples first_sample_token last_sample_token",
		"sample": "timestamp scene_token prev next",
		"sample_data": "sample_token ego_pose_token calibrated_sensor_token filename fileformat width height timestamp is_key_frame " +
			"prev next",
		"instance": "category_token nbr_annotations first_annotation_token last_annotation_token",
		"sample_annotation": "sample_token instance_token attribute_tokens visibility_token translation size rotation num_lidar_pts " +
			"num_radar_pts prev next",
		"lidarseg": "sample_data_token filename",
	} {
		rows[name] = byToken(t, dir, name)
		require.NotEmpty(t, rows[name], name)
		for _, r := range rows[name] {
			for _, field := range append(strings.Fields(fields), "token") {
				require.Contains(t, r, field, name)
			}
		}
	}
	for reference, table := range map[string]string{
		"calibrated_sensor.sensor_token": "sensor", "scene.log_token": "log", "scene.first_sample_token": "sample", "scene.last_sample_token": "sample",
		"sample.scene_token": "scene", "sample.prev": "sample", "sample.next": "sample",
		"sample_data.sample_token": "sample", "sample_data.ego_pose_token": "ego_pose", "sample_data.calibrated_sensor_token": "calibrated_sensor",
		"sample_data.prev": "sample_data", "sample_data.next": "sample_data", "instance.category_token": "category",
		"instance.first_annotation_token": "sample_annotation", "instance.last_annotation_token": "sample_annotation",
		"sample_annotation.sample_token": "sample", "sample_annotation.instance_token": "instance", "sample_annotation.visibility_token": "visibility",
		"sample_annotation.prev": "sample_annotation", "sample_annotation.next": "sample_annotation",
		"lidarseg.sample_data_token": "sample_data", "lidarseg.token": "sample_data",
	} {
		from, field, _ := strings.Cut(reference, ".")
		for _, r := range rows[from] {
			to := r.text(field)
			if to == "" && (field == "prev" || field == "next") {
				continue
			}
			require.Contains(t, rows[table], to, reference)
		}
	}
	files, err := os.ReadDir(filepath.Join(dir, "lidarseg", "v1.0-trainval"))
	require.NoError(t, err)
	assert.Len(t, files, len(rows["lidarseg"]), "as many files as rows")
	assert.Len(t, rows["lidarseg"], 4)
	for _, r := range rows["sample_data"] {
		assert.FileExists(t, filepath.Join(dir, filepath.FromSlash(r.text("filename"))))
		pose := rows["ego_pose"][r.text("ego_pose_token")]
		assert.Equal(t, r["timestamp"], pose["timestamp"])
	}
}

// checkChains follows prev and next: of key frames, of each channel over key frames and sweeps, and of each object. Times rise by the
// sensors' periods, and none leads out of its scene.
func checkChains(t *testing.T, dir string) {
	follow := func(rows map[string]row, first string) (chain []row) {
		before := ""
		for at := first; at != ""; at = rows[at].text("next") {
			require.Equal(t, before, rows[at].text("prev"))
			before = at
			chain = append(chain, rows[at])
		}
		return chain
	}
	times := func(chain []row) (list []int64) {
		for _, r := range chain {
			list = append(list, int64(r.number("timestamp")))
		}
		return list
	}
	samples, data, annotations := byToken(t, dir, "sample"), byToken(t, dir, "sample_data"), byToken(t, dir, "sample_annotation")
	scenes := readTable(t, dir, "scene")
	require.Len(t, scenes, 2)
	for i, scene := range scenes {
		assert.Equal(t, fmt.Sprintf("scene-%04d", i+1), scene.text("name"))
		chain := follow(samples, scene.text("first_sample_token"))
		assert.Equal(t, scene.number("nbr_samples"), float64(len(chain)))
		assert.Equal(t, scene.text("last_sample_token"), chain[len(chain)-1].text("token"))
		first := int64(1_700_000_000_500_000 + i*1_000_000)
		assert.Equal(t, []int64{first, first + 500_000}, times(chain), "microseconds since 1970")
	}
	// The camera fires at 0.1 s and then each 0.1 s, the lidar from 0 on each 0.05 s, up to the last key frame at 2 s.
	calibrations, sensors := byToken(t, dir, "calibrated_sensor"), byToken(t, dir, "sensor")
	lengths := map[string][]int{}
	for _, r := range readTable(t, dir, "sample_data") {
		if r.text("prev") != "" {
			continue
		}
		chain := follow(data, r.text("token"))
		channel := sensors[calibrations[r.text("calibrated_sensor_token")].text("sensor_token")].text("channel")
		lengths[channel] = append(lengths[channel], len(chain))
		stamps := times(chain)
		for i := 1; i < len(stamps); i++ {
			assert.EqualValues(t, map[bool]int64{true: 100_000, false: 50_000}[channel == "CAM_FRONT"], stamps[i]-stamps[i-1], channel)
		}
		for i, d := range chain {
			sample := samples[d.text("sample_token")]
			assert.Equal(t, d["is_key_frame"].(bool), sample["timestamp"] == d["timestamp"])
			assert.GreaterOrEqual(t, sample.number("timestamp"), d.number("timestamp"), "a sweep belongs to the key frame behind it")
			assert.Less(t, sample.number("timestamp")-d.number("timestamp"), 550_000.)
			folder := map[bool]string{true: "samples", false: "sweeps"}[d["is_key_frame"].(bool)]
			assert.True(t, strings.HasPrefix(d.text("filename"), folder+"/"+channel+"/"), d.text("filename"))
			assert.Contains(t, d.text("filename"), fmt.Sprintf("__%s__%d.", channel, stamps[i]))
		}
	}
	assert.Equal(t, map[string][]int{"CAM_FRONT": {11, 10}, "LIDAR_TOP": {21, 20}, "RADAR_FRONT": {21, 20}, "RADAR_BACK_LEFT": {21, 20}}, lengths)
	instances := readTable(t, dir, "instance")
	assert.Len(t, instances, 2*5, "five objects in each of the scenes")
	for _, instance := range instances {
		chain := follow(annotations, instance.text("first_annotation_token"))
		assert.Equal(t, instance.number("nbr_annotations"), float64(len(chain)))
		assert.Equal(t, instance.text("last_annotation_token"), chain[len(chain)-1].text("token"))
		scene := ""
		for _, a := range chain {
			of := samples[a.text("sample_token")].text("scene_token")
			assert.True(t, scene == "" || scene == of, "no instance is in two scenes")
			scene = of
		}
	}
	assert.Len(t, annotations, 4*5)
}

// checkPlaces works the poses of the first key frame out by hand. The ego is at (-123.25, 2005); all is moved by (200, -1900), so that
// the least x and y, -130 and 2000, are in the first 100 m and 10 m from the edge.
func checkPlaces(t *testing.T, dir string) {
	scenes := readTable(t, dir, "scene")
	assert.Contains(t, scenes[0].text("description"), "x +200 m, y -1900 m")
	assert.Contains(t, scenes[1].text("description"), "x +200 m, y -2000 m")
	first := scenes[0].text("first_sample_token")
	poses := byToken(t, dir, "ego_pose")
	for _, d := range where(t, dir, "sample_data", "sample_token", first) {
		if d["is_key_frame"].(bool) {
			pose := poses[d.text("ego_pose_token")]
			assert.InDeltaSlice(t, []float64{76.75, 105, 0}, pose.numbers("translation"), 1e-9)
			assert.InDeltaSlice(t, []float64{half, 0, 0, half}, pose.numbers("rotation"), 1e-9, "w first")
		}
	}
	for _, table := range []string{"ego_pose", "sample_annotation"} {
		for _, r := range readTable(t, dir, table) {
			at := r.numbers("translation")
			assert.True(t, at[0] >= 0 && at[1] >= 0, "%s %v", table, at)
		}
	}
	channels := map[string]string{}
	for _, s := range readTable(t, dir, "sensor") {
		channels[s.text("token")] = s.text("channel")
	}
	sin, cos := math.Sincos(175 * math.Pi / 360)
	want := map[string][2][]float64{
		"CAM_FRONT": {{1.5, 0, 1.6}, {0.5, -0.5, 0.5, -0.5}}, "LIDAR_TOP": {{0.94, 0, 1.84}, {half, 0, 0, -half}},
		"RADAR_FRONT": {{3.4, 0, 0.5}, {1, 0, 0, 0}}, "RADAR_BACK_LEFT": {{-0.56, 0.63, 0.53}, {cos, 0, 0, sin}},
	}
	calibrations := readTable(t, dir, "calibrated_sensor")
	assert.Len(t, calibrations, 2*len(want))
	for _, c := range calibrations {
		channel := channels[c.text("sensor_token")]
		assert.InDeltaSlice(t, want[channel][0], c.numbers("translation"), 1e-9, channel)
		assert.InDeltaSlice(t, want[channel][1], c.numbers("rotation"), 1e-9, channel)
		intrinsic := []any{}
		if channel == "CAM_FRONT" {
			intrinsic = []any{[]any{100., 0., 100.}, []any{0., 100., 50.}, []any{0., 0., 1.}}
		}
		assert.Equal(t, intrinsic, c["camera_intrinsic"])
	}
}

// checkAnnotations works the boxes of the first key frame out by hand.
func checkAnnotations(t *testing.T, dir string) {
	first := readTable(t, dir, "scene")[0].text("first_sample_token")
	instances, categories, attributes := byToken(t, dir, "instance"), byToken(t, dir, "category"), byToken(t, dir, "attribute")
	found := map[string]row{}
	for _, a := range where(t, dir, "sample_annotation", "sample_token", first) {
		found[categories[instances[a.text("instance_token")].text("category_token")].text("name")] = a
	}
	for category, want := range map[string]struct {
		attribute, visibility string
		visible               float64
	}{
		"vehicle.car": {"vehicle.moving", "4", 0.875}, "human.pedestrian.adult": {"pedestrian.standing", "3", 0.75},
		"vehicle.bicycle": {"cycle.with_rider", "2", 0.5}, "vehicle.truck": {"vehicle.stopped", "1", 0.25},
		"movable_object.trafficcone": {"", "1", 0},
	} {
		a := found[category]
		require.NotNil(t, a, category)
		given := a["attribute_tokens"].([]any)
		if want.attribute == "" {
			assert.Empty(t, given)
		} else if assert.Len(t, given, 1) {
			assert.Equal(t, want.attribute, attributes[given[0].(string)].text("name"))
		}
		assert.Equal(t, want.visibility, a.text("visibility_token"), category)
		assert.InDelta(t, want.visible, a.number("visible"), 1e-6, category)
		assert.InDeltaSlice(t, []float64{half, 0, 0, half}, a.numbers("rotation"), 1e-9)
	}
	assert.Len(t, found, 5, "a bench and a tram have no category, and one car is too far away")
	car := found["vehicle.car"]
	assert.InDeltaSlice(t, []float64{80, 123, 0.75}, car.numbers("translation"), 1e-9, "the box's centre")
	assert.InDeltaSlice(t, []float64{1.8, 4.5, 1.5}, car.numbers("size"), 1e-9, "width, length, height")
	assert.EqualValues(t, 2, car["num_lidar_pts"])
	assert.EqualValues(t, 1, car["num_radar_pts"])
	assert.EqualValues(t, 1, found["vehicle.bicycle"]["num_lidar_pts"])

	// The camera is at (-123.25, 2006.5, 1.6): the car's corners are 14.25 and 18.75 m ahead, 2.35 and 4.15 m to the right, 0.1 and
	// 1.6 m below.
	views := where(t, dir, "image_annotations", "sample_annotation_token", car.text("token"))
	require.Len(t, views, 1)
	assert.InDeltaSlice(t, []float64{100 + 235/18.75, 50 + 10/18.75, 100 + 415/14.25, 50 + 160/14.25}, views[0].numbers("bbox_corners"), 1e-6)
	assert.InDeltaSlice(t, []float64{115, 53, 125, 59}, views[0].numbers("bbox_visible"), 1e-9)
	assert.EqualValues(t, 50, views[0]["pixels"])

	levels := map[string]string{}
	for _, l := range readTable(t, dir, "visibility") {
		levels[l.text("token")] = l.text("level")
	}
	assert.Equal(t, map[string]string{"1": "v0-40", "2": "v40-60", "3": "v60-80", "4": "v80-100"}, levels)
}

// checkMasks: each log has a picture of its ground, 10 pixels a metre, whose last row is at y = 0.
func checkMasks(t *testing.T, dir string) {
	logs, listed := byToken(t, dir, "log"), map[string]image.Image{}
	require.Len(t, logs, 2)
	for _, m := range readTable(t, dir, "map") {
		assert.Equal(t, "semantic_prior", m.text("category"))
		file, err := os.Open(filepath.Join(dir, filepath.FromSlash(m.text("filename"))))
		require.NoError(t, err)
		mask, err := png.Decode(file)
		require.NoError(t, err)
		require.NoError(t, file.Close())
		require.IsType(t, &image.Gray{}, mask)
		for _, log := range m["log_tokens"].([]any) {
			require.Contains(t, logs, log)
			listed[log.(string)] = mask
		}
	}
	assert.Len(t, listed, len(logs), "a log that no map lists doesn't load")
	for _, log := range logs {
		assert.Equal(t, "2023-11-14", log.text("date_captured"))
		assert.Equal(t, "van", log.text("vehicle"))
		assert.Equal(t, "street", log.text("location"))
	}
	mask := listed[readTable(t, dir, "scene")[0].text("log_token")].(*image.Gray)
	at := func(x, y float64) uint8 { return mask.GrayAt(int(10*x), mask.Bounds().Dy()-1-int(10*y)).Y }
	assert.EqualValues(t, 255, at(76.75, 105), "the ego's place")
	assert.EqualValues(t, 255, at(77.75, 110.94), "5.94 m ahead of it and 1 m to the right, where the lidar sees a road")
	assert.EqualValues(t, 255, at(76.75, 108.94), "a sidewalk")
	assert.EqualValues(t, 0, at(56.75, 105.94), "a building")
	assert.EqualValues(t, 0, at(77.75, 10))
	pixels := map[uint8]int{}
	for _, v := range mask.Pix {
		pixels[v]++
	}
	assert.Len(t, pixels, 2)
	// Cells of 0.5 m, 7 x 7 around the ego at 2005 and at 2010, of which the rows from 2003.5 to 2012 are seen; the road's
	// 3 x 3 cells reach to 2011.5 and 2016.5, the sidewalks' to 2009.5 and 2014.5.
	assert.Equal(t, 25*cellsByHand(), pixels[255])
}

// cellsByHand counts the cells of the first scene's mask with floating-point arithmetic of its own.
func cellsByHand() int {
	cells := map[[2]int]bool{}
	mark := func(x, y float64, around int) {
		for i := -around; i <= around; i++ {
			for k := -around; k <= around; k++ {
				cells[[2]int{int(math.Floor(2*x)) + i, int(math.Floor(2*y)) + k}] = true
			}
		}
	}
	for _, y := range []float64{2005, 2010} {
		mark(-123.25, y, 3)
		mark(-122.25, y+5.94, 1)
		mark(-123.25, y+3.94, 1)
	}
	return len(cells)
}

// file reads the data file of a channel in the first key frame, and returns its row's token.
func file(t *testing.T, dir, channel string) (data []byte, token string) {
	t.Helper()
	first := readTable(t, dir, "scene")[0].text("first_sample_token")
	for _, d := range where(t, dir, "sample_data", "sample_token", first) {
		if d["is_key_frame"].(bool) && strings.Contains(d.text("filename"), "/"+channel+"/") {
			data, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(d.text("filename"))))
			require.NoError(t, err)
			return data, d.text("token")
		}
	}
	require.Fail(t, "no file", channel)
	return nil, ""
}

func float(data []byte) float64 {
	return float64(math.Float32frombits(binary.LittleEndian.Uint32(data)))
}

// checkCloud: points are (right, ahead, up), with intensities up to 255 and the ring, and a label each.
func checkCloud(t *testing.T, dir string) {
	data, token := file(t, dir, "LIDAR_TOP")
	require.Len(t, data, 20*len(points))
	for i, want := range [][5]float64{{-2, 4, -1, 127.5, 7}, {1, 5, -1.84, 255, 1}, {-1, 9, 0, 0, 2}} {
		for k, v := range want {
			assert.InDelta(t, v, float(data[20*i+4*k:]), 1e-6)
		}
	}
	labels, err := os.ReadFile(filepath.Join(dir, "lidarseg", "v1.0-trainval", token+"_lidarseg.bin"))
	require.NoError(t, err)
	// car, driveable_surface, bicycle, manmade, vegetation, other, sidewalk, car
	assert.Equal(t, []byte{17, 24, 14, 28, 30, 29, 26, 17}, labels)
}

// checkCategories: the numbers are those of the released table, not those of the devkit's instructions.
func checkCategories(t *testing.T, dir string) {
	rows := readTable(t, dir, "category")
	names := make([]string, 32)
	for _, r := range rows {
		names[int(r.number("index"))] = r.text("name")
	}
	const movable, walks, drives = "movable_object.", "human.pedestrian.", "vehicle."
	assert.Equal(t, []string{
		"noise", "animal", walks + "adult", walks + "child", walks + "construction_worker", walks + "personal_mobility", walks + "police_officer",
		walks + "stroller", walks + "wheelchair", movable + "barrier", movable + "debris", movable + "pushable_pullable", movable + "trafficcone",
		"static_object.bicycle_rack", drives + "bicycle", drives + "bus.bendy", drives + "bus.rigid", drives + "car", drives + "construction",
		drives + "emergency.ambulance", drives + "emergency.police", drives + "motorcycle", drives + "trailer", drives + "truck",
		"flat.driveable_surface", "flat.other", "flat.sidewalk", "flat.terrain", "static.manmade", "static.other", "static.vegetation", "vehicle.ego",
	}, names)
	assert.Len(t, rows, 32)
}

// radarReturn is one of a radar's file.
type radarReturn struct {
	x, y, z, vx, vy, vxComp, vyComp float64
	motion                          int8
	id                              int16
	valid, ambiguity, invalid, pdh0 int8
}

// readRadar reads a radar's file by the offsets that the header's fields and sizes add up to: 43 bytes a return.
func readRadar(t *testing.T, data []byte) (returns []radarReturn) {
	t.Helper()
	header, body, ok := bytes.Cut(data, []byte("DATA binary\n"))
	require.True(t, ok)
	lines := strings.Split(string(header), "\n")
	require.Len(t, lines, 11, "ten lines before DATA, and what is behind the last one's end")
	for i, key := range []string{"#", "VERSION", "FIELDS", "SIZE", "TYPE", "COUNT", "WIDTH", "HEIGHT", "VIEWPOINT", "POINTS"} {
		require.Equal(t, key, strings.Fields(lines[i])[0])
	}
	size := 0
	for _, s := range strings.Fields(lines[3])[1:] {
		n, err := strconv.Atoi(s)
		require.NoError(t, err)
		size += n
	}
	require.Equal(t, 43, size)
	assert.Equal(t, "HEIGHT 1", lines[7])
	width, err := strconv.Atoi(strings.Fields(lines[6])[1])
	require.NoError(t, err)
	assert.Equal(t, fmt.Sprint("POINTS ", width), lines[9])
	require.Len(t, body, 43*width+1, "the devkit's reader wants a byte behind the last return")
	for i := range width {
		b := body[43*i:]
		returns = append(returns, radarReturn{
			x: float(b), y: float(b[4:]), z: float(b[8:]), motion: int8(b[12]), id: int16(binary.LittleEndian.Uint16(b[13:])),
			vx: float(b[19:]), vy: float(b[23:]), vxComp: float(b[27:]), vyComp: float(b[31:]),
			valid: int8(b[35]), ambiguity: int8(b[36]), invalid: int8(b[39]), pdh0: int8(b[40]),
		})
	}
	return returns
}

// checkRadars: what stands has no velocity once the ego's motion is taken out, and the states are those that readers keep.
func checkRadars(t *testing.T, dir string) {
	data, _ := file(t, dir, "RADAR_FRONT")
	returns := readRadar(t, data)
	require.Len(t, returns, 2)
	stands, drives := returns[0], returns[1]
	assert.Equal(t, radarReturn{x: 30, vx: -10, motion: 1, valid: 1, ambiguity: 3, pdh0: 1}, stands)
	// 60 degrees to the left; the ego's 10 m/s are 5 along the ray, so that 3 m/s over ground remain.
	sin := math.Sqrt(3) / 2
	for i, pair := range [][2]float64{
		{10, drives.x}, {20 * sin, drives.y}, {0, drives.z}, {-1, drives.vx}, {-2 * sin, drives.vy}, {1.5, drives.vxComp}, {3 * sin, drives.vyComp},
	} {
		assert.InDelta(t, pair[0], pair[1], 1e-5, i)
	}
	assert.Zero(t, drives.motion)
	assert.Zero(t, drives.invalid)
	assert.EqualValues(t, 3, drives.ambiguity)

	data, _ = file(t, dir, "RADAR_BACK_LEFT")
	none := readRadar(t, data)
	require.Len(t, none, 1, "a file of no returns can't be read")
	assert.True(t, math.IsNaN(none[0].x))
}

// checkPictures: a picture's rows say its size, and its colours are in their places.
func checkPictures(t *testing.T, dir string) {
	data, token := file(t, dir, "CAM_FRONT")
	picture, err := jpeg.Decode(bytes.NewReader(data))
	require.NoError(t, err)
	assert.Equal(t, image.Rect(0, 0, 200, 100), picture.Bounds())
	red, green, blue, _ := picture.At(100, 50).RGBA()
	assert.True(t, red > 0xf000 && green < 0x1000 && blue < 0x1000)
	r := byToken(t, dir, "sample_data")[token]
	assert.Equal(t, []any{200., 100., "jpg"}, []any{r["width"], r["height"], r["fileformat"]})
	for _, r := range readTable(t, dir, "sample_data") {
		if r.text("fileformat") == "pcd" {
			assert.Equal(t, []any{0., 0.}, []any{r["width"], r["height"]})
		}
	}
}

// TestTimesOfTheClock: a run whose time is that of day is written as it is.
func TestTimesOfTheClock(t *testing.T) {
	t.Parallel()
	d := begin(t, "a", "")
	require.NoError(t, d.bridge.Connect(t.Context()))
	require.NoError(t, d.runAt(simtime.Stamp(1_600_000_000*time.Second), 0, 600*time.Millisecond))
	require.NoError(t, d.bridge.Close(t.Context()))
	first := readTable(t, d.dir, "sample")[0]
	assert.Zero(t, (int64(first.number("timestamp"))-1_600_000_000_000_000)%500_000)
	assert.Equal(t, "2020-09-13", readTable(t, d.dir, "log")[0].text("date_captured"))
}

// TestTokens: equal runs write equal bytes, and runs of different ids have no rows in common but those that describe nuScenes.
func TestTokens(t *testing.T) {
	t.Parallel()
	a, again, b := record(t, "a", "?"), record(t, "a", "?"), record(t, "b", "?")
	assert.Equal(t, filesOf(t, a), filesOf(t, again))
	for _, table := range []string{
		"calibrated_sensor", "ego_pose", "instance", "lidarseg", "log", "map", "sample", "sample_annotation", "sample_data", "scene", "image_annotations",
	} {
		other := byToken(t, b, table)
		for token := range byToken(t, a, table) {
			assert.NotContains(t, other, token, table)
			assert.Regexp(t, "^[0-9a-f]{32}$", token)
		}
	}
	for _, table := range []string{"category", "attribute", "visibility", "sensor"} {
		assert.Equal(t, byToken(t, a, table), byToken(t, b, table))
	}
}

// filesOf reads all files of a set.
func filesOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	require.NoError(t, filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		files[path[len(dir):]] = string(data)
		return err
	}))
	return files
}

// TestMapOfCategories: the rules of map=FILE give categories and attributes, or leave actors out. Labels of points follow them, and
// so do those of actors that an option leaves out.
func TestMapOfCategories(t *testing.T) {
	t.Parallel()
	rules := filepath.Join(t.TempDir(), "map.yaml")
	require.NoError(t, os.WriteFile(rules, []byte(`categories:
  - {type: "walker.*", category: human.pedestrian.child, attribute: pedestrian.sitting_lying_down}
  - {type: static.prop.bench, category: movable_object.debris}
  - {type: vehicle.sedan, category: vehicle.emergency.police}
  - {type: vehicle.truck}
`), 0o666))
	dir := record(t, "a", "?min_pixels=60&map="+rules)
	assert.Empty(t, readTable(t, dir, "sample_annotation"), "no picture shows one with as many pixels")
	_, token := file(t, dir, "LIDAR_TOP")
	labels, err := os.ReadFile(filepath.Join(dir, "lidarseg", "v1.0-trainval", token+"_lidarseg.bin"))
	require.NoError(t, err)
	assert.Equal(t, []byte{20, 24, 14, 28, 30, 10, 26, 20}, labels)

	dir = record(t, "a", "?map="+rules)
	categories, attributes := byToken(t, dir, "category"), byToken(t, dir, "attribute")
	found := map[string]bool{}
	for _, i := range readTable(t, dir, "instance") {
		name := categories[i.text("category_token")].text("name")
		found[name] = true
		a := where(t, dir, "sample_annotation", "instance_token", i.text("token"))[0]
		if name == "human.pedestrian.child" {
			assert.Equal(t, "pedestrian.sitting_lying_down", attributes[a["attribute_tokens"].([]any)[0].(string)].text("name"))
		}
	}
	assert.Equal(t, map[string]bool{
		"human.pedestrian.child": true, "movable_object.debris": true, "vehicle.emergency.police": true, "vehicle.bicycle": true, "movable_object.trafficcone": true,
	}, found)
}
