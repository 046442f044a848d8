package foxglovemsgtest

import (
	"encoding/binary"
	"math"
	"strconv"

	"github.com/go-gl/mathgl/mgl64"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/spatial"
)

type object = map[string]any

// Tree returns all fields of the message that one of [Filled]'s samples becomes, as
// encoding/json decodes what protobuf.js makes of it with numbers of 64 bits and
// enumerations as text and with all defaults; bytes is what stands for bytes. It is nil
// for a sample that becomes no message of Foxglove's schemas.
func Tree(s bridges.Stamped, bytes func([]byte) any) map[string]any {
	switch s := s.(type) {
	case *sample.PointCloud:
		return headed(&s.Header, object{"pose": pose(spatial.Identity()), "point_stride": 32.0, "fields": pointFields(), "data": bytes(Points(s))})
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
		return object{"timestamp": stamp(s.StampNs), "level": "WARNING", "message": s.Message, "name": s.Name, "file": s.File, "line": float64(s.Line)}
	}
	if tree := placeTree(s); tree != nil {
		return tree
	}
	return boxTree(s)
}

// placeTree is of places on the earth.
func placeTree(s bridges.Stamped) object {
	switch s := s.(type) {
	case *sample.GnssFix:
		return headed(&s.Header, object{
			"latitude": s.Latitude, "longitude": s.Longitude, "altitude": s.Altitude, "position_covariance": list(s.PositionCovariance[:]),
			"position_covariance_type": []any{"UNKNOWN", "APPROXIMATED", "DIAGONAL_KNOWN", "KNOWN"}[s.PositionCovarianceType],
			"metadata":                 []any{pair("status", []string{"no_fix", "fix", "sbas_fix", "gbas_fix"}[s.Status+1])},
		})
	case *sample.GpsOdometry:
		return headed(&s.Header, object{
			"latitude": s.Latitude, "longitude": s.Longitude, "altitude": s.Altitude, "heading": -math.Pi / 2, "velocity": vector(s.Velocity),
			"position_covariance": []any{}, "position_covariance_type": "UNKNOWN", "metadata": []any{},
		})
	}
	return nil
}

// boxTree is of what is drawn.
func boxTree(s bridges.Stamped) object {
	var entities []any
	switch s := s.(type) {
	case *sample.Detections2D:
		var outlines, texts []any
		for i, color := range []object{red(1), amber(1), blue(1)} {
			b := &s.Boxes[i]
			outlines, texts = append(outlines, outline(s.StampNs, b, color)), append(texts, caption(s.StampNs, b))
		}
		return object{"timestamp": stamp(s.StampNs), "circles": []any{}, "points": outlines, "texts": texts, "metadata": []any{}}
	case *sample.Detections3D:
		for i, color := range []func(float64) object{red, blue, grey} {
			b := &s.Boxes[i]
			e := entity(&s.Header, strconv.Itoa(int(b.ID)), b.Pose, b.Size, text(b.Label, b.TypeID), color)
			if b.TypeID != "" {
				e["metadata"] = []any{pair("type", b.TypeID)}
			}
			entities = append(entities, e)
		}
		return scene(s.StampNs, 0.4, entities)
	case *sample.Signals:
		for i, color := range []func(float64) object{red, yellow, green} {
			l := &s.Signals[i]
			entities = append(entities, entity(&s.Header, strconv.Itoa(int(l.ID)), l.Pose, l.Size, l.Label, color))
		}
		return scene(s.StampNs, 0.8, entities)
	}
	return nil
}

func headed(h *sample.Header, fields object) object {
	fields["timestamp"], fields["frame_id"] = stamp(h.StampNs), h.FrameID
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
		"timestamp": stamp(t.StampNs), "parent_frame_id": t.FrameID, "child_frame_id": t.ChildFrameID,
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

// Points are a cloud's bytes in the layout PointXYZIRCAEDT, written by its table of fields:
// x, y, z, then intensity and return type of a byte, channel of two, azimuth, elevation,
// distance, and the time in nanoseconds.
func Points(s *sample.PointCloud) (data []byte) {
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
