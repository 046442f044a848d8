// What somebody else's decoder must make of messages in Foxglove's schemas is written out by
// hand here. It follows from the schemas and the samples alone: no product code has a part in
// it.

package bridgetest

import (
	"encoding/binary"
	"log/slog"
	"math"
	"reflect"
	"strconv"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/spatial"
	"github.com/raybridge/raybridge/world"
)

// turned makes x of y, y of z and z of x, without rounding; west faces -x.
var (
	turned = mgl64.Quat{W: 0.5, V: mgl64.Vec3{0.5, 0.5, 0.5}}
	west   = mgl64.Quat{V: mgl64.Vec3{0, 0, 1}}
)

// FoxgloveSample is Filled for samples that go into Foxglove's schemas, such that each case
// of the conversion has its turn: colours, names and rotations. Its stamp has
// seconds and nanoseconds.
func FoxgloveSample(t reflect.Type) simtime.Stamped {
	s := Filled(t)
	reflect.ValueOf(s).Elem().FieldByName("Stamp").SetInt(1_700_000_000_123_456_789)
	switch s := s.(type) {
	case *sample.PointCloud:
		for i := range s.Points {
			p, f := &s.Points[i], float32(i)
			p.Azimuth, p.Elevation, p.Return = f/10, -f/20, uint8(i%3)
		}
	case *sample.Transforms:
		for i := range s.Transforms {
			s.Transforms[i].Stamp = simtime.Stamp(1_700_000_000_000_000_000 + int64(i))
		}
	case *sample.CameraInfo:
		s.DistortionModel = "equidistant"
	case *sample.GpsOdometry:
		s.Orientation = west
	case *sample.Detections2D:
		for i, tag := range []uint8{12, 13, 14} {
			s.Boxes[i].Tag = tag
		}
		s.Boxes[1].Label = ""
	case *sample.Detections3D:
		for i, tag := range []uint8{12, 19, 3} {
			s.Boxes[i].Tag, s.Boxes[i].Pose.Orientation = tag, turned
		}
		s.Boxes[1].Label, s.Boxes[2].TypeID = "", ""
	case *sample.Signals:
		for i, state := range []world.SignalState{world.SignalRed, world.SignalYellow, world.SignalGreen} {
			s.Signals[i].State, s.Signals[i].Pose.Orientation = state, turned
		}
	case *sample.Log:
		s.Level = slog.LevelWarn
	}
	return s
}

type object = map[string]any

// FoxgloveTree returns all fields of the message that one of [FoxgloveSample]'s becomes. They
// are as encoding/json decodes what protobuf.js makes of it with numbers of 64 bits and
// enumerations as text and with all defaults. bytes is what stands for bytes. It is nil for a
// sample that becomes no message of Foxglove's schemas.
func FoxgloveTree(s simtime.Stamped, bytes func([]byte) any) map[string]any {
	switch s := s.(type) {
	case *sample.PointCloud:
		return headed(&s.Header, object{"pose": pose(spatial.Identity()), "point_stride": 32.0, "fields": pointFields(), "data": bytes(FoxglovePoints(s))})
	case *sample.Image:
		return headed(&s.Header, object{
			"width": float64(s.Width), "height": float64(s.Height), "encoding": s.Encoding, "step": float64(s.Step), "data": bytes(s.Data),
		})
	case *sample.CompressedImage:
		return headed(&s.Header, object{"data": bytes(s.Data), "format": s.Format})
	case *sample.CameraInfo:
		return headed(&s.Header, object{
			"width": float64(s.Width), "height": float64(s.Height), "distortion_model": "kannala_brandt",
			"D": list(s.D), "K": list(s.K[:]), "R": list(s.R[:]), "P": list(s.P[:]),
		})
	case *sample.Transforms:
		return object{"transforms": each(s.Transforms, transform)}
	case *sample.LaserScan:
		return headed(&s.Header, object{
			"pose": pose(spatial.Identity()), "start_angle": float64(s.AngleMin), "end_angle": float64(s.AngleMax),
			"ranges": list(s.Ranges), "intensities": list(s.Intensities),
		})
	case *sample.Odometry:
		return headed(&s.Header, object{
			"body_frame_id": s.ChildFrameID, "pose": pose(s.BodyPose), "linear_velocity": vector(s.Twist.Linear), "angular_velocity": vector(s.Twist.Angular),
			"pose_covariance": list(s.PoseCovariance[:]), "velocity_covariance": list(s.TwistCovariance[:]), "metadata": []any{},
		})
	case *sample.Log:
		return object{"timestamp": stamp(int64(s.Stamp)), "level": "WARNING", "message": s.Message, "name": s.Name, "file": s.File, "line": float64(s.Line)}
	}
	if tree := placeTree(s); tree != nil {
		return tree
	}
	return boxTree(s)
}

// placeTree is of places on the earth.
func placeTree(s simtime.Stamped) object {
	switch s := s.(type) {
	case *sample.GnssFix:
		return headed(&s.Header, object{
			"latitude": s.Latitude, "longitude": s.Longitude, "altitude": s.Altitude, "position_covariance": list(s.PositionCovariance[:]),
			"position_covariance_type": []any{"UNKNOWN", "APPROXIMATED", "DIAGONAL_KNOWN", "KNOWN"}[s.PositionCovarianceType],
			"metadata":                 []any{pair("status", []string{"no_fix", "fix", "sbas_fix", "gbas_fix"}[s.Status+1])},
		})
	case *sample.GpsOdometry:
		toTrue := mgl64.QuatRotate(-s.Convergence, mgl64.Vec3{0, 0, 1}) // the grid's north is so far to the east
		ahead := toTrue.Mul(west).Rotate(mgl64.Vec3{1, 0, 0})
		return headed(&s.Header, object{
			"latitude": s.Latitude, "longitude": s.Longitude, "altitude": s.Altitude, "heading": math.Atan2(ahead[0], ahead[1]),
			"velocity":            vector(toTrue.Rotate(s.Velocity)),
			"position_covariance": []any{}, "position_covariance_type": "UNKNOWN", "metadata": []any{},
		})
	}
	return nil
}

// boxTree is of what is drawn.
func boxTree(s simtime.Stamped) object {
	var entities []any
	switch s := s.(type) {
	case *sample.Detections2D:
		var outlines, texts []any
		for i, color := range []object{red(1), amber(1), blue(1)} {
			b := &s.Boxes[i]
			outlines, texts = append(outlines, outline(int64(s.Stamp), b, color)), append(texts, caption(int64(s.Stamp), b))
		}
		return object{"timestamp": stamp(int64(s.Stamp)), "circles": []any{}, "points": outlines, "texts": texts, "metadata": []any{}}
	case *sample.Detections3D:
		for i, color := range []func(float64) object{red, blue, grey} {
			b := &s.Boxes[i]
			e := entity(&s.Header, strconv.Itoa(int(b.ID)), b.Pose, b.Size, text(b.Label, b.TypeID), color)
			if b.TypeID != "" {
				e["metadata"] = []any{pair("type", b.TypeID)}
			}
			e["metadata"] = append(e["metadata"].([]any), pair("occlusion", share(b.Occlusion)))
			entities = append(entities, e)
		}
		return scene(int64(s.Stamp), 0.4, entities)
	case *sample.Signals:
		for i, color := range []func(float64) object{red, yellow, green} {
			l := &s.Signals[i]
			entities = append(entities, entity(&s.Header, strconv.Itoa(int(l.ID)), l.Pose, l.Size, l.Label, color))
		}
		return scene(int64(s.Stamp), 0.8, entities)
	}
	return nil
}

func headed(h *sample.Header, fields object) object {
	fields["timestamp"], fields["frame_id"] = stamp(int64(h.Stamp)), h.FrameID
	return fields
}

// stamp is of times after the epoch.
func stamp(ns int64) object {
	return object{"seconds": strconv.FormatInt(ns/1e9, 10), "nanos": float64(ns % 1e9)}
}

func vector(v mgl64.Vec3) object { return object{"x": v[0], "y": v[1], "z": v[2]} }
func pair(key, value string) any { return object{"key": key, "value": value} }
func point(x, y float64) object  { return object{"x": x, "y": y} }

func quaternion(q mgl64.Quat) object {
	return object{"x": q.V[0], "y": q.V[1], "z": q.V[2], "w": q.W}
}

func pose(p spatial.Pose) object {
	return object{"position": vector(p.Position), "orientation": quaternion(p.Orientation)}
}

func transform(t sample.Transform) any {
	return object{
		"timestamp": stamp(int64(t.Stamp)), "parent_frame_id": t.FrameID, "child_frame_id": t.ChildFrameID,
		"translation": vector(t.Relative.Position), "rotation": quaternion(t.Relative.Orientation),
	}
}

func list[T float32 | float64](values []T) []any {
	return each(values, func(v T) any { return float64(v) })
}

func each[T any](values []T, show func(T) any) []any {
	all := make([]any, len(values))
	for i, v := range values {
		all[i] = show(v)
	}
	return all
}

// text is a box's.
func text(label, typeID string) string {
	if label == "" {
		return typeID
	}
	return label
}

// pointFields are those of the layout PointXYZIRCAEDT.
func pointFields() []any {
	var all []any
	for _, f := range []struct {
		name   string
		offset float64
		kind   string
	}{
		{"x", 0, "FLOAT32"}, {"y", 4, "FLOAT32"}, {"z", 8, "FLOAT32"}, {"intensity", 12, "UINT8"}, {"return_type", 13, "UINT8"}, {"channel", 14, "UINT16"},
		{"azimuth", 16, "FLOAT32"}, {"elevation", 20, "FLOAT32"}, {"distance", 24, "FLOAT32"}, {"time_stamp", 28, "UINT32"},
	} {
		all = append(all, object{"name": f.name, "offset": f.offset, "type": f.kind})
	}
	return all
}

// FoxglovePoints are a cloud's bytes in the layout PointXYZIRCAEDT, written by its table of fields.
// These are x, y, z, then intensity and return type of a byte, channel of two, azimuth, elevation,
// distance, and the time in nanoseconds.
func FoxglovePoints(s *sample.PointCloud) (data []byte) {
	for _, p := range s.Points {
		for _, f := range []float32{p.X, p.Y, p.Z} {
			data = binary.LittleEndian.AppendUint32(data, math.Float32bits(f))
		}
		data = binary.LittleEndian.AppendUint16(append(data, byte(p.Intensity), p.Return), p.Ring)
		for _, f := range []float32{p.Azimuth, p.Elevation, p.Distance} {
			data = binary.LittleEndian.AppendUint32(data, math.Float32bits(f))
		}
		data = binary.LittleEndian.AppendUint32(data, p.TimeNs)
	}
	return data
}

// paint returns a colour of any opacity.
func paint(r, g, b float64) func(opacity float64) object {
	return func(opacity float64) object { return object{"r": r, "g": g, "b": b, "a": opacity} }
}

// What is drawn has these colours.
var (
	red    = paint(0.95, 0.2, 0.2)
	amber  = paint(1, 0.7, 0.1)
	yellow = paint(1, 0.85, 0.1)
	green  = paint(0.2, 0.85, 0.3)
	blue   = paint(0.25, 0.55, 1)
	grey   = paint(0.6, 0.6, 0.6)
)

// scene first removes what was there before; its boxes have one opacity.
func scene(stampNs int64, opacity float64, entities []any) object {
	for _, e := range entities {
		cube := e.(object)["cubes"].([]any)[0].(object)
		cube["color"].(object)["a"] = opacity
	}
	return object{"deletions": []any{object{"timestamp": stamp(stampNs), "type": "ALL", "id": ""}}, "entities": entities}
}

// entity is a box, turned, with a text 0.3 m above its top, whose z axis shows along x.
func entity(h *sample.Header, id string, at spatial.Pose, size mgl64.Vec3, label string, color func(float64) object) object {
	above := spatial.Identity()
	above.Position = at.Position.Add(mgl64.Vec3{size[2]/2 + 0.3, 0, 0})
	return headed(h, object{
		"id": id, "lifetime": object{"seconds": "0", "nanos": 0.0}, "frame_locked": false, "metadata": []any{},
		"arrows": []any{}, "spheres": []any{}, "cylinders": []any{}, "lines": []any{}, "triangles": []any{}, "models": []any{},
		"cubes": []any{object{"pose": pose(at), "size": vector(size), "color": color(1)}},
		"texts": []any{object{"pose": pose(above), "billboard": true, "font_size": 14.0, "scale_invariant": true, "color": legible(color(1)), "text": label}},
	})
}

// legible is a colour between black, the given one and white, by light, whose contrast with black
// is that with white; to three decimals.
func legible(of object) object {
	light := func(v float64) float64 { // sRGB's, decoded
		if v <= 0.04045 {
			return v / 12.92
		}
		return math.Pow((v+0.055)/1.055, 2.4)
	}
	c := [3]float64{light(of["r"].(float64)), light(of["g"].(float64)), light(of["b"].(float64))}
	mixed := func(share float64) (out [3]float64, luminance float64) { // 0 is black, 1 the colour, 2 white
		for i, weight := range []float64{0.2126, 0.7152, 0.0722} {
			out[i] = c[i]*min(share, 1) + (1-c[i])*max(share-1, 0)
			luminance += weight * out[i]
		}
		return out, luminance
	}
	least, most := 0.0, 2.0
	for range 60 {
		middle := (least + most) / 2
		if _, l := mixed(middle); l < 0.179 {
			least = middle
		} else {
			most = middle
		}
	}
	found, _ := mixed(least)
	for i, v := range found {
		if v <= 0.0031308 {
			v *= 12.92
		} else {
			v = 1.055*math.Pow(v, 1/2.4) - 0.055
		}
		found[i] = math.Round(v*1000) / 1000
	}
	return object{"r": found[0], "g": found[1], "b": found[2], "a": 1.0}
}

// outline is a rectangle on a picture, clockwise from its top left.
func outline(stampNs int64, b *sample.Box2D, color object) any {
	x, y, w, h := float64(b.CenterX), float64(b.CenterY), float64(b.Width)/2, float64(b.Height)/2
	return object{
		"timestamp": stamp(stampNs), "type": "LINE_LOOP", "points": []any{point(x-w, y-h), point(x+w, y-h), point(x+w, y+h), point(x-w, y+h)},
		"outline_color": color, "outline_colors": []any{}, "fill_color": nil, "thickness": 2.0, "metadata": []any{
			pair("id", strconv.Itoa(int(b.ID))), pair("occlusion", share(b.Occlusion)), pair("truncation", share(b.Truncation)),
		},
	}
}

// share is a share of a whole as text.
func share(of float32) string { return strconv.FormatFloat(float64(of), 'g', -1, 32) }

// caption is a rectangle's text, white on a dark veil.
func caption(stampNs int64, b *sample.Box2D) any {
	return object{
		"timestamp": stamp(stampNs), "position": point(float64(b.CenterX)-float64(b.Width)/2, float64(b.CenterY)-float64(b.Height)/2),
		"text": text(b.Label, b.TypeID), "font_size": 12.0, "text_color": paint(1, 1, 1)(1), "background_color": paint(0, 0, 0)(0.6), "metadata": []any{},
	}
}
