package nuscenes

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/cmd/raybridge/internal/dataset/check"
)

func judge(t *testing.T, w *world) *check.Result {
	t.Helper()
	results, err := check.Run(t.Context(), w.folder(), []check.Format{Format}, nil)
	require.NoError(t, err)
	require.Len(t, results, 1)
	return results[0]
}

func rotated(q []float64, by mgl64.Quat) []float64 {
	r := mgl64.Quat{W: q[0], V: mgl64.Vec3{q[1], q[2], q[3]}}.Mul(by)
	return []float64{r.W, r.V[0], r.V[1], r.V[2]}
}

// lidarFiles changes the numbers of each lidar point.
func (w *world) lidarFiles(change func(v []float32)) {
	for name, file := range w.files {
		if !strings.HasSuffix(name, ".pcd.bin") {
			continue
		}
		file = bytes.Clone(file)
		for at := 0; at < len(file); at += 20 {
			v := make([]float32, 5)
			for i := range v {
				v[i] = math.Float32frombits(binary.LittleEndian.Uint32(file[at+4*i:]))
			}
			change(v)
			for i := range v {
				binary.LittleEndian.PutUint32(file[at+4*i:], math.Float32bits(v[i]))
			}
		}
		w.files[name] = file
	}
}

// radarFiles changes the bytes of each radar point.
func (w *world) radarFiles(change func(point []byte)) {
	for name, file := range w.files {
		if strings.HasSuffix(name, ".pcd") {
			file = bytes.Clone(file)
			begin := bytes.Index(file, []byte("DATA binary\n")) + len("DATA binary\n")
			for at := begin; at+43 <= len(file); at += 43 {
				change(file[at : at+43])
			}
			w.files[name] = file
		}
	}
}

// edit replaces a file's bytes.
func (w *world) edit(file string, change func([]byte) []byte) {
	if w.files[file] == nil {
		panic("no file " + file)
	}
	w.files[file] = change(bytes.Clone(w.files[file]))
}

func (w *world) fileOf(token string) string { return w.row("sample_data", token)["filename"].(string) }

func put(field string, value any) func(map[string]any) {
	return func(r map[string]any) { r[field] = value }
}

// faults are mistakes that a writer may make. found lists all rules that tell of one, the one that names it first: the others follow from it.
var faults = []struct {
	name  string
	found []string
	make  func(w *world)
}{
	// What the devkit refuses.
	{"a table is missing", []string{ruleTable}, func(w *world) { delete(w.tables, "attribute") }},
	{"the table of maps is empty", []string{ruleMap}, func(w *world) { w.tables["map"] = rows{} }},
	{"a map without log_tokens", []string{ruleField, ruleMap}, func(w *world) { delete(w.tables["map"][0], "log_tokens") }},
	{"the map's picture is missing", []string{ruleFile}, func(w *world) { delete(w.files, "maps/map.png") }},
	{"a log that no map lists", []string{ruleMap}, func(w *world) {
		more := maps.Clone(w.tables["log"][0])
		more["token"] = "log2"
		w.add("log", more)
	}},
	{"a box of an unknown instance", []string{ruleKey, ruleChain, ruleCount}, func(w *world) { w.row("sample_annotation", "box-0-1-2")["instance_token"] = "who" }},
	{"an instance of an unknown category", []string{ruleKey}, func(w *world) { w.tables["instance"][3]["category_token"] = "who" }},
	{"a picture of an unknown calibrated_sensor", []string{ruleKey, ruleChain, ruleChannel}, func(w *world) { w.row("sample_data", "data-CAM_BACK-0-2")["calibrated_sensor_token"] = "who" }},
	{"a calibrated_sensor of an unknown sensor", []string{ruleKey}, func(w *world) { w.row("calibrated_sensor", "mount-CAM_BACK0")["sensor_token"] = "who" }},
	{"a calibrated_sensor without a sensor", []string{ruleField}, func(w *world) { delete(w.row("calibrated_sensor", "mount-CAM_BACK0"), "sensor_token") }},
	{"a key frame of an unknown sample", []string{ruleKey, ruleChain, ruleChannel}, func(w *world) { w.row("sample_data", "data-CAM_BACK-0-2")["sample_token"] = "who" }},
	{"a category without an index", []string{ruleCategory}, func(w *world) { delete(w.tables["category"][1], "index") }},
	{"a category that nobody knows", []string{ruleCategory}, func(w *world) { w.tables["category"][1]["name"] = "vehicle.tram" }},
	{"the categories' numbers are those of the instructions", []string{ruleCategory}, func(w *world) {
		for name, index := range map[string]int{"flat.sidewalk": 25, "flat.terrain": 26, "flat.other": 27, "static.vegetation": 29, "static.other": 30} {
			w.row("category", "category-"+name)["index"] = index
		}
	}},
	{"a file of labels too many", []string{ruleLabels}, func(w *world) { w.files["lidarseg/v1.0-test/more_lidarseg.bin"] = []byte{0} }},
	{"a cloud is cut within a point", []string{ruleLidar}, func(w *world) { w.edit(w.fileOf("data-LIDAR_TOP-0-1"), func(b []byte) []byte { return b[:len(b)-3] }) }},
	{"labels for other points", []string{ruleLidarseg}, func(w *world) {
		w.edit("lidarseg/v1.0-test/data-LIDAR_TOP-1-4_lidarseg.bin", func(b []byte) []byte { return b[1:] })
	}},
	{"two attributes", []string{ruleAttribute}, func(w *world) {
		w.tables["sample_annotation"][0]["attribute_tokens"] = []string{"attribute-vehicle.moving", "attribute-vehicle.parked"}
	}},
	{"a pedestrian that is parked", []string{ruleAttribute}, func(w *world) {
		w.row("sample_annotation", "box-0-0-3")["attribute_tokens"] = []string{"attribute-vehicle.parked"}
	}},
	{"a sample without LIDAR_TOP", []string{ruleChannel, ruleLidarTop, ruleLabelToken}, func(w *world) { w.row("sample_data", "data-LIDAR_TOP-0-4")["is_key_frame"] = false }},

	// What the devkit doesn't notice.
	{"an unknown ego_pose", []string{ruleKey}, func(w *world) { w.row("sample_data", "data-CAM_BACK-0-1")["ego_pose_token"] = "who" }},
	{"a prev is broken", []string{ruleChain}, func(w *world) { w.row("sample", "sample-0-2")["prev"] = "" }},
	{"a next leads to nothing", []string{ruleKey, ruleChain}, func(w *world) { w.row("sample_data", "data-CAM_FRONT-1-3")["next"] = "who" }},
	{"a next of an instance leads to another", []string{ruleChain}, func(w *world) { w.row("sample_annotation", "box-1-1-2")["next"] = "box-1-2-3" }},
	{"two chains for one channel", []string{ruleChain}, func(w *world) {
		w.row("sample_data", "data-CAM_FRONT-1-3")["next"], w.row("sample_data", "data-CAM_FRONT-1-4")["prev"] = "", ""
	}},
	{"equal tokens", []string{ruleToken}, func(w *world) { w.add("attribute", maps.Clone(w.tables["attribute"][0])) }},
	{"a picture is missing", []string{ruleFile}, func(w *world) { delete(w.files, w.fileOf("data-CAM_FRONT-0-4")) }},
	{"a sweep's cloud is missing", []string{ruleFile}, func(w *world) { delete(w.files, w.fileOf("data-LIDAR_TOP-0-3")) }},
	{"a file outside of the set", []string{ruleFile}, func(w *world) { w.row("sample_data", "data-CAM_FRONT-0-3")["filename"] = "../sweep.jpg" }},

	// Records.
	{"NaN in JSON", []string{ruleNumber}, func(w *world) { w.files["v1.0-test/ego_pose.json"] = nanFor(w, "ego_pose") }},
	{"a table is cut", []string{ruleJSON}, func(w *world) { w.files["v1.0-test/log.json"] = []byte(`[{"token": "log"`) }},
	{"a number as a string", []string{ruleField}, func(w *world) { w.row("sample_annotation", "box-0-1-2")["num_radar_pts"] = "0" }},
	{"a rotation that isn't of length 1", []string{ruleQuaternion}, func(w *world) { w.row("ego_pose", "data-LIDAR_TOP-0-2")["rotation"] = []float64{2, 0, 0, 0.38} }},
	{"rotations of boxes are x, y, z, w", []string{ruleQuaternionOrder}, func(w *world) { w.each("sample_annotation", inWrongOrder) }},
	{"rotations of the ego are x, y, z, w", []string{ruleQuaternionOrder}, func(w *world) {
		w.each("ego_pose", func(r map[string]any) { r["rotation"] = wxyz(2) })
		w.each("ego_pose", inWrongOrder)
	}},
	{"rotations of sensors are x, y, z, w", []string{ruleQuaternionOrder}, func(w *world) { w.each("calibrated_sensor", inWrongOrder) }},
	{"times in nanoseconds", []string{ruleTime}, func(w *world) {
		for _, table := range []string{"sample", "sample_data", "ego_pose"} {
			w.each(table, func(r map[string]any) { r["timestamp"] = r["timestamp"].(int64) * 1000 })
		}
	}},
	{"times in nanoseconds from 0", []string{ruleTime}, func(w *world) {
		for _, table := range []string{"sample", "sample_data", "ego_pose"} {
			w.each(table, func(r map[string]any) { r["timestamp"] = (r["timestamp"].(int64) - epoch) * 1000 })
		}
	}},
	{"times in milliseconds", []string{ruleTime}, func(w *world) {
		for _, table := range []string{"sample", "sample_data", "ego_pose"} {
			w.each(table, func(r map[string]any) { r["timestamp"] = r["timestamp"].(int64) / 1000 })
		}
	}},
	{"visibility by another literal", []string{ruleVisibility}, func(w *world) {
		w.tables["visibility"][3]["token"] = "v80-100"
		w.each("sample_annotation", put("visibility_token", "v80-100"))
	}},
	{"a date in another form", []string{ruleDate}, func(w *world) { w.tables["log"][0]["date_captured"] = "14.11.2023" }},
	{"a size of zero", []string{ruleSize}, func(w *world) { w.row("sample_annotation", "box-0-0-3")["size"] = []float64{0, 0, 0} }},
	{"a camera without a matrix", []string{ruleIntrinsic}, func(w *world) { w.row("calibrated_sensor", "mount-CAM_BACK0")["camera_intrinsic"] = []any{} }},
	{"a radar is a camera", []string{ruleModality, ruleIntrinsic, ruleFileFormat, rulePicture, ruleCameraAxes}, func(w *world) { w.row("sensor", "sensor-RADAR_FRONT")["modality"] = "camera" }},
	{"a lidar's files end in .pcd", []string{ruleFileFormat}, func(w *world) {
		r := w.row("sample_data", "data-LIDAR_TOP-0-1")
		w.files["sweeps/a.pcd"] = w.files[r["filename"].(string)]
		r["filename"] = "sweeps/a.pcd"
	}},

	// References.
	{"nbr_samples is wrong", []string{ruleCount}, func(w *world) { w.tables["scene"][0]["nbr_samples"] = 4 }},
	{"the first annotation is another", []string{ruleCount}, func(w *world) { w.tables["instance"][0]["first_annotation_token"] = "box-0-1-0" }},
	{"times fall", []string{ruleOrder, rulePoseTime, ruleSweep}, func(w *world) { w.row("sample_data", "data-CAM_BACK-0-5")["timestamp"] = epoch + 2*period }},
	{"an ego_pose of another time", []string{rulePoseTime}, func(w *world) { w.row("ego_pose", "data-CAM_BACK-0-5")["timestamp"] = epoch }},
	{"a sweep belongs to the sample before it", []string{ruleSweep}, func(w *world) { w.row("sample_data", "data-CAM_BACK-0-5")["sample_token"] = "sample-0-2" }},
	{"a key frame of the next instant", []string{ruleKeyTime}, func(w *world) {
		w.row("sample_data", "data-CAM_BACK-0-5")["is_key_frame"] = true
		w.row("sample_data", "data-CAM_BACK-0-5")["sample_token"] = "sample-0-2"
		w.row("sample_data", "data-CAM_BACK-0-4")["is_key_frame"] = false
	}},
	{"an instance in two scenes", []string{ruleScene, ruleChain, ruleCount}, func(w *world) { w.row("sample_annotation", "box-1-0-1")["instance_token"] = "instance-0-1" }},
	{"an instance twice in a sample", []string{ruleScene, ruleOrder, ruleLidarPoints, ruleRadarPoints}, func(w *world) { w.row("sample_annotation", "box-0-2-1")["sample_token"] = "sample-0-3" }},
	{"labels without their sample_data's token", []string{ruleLabelToken}, func(w *world) { w.tables["lidarseg"][0]["token"] = "who" }},
	{"a split of unknown scenes", []string{ruleSplits}, func(w *world) { w.files["v1.0-test/splits.json"] = []byte(`{"train": ["scene-0001", "scene-0009"]}`) }},
	{"a scene in two splits", []string{ruleSplits}, func(w *world) {
		w.files["v1.0-test/splits.json"] = []byte(`{"train": ["scene-0001"], "val": ["scene-0001"]}`)
	}},
	{"key frames two seconds apart", []string{ruleKeyRate}, func(w *world) {
		for _, table := range []string{"sample", "sample_data", "ego_pose"} {
			w.each(table, func(r map[string]any) { r["timestamp"] = epoch + 4*(r["timestamp"].(int64)-epoch) })
		}
	}},

	// Files.
	{"a picture of another size", []string{rulePicture}, func(w *world) { w.row("sample_data", "data-CAM_BACK-1-1")["width"] = 1600 }},
	{"a picture is cut", []string{rulePicture}, func(w *world) { w.edit(w.fileOf("data-CAM_BACK-1-2"), func(b []byte) []byte { return b[:len(b)-50] }) }},
	{"intensities above 255", []string{ruleLidar}, func(w *world) { w.lidarFiles(func(v []float32) { v[3] *= 10 }) }},
	{"NaN in a cloud", []string{ruleLidar}, func(w *world) {
		w.edit(w.fileOf("data-LIDAR_TOP-0-1"), func(b []byte) []byte { return append([]byte{0, 0, 0xc0, 0x7f}, b[4:]...) })
	}},
	{"no byte behind a radar's points", []string{ruleRadarEnd}, func(w *world) {
		w.edit(w.fileOf("data-RADAR_FRONT-0-2"), func(b []byte) []byte { return b[:len(b)-1] })
	}},
	{"a radar without points", []string{ruleRadar}, func(w *world) {
		w.edit(w.fileOf("data-RADAR_FRONT-0-1"), func(b []byte) []byte {
			return bytes.Replace(bytes.Replace(b[:bytes.Index(b, []byte("DATA"))+12], []byte("WIDTH "), []byte("WIDTH 0\n#"), 1), []byte("POINTS "), []byte("POINTS 0\n#"), 1)
		})
	}},
	{"a radar's fields in another order", []string{ruleRadar}, func(w *world) {
		w.edit(w.fileOf("data-RADAR_FRONT-0-1"), func(b []byte) []byte { return bytes.Replace(b, []byte("id rcs"), []byte("rcs id"), 1) })
	}},
	{"returns that readers drop", []string{ruleRadarState}, func(w *world) { w.radarFiles(func(p []byte) { p[36], p[39] = 0, 0 }) }},
	{"states that there are none of", []string{ruleRadarState}, func(w *world) { w.radarFiles(func(p []byte) { p[12] = 9 }) }},
	{"a panoptic array of other points", []string{rulePanoptic}, func(w *world) { w.files["panoptic/v1.0-test/data-LIDAR_TOP-0-0_panoptic.npz"] = npz(make([]byte, 20)) }},
	{"panoptic numbers of another category", []string{rulePanoptic}, func(w *world) {
		n := len(w.files["lidarseg/v1.0-test/data-LIDAR_TOP-0-0_lidarseg.bin"])
		w.files["panoptic/v1.0-test/data-LIDAR_TOP-0-0_panoptic.npz"] = npz(bytes.Repeat([]byte{0x71, 0x42}, n)) // 17009
	}},
	{"labels that are no index", []string{ruleLidarseg}, func(w *world) {
		w.edit("lidarseg/v1.0-test/data-LIDAR_TOP-1-4_lidarseg.bin", func(b []byte) []byte { b[7] = 99; return b })
	}},
	{"a map in colours", []string{ruleMapMask}, func(w *world) { w.files["maps/map.png"] = encoded(image.NewRGBA(image.Rect(0, 0, 2000, 1200))) }},
	{"a map of ones", []string{ruleMapMask, ruleMapPlace}, func(w *world) {
		m := image.NewGray(image.Rect(0, 0, 2000, 1200))
		for i := range m.Pix {
			m.Pix[i] = 1
		}
		w.files["maps/map.png"] = encoded(m)
	}},

	// Geometry.
	{"a map upside down", []string{ruleMapPlace}, func(w *world) {
		m := image.NewGray(image.Rect(0, 0, 2000, 1200))
		for y := 450; y < 580; y++ {
			for x := range 2000 {
				m.SetGray(x, y, color.Gray{Y: 255})
			}
		}
		w.files["maps/map.png"] = encoded(m)
	}},
	{"places below 0", []string{ruleMapPlace}, func(w *world) {
		for _, table := range []string{"ego_pose", "sample_annotation"} {
			w.each(table, func(r map[string]any) {
				at := slices.Clone(r["translation"].([]float64))
				r["translation"] = []float64{at[0] - 100, at[1] - 100, at[2]}
			})
		}
	}},
	{"length for width", []string{ruleSizeOrder}, func(w *world) {
		w.each("sample_annotation", func(r map[string]any) {
			s := r["size"].([]float64)
			r["size"] = []float64{s[1], s[0], s[2]}
		})
	}},
	{"yaw + 90 degrees", []string{ruleHeading}, func(w *world) {
		w.each("sample_annotation", func(r map[string]any) { r["rotation"] = rotated(r["rotation"].([]float64), yaw(90)) })
	}},
	{"yaw + 180 degrees", []string{ruleHeading}, func(w *world) {
		w.each("sample_annotation", func(r map[string]any) { r["rotation"] = rotated(r["rotation"].([]float64), yaw(180)) })
	}},
	{"yaw of one parked truck + 90 degrees", []string{rulePointsInBox, ruleBoxOnPicture, ruleRadarPoints}, func(w *world) {
		w.each("sample_annotation", func(r map[string]any) {
			if strings.HasSuffix(r["token"].(string), "-2") {
				r["rotation"] = rotated(r["rotation"].([]float64), yaw(90))
			}
		})
	}},
	{"bottom for centre", []string{ruleBoxCentre}, func(w *world) {
		w.each("sample_annotation", func(r map[string]any) {
			at := r["translation"].([]float64)
			r["translation"] = []float64{at[0], at[1], at[2] - r["size"].([]float64)[2]/2}
		})
	}},
	{"boxes in the ego's frame", []string{ruleBoxCentre}, func(w *world) {
		w.each("sample_annotation", func(r map[string]any) {
			ego := w.row("ego_pose", "data-LIDAR_TOP-"+stepOf(r))
			e, at, q := ego["translation"].([]float64), r["translation"].([]float64), ego["rotation"].([]float64)
			back := mgl64.Quat{W: q[0], V: mgl64.Vec3{-q[1], -q[2], -q[3]}}
			p := back.Rotate(mgl64.Vec3{at[0] - e[0], at[1] - e[1], at[2] - e[2]})
			b := r["rotation"].([]float64)
			turn := back.Mul(mgl64.Quat{W: b[0], V: mgl64.Vec3{b[1], b[2], b[3]}})
			r["translation"], r["rotation"] = p[:], []float64{turn.W, turn.V[0], turn.V[1], turn.V[2]}
		})
	}},
	{"LIDAR_TOP without its -90 degrees", []string{ruleLidarAxes}, func(w *world) {
		for _, token := range []string{"mount-LIDAR_TOP0", "mount-LIDAR_TOP1"} {
			w.row("calibrated_sensor", token)["rotation"] = wxyz(0)
		}
	}},
	{"LIDAR_TOP without its -90 degrees, points too", []string{ruleLidarAxes}, func(w *world) {
		for _, token := range []string{"mount-LIDAR_TOP0", "mount-LIDAR_TOP1"} {
			w.row("calibrated_sensor", token)["rotation"] = wxyz(0)
		}
		w.lidarFiles(func(v []float32) { v[0], v[1] = v[1], -v[0] })
	}},
	{"points with x forward", []string{ruleLidarPose}, func(w *world) { w.lidarFiles(func(v []float32) { v[0], v[1] = v[1], -v[0] }) }},
	{"x and y of points change places", []string{ruleLidarPose}, func(w *world) { w.lidarFiles(func(v []float32) { v[0], v[1] = v[1], v[0] }) }},
	{"y of points is mirrored", []string{ruleLidarPose}, func(w *world) { w.lidarFiles(func(v []float32) { v[1] = -v[1] }) }},
	{"points in the ego's frame", []string{ruleLidarPose}, func(w *world) {
		w.lidarFiles(func(v []float32) { v[0], v[1], v[2] = v[1]+0.9, -v[0], v[2]+1.8 })
	}},
	{"the ego's rotations are inverted", []string{ruleLidarPose}, func(w *world) {
		w.each("ego_pose", func(r map[string]any) {
			q := r["rotation"].([]float64)
			r["rotation"] = []float64{q[0], -q[1], -q[2], -q[3]}
		})
	}},
	{"clouds of the scan before", []string{ruleLidarPose}, func(w *world) {
		for scene := range 2 {
			for step := perScene - 1; step > 0; step-- {
				from, to := name("data LIDAR_TOP ", scene, " ", step-1), name("data LIDAR_TOP ", scene, " ", step)
				w.files[w.fileOf(to)] = w.files[w.fileOf(from)]
			}
		}
		w.tables["lidarseg"], w.tables["panoptic"] = nil, nil
		maps.DeleteFunc(w.files, func(name string, _ []byte) bool {
			return strings.HasSuffix(name, "seg.bin") || strings.HasSuffix(name, ".npz")
		})
		delete(w.tables, "lidarseg")
		delete(w.tables, "panoptic")
	}},
	{"a point count that differs", []string{ruleLidarPoints}, func(w *world) { w.row("sample_annotation", "box-1-2-2")["num_lidar_pts"] = 9999 }},
	{"a point count of zero", []string{ruleLidarPoints}, func(w *world) { w.row("sample_annotation", "box-1-2-2")["num_lidar_pts"] = 0 }},
	{"a count of radar returns that differs", []string{ruleRadarPoints}, func(w *world) { w.row("sample_annotation", "box-1-2-0")["num_radar_pts"] = 99 }},
	{"a camera in the body's axes", []string{ruleCameraAxes}, func(w *world) { w.row("calibrated_sensor", "mount-CAM_FRONT0")["rotation"] = wxyz(0) }},
	{"two cameras change places", []string{ruleDirection}, func(w *world) {
		for scene := range 2 {
			a, b := w.row("calibrated_sensor", name("mount CAM_FRONT", scene)), w.row("calibrated_sensor", name("mount CAM_BACK", scene))
			a["rotation"], b["rotation"] = b["rotation"], a["rotation"]
		}
	}},
	{"a camera is turned by 3 degrees", []string{ruleBoxOnPicture, ruleLidarOnCamera}, func(w *world) {
		r := w.row("calibrated_sensor", "mount-CAM_FRONT0")
		r["rotation"] = rotated(r["rotation"].([]float64), mgl64.QuatRotate(mgl64.DegToRad(3), mgl64.Vec3{0, 1, 0}))
	}},
	{"x and y of a camera's place change places", []string{ruleBoxOnPicture, ruleLidarOnCamera}, func(w *world) {
		w.row("calibrated_sensor", "mount-CAM_FRONT0")["translation"] = []float64{0.1, 1.6, 1.5}
	}},
	{"a focal length of another picture size", []string{ruleBoxOnPicture, ruleLidarOnCamera}, func(w *world) {
		w.row("calibrated_sensor", "mount-CAM_FRONT1")["camera_intrinsic"] = []any{[]float64{2 * picFocal, 0, picWidth / 2}, []float64{0, 2 * picFocal, picHeight / 2}, []float64{0, 0, 1}}
	}},
	{"a camera's pictures are a period old", []string{ruleCameraTime, ruleLidarOnCamera}, func(w *world) { w.shiftPictures() }},
	{"a barrier walks", []string{ruleStatic, ruleLidarPoints}, func(w *world) {
		at := slices.Clone(w.row("sample_annotation", "box-0-4-4")["translation"].([]float64))
		w.row("sample_annotation", "box-0-4-4")["translation"] = []float64{at[0] + 30, at[1], at[2]}
	}},
	{"an object leaps", []string{ruleSpeed, ruleLidarPoints}, func(w *world) {
		at := slices.Clone(w.row("sample_annotation", "box-0-4-3")["translation"].([]float64))
		w.row("sample_annotation", "box-0-4-3")["translation"] = []float64{at[0] + 90, at[1], at[2]}
	}},
	{"velocities of returns in another frame", []string{ruleRadarVelocity}, func(w *world) {
		w.radarFiles(func(p []byte) { copy(p[27:35], p[19:27]) }) // as measured, with the ego's motion
	}},
	{"an ego on its side", []string{ruleUpright}, func(w *world) { w.row("ego_pose", "data-CAM_BACK-0-5")["rotation"] = []float64{r2, r2, 0, 0} }},
	{"an object is labelled twice", []string{ruleSelf}, func(w *world) {
		for step := range 5 {
			a := w.row("sample_annotation", name("box 1 ", step, " 1"))
			b := maps.Clone(a)
			b["token"], b["instance_token"], b["size"] = name("twin ", step), "twin", []float64{1.75, 4.2, 1.4}
			w.add("sample_annotation", b)
		}
		twin := maps.Clone(w.row("instance", "instance-1-1"))
		twin["token"], twin["first_annotation_token"], twin["last_annotation_token"] = "twin", "twin-0", "twin-4"
		w.add("instance", twin)
		w.link("sample_annotation", func(r map[string]any) string { return r["instance_token"].(string) })
	}},
}

// stepOf is the place of a box's sample among the scans: "scene-step".
func stepOf(r map[string]any) string {
	var scene, frame, i int
	if _, err := fmt.Sscanf(r["token"].(string), "box-%d-%d-%d", &scene, &frame, &i); err != nil {
		panic(err)
	}
	return name(scene, "-", 2*frame)
}

func inWrongOrder(r map[string]any) {
	q := r["rotation"].([]float64)
	r["rotation"] = []float64{q[1], q[2], q[3], q[0]}
}

// nanFor is a table with a number that JSON doesn't have.
func nanFor(w *world, table string) []byte {
	w.tables[table][0]["translation"] = []float64{100, 60, 12345}
	text, err := json.Marshal(w.tables[table])
	if err != nil {
		panic(err)
	}
	delete(w.tables, table)
	return bytes.Replace(text, []byte("12345"), []byte("NaN"), 1)
}

func encoded(m image.Image) []byte {
	var b bytes.Buffer
	if err := png.Encode(&b, m); err != nil {
		panic(err)
	}
	return b.Bytes()
}

// TestPointsOfOthersInBox: points in a box that have the label of another object don't count.
func TestPointsOfOthersInBox(t *testing.T) {
	w := newWorld().clone()
	delete(w.tables, "panoptic")
	maps.DeleteFunc(w.files, func(name string, _ []byte) bool { return strings.HasSuffix(name, ".npz") })
	truck := slices.IndexFunc(things, func(t thing) bool { return t.category == "vehicle.truck" })
	leant := 0
	for scene := range 2 {
		for step := 0; step < perScene; step += 2 {
			row := w.row("sample_annotation", name("box ", scene, " ", step/2, " ", truck))
			own := row["num_lidar_pts"].(int)
			w.edit("lidarseg/v1.0-test/"+name("data LIDAR_TOP ", scene, " ", step)+"_lidarseg.bin", func(labels []byte) []byte {
				for i, n := 0, 0; i < len(labels); i++ {
					if labels[i] != byte(indices["vehicle.truck"]) {
						continue
					}
					if n++; n%2 == 0 {
						labels[i] = byte(indices["movable_object.barrier"])
						own--
						leant++
					}
				}
				return labels
			})
			row["num_lidar_pts"] = own
		}
	}
	require.Greater(t, leant, 100)
	assert.Zero(t, judge(t, w).Count(ruleLidarPoints))
}

func TestFaults(t *testing.T) {
	require.Empty(t, judge(t, newWorld()).All(), "the good set")
	for _, f := range faults {
		t.Run(f.name, func(t *testing.T) {
			w := newWorld().clone()
			f.make(w)
			r := judge(t, w)
			var found []string
			for _, finding := range r.All() {
				if !slices.Contains(found, finding.Rule) {
					found = append(found, finding.Rule)
				}
			}
			if !assert.ElementsMatch(t, f.found, found) {
				for _, finding := range r.All() {
					t.Logf("%s %v: %s", finding.Rule, finding.Place, finding.Message)
				}
			}
		})
	}
}
