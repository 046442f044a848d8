package mcap

import (
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"sync"

	"github.com/foxglove/mcap/go/mcap"
	"github.com/go-gl/mathgl/mgl64"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/raybridge/raybridge/bridges/internal/encode"
	pb "github.com/raybridge/raybridge/bridges/internal/foxglovemsg/foxglove"
	"github.com/raybridge/raybridge/bridges/internal/rossample"
	"github.com/raybridge/raybridge/bridges/ros"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/spatial"
)

// decoder makes the sample of an encoded message, which it keeps no hold of.
type decoder func(data []byte) (simtime.Stamped, error)

// decoding is how the messages of a channel are read.
type decoding struct {
	decode decoder // nil where there is no sample
	// sample is the type of the samples; nil if unstated says that each message tells.
	sample   reflect.Type
	unstated bool
}

// readings are rossample's, by the messages' full names.
var readings = sync.OnceValue(rossample.WholeReadings)

// decoderOf says how a channel is read. Without a decoder the error tells why.
func decoderOf(schema *mcap.Schema, c *mcap.Channel) (decoding, error) {
	switch c.MessageEncoding {
	case "cdr":
		return rosDecoding(schema.Name, encode.CDR.Decoder().Decode)
	case "ros1":
		if err := agrees(schema, c); err != nil {
			return decoding{}, err
		}
		return rosDecoding(strings.Replace(schema.Name, "/", "/msg/", 1), encode.ROS1.Decoder().Decode)
	case "protobuf":
		if d, ok := foxgloveDecodings[schema.Name]; ok {
			return d, nil
		}
	}
	return decoding{}, fmt.Errorf("%s, encoded as %q: %w", schema.Name, c.MessageEncoding, ErrUnknownType)
}

// rosDecoding reads a ROS message of a full name.
func rosDecoding(name string, decode func([]byte, ros.Message) error) (decoding, error) {
	r, ok := readings()[name]
	if !ok {
		return decoding{}, fmt.Errorf("%s: %w", name, ErrUnknownType)
	}
	return decoding{sample: r.Sample, unstated: r.Sample == nil, decode: func(data []byte) (simtime.Stamped, error) {
		m := r.New()
		if err := decode(data, m); err != nil {
			return nil, err
		}
		return r.From(m)
	}}, nil
}

// agrees returns an error if a ROS 1 channel says that its messages have other fields
// than ours of that name.
func agrees(schema *mcap.Schema, c *mcap.Channel) error {
	theirs, ok := c.Metadata["md5sum"]
	if !ok {
		return nil
	}
	ours, err := ros.MD5(schema.Name)
	if err == nil && ours != theirs {
		return fmt.Errorf("%s with md5 sum %s, where %s is known: %w", schema.Name, theirs, ours, ErrUnknownType)
	}
	return nil
}

// foxgloveDecodings are how messages of Foxglove's schemas are read. A SceneUpdate says
// how things look rather than what they are: its cubes are read as boxes, those of
// traffic lights too.
var foxgloveDecodings = map[string]decoding{
	"foxglove.PointCloud":        fromProto(fromPointCloud).perMessage(),
	"foxglove.RawImage":          fromProto(fromRawImage),
	"foxglove.CompressedImage":   fromProto(fromCompressedImage),
	"foxglove.CameraCalibration": fromProto(fromCameraCalibration),
	"foxglove.FrameTransforms":   fromProto(fromFrameTransforms),
	"foxglove.LaserScan":         fromProto(fromLaserScan),
	"foxglove.LocationFix":       fromProto(fromLocationFix),
	"foxglove.Odometry":          fromProto(fromOdometry),
	"foxglove.SceneUpdate":       fromProto(fromSceneUpdate),
	"foxglove.ImageAnnotations":  fromProto(fromImageAnnotations),
}

// fromProto reads protobuf messages M with a conversion to samples S.
func fromProto[M any, P interface {
	*M
	proto.Message
}, S simtime.Stamped](convert func(P) (S, error)) decoding {
	return decoding{sample: reflect.TypeFor[S](), decode: func(data []byte) (simtime.Stamped, error) {
		m := P(new(M))
		if err := proto.Unmarshal(data, m); err != nil {
			return nil, fmt.Errorf("decode %s: %w", m.ProtoReflect().Descriptor().FullName(), err)
		}
		s, err := convert(m)
		if err != nil {
			return nil, err
		}
		return s, nil
	}}
}

// perMessage says that each message tells what its sample is.
func (d decoding) perMessage() decoding {
	d.sample, d.unstated = nil, true
	return d
}

// headerOf reads a time and a frame. Nanos of a second or more, and negative ones, count on top of the seconds.
func headerOf(t *timestamppb.Timestamp, frame string) sample.Header {
	return sample.Header{Stamp: simtime.Stamp(t.GetSeconds()*1e9 + int64(t.GetNanos())), FrameID: frame, Pose: spatial.Identity()}
}

func vectorOf(v *pb.Vector3) mgl64.Vec3 { return mgl64.Vec3{v.GetX(), v.GetY(), v.GetZ()} }

func quaternionOf(q *pb.Quaternion) mgl64.Quat {
	return mgl64.Quat{W: q.GetW(), V: mgl64.Vec3{q.GetX(), q.GetY(), q.GetZ()}}
}

func poseOf(p *pb.Pose) spatial.Pose {
	return spatial.Pose{Position: vectorOf(p.GetPosition()), Orientation: quaternionOf(p.GetOrientation())}
}

// datatypes are sensor_msgs/PointField's numbers of PackedElementField's types.
var datatypes = map[pb.PackedElementField_NumericType]uint8{
	pb.PackedElementField_INT8: ros.PointFieldInt8, pb.PackedElementField_UINT8: ros.PointFieldUint8,
	pb.PackedElementField_INT16: ros.PointFieldInt16, pb.PackedElementField_UINT16: ros.PointFieldUint16,
	pb.PackedElementField_INT32: ros.PointFieldInt32, pb.PackedElementField_UINT32: ros.PointFieldUint32,
	pb.PackedElementField_FLOAT32: ros.PointFieldFloat32, pb.PackedElementField_FLOAT64: ros.PointFieldFloat64,
}

// fromPointCloud reads a cloud by its fields, as a sensor_msgs/PointCloud2 of one row.
func fromPointCloud(m *pb.PointCloud) (simtime.Stamped, error) {
	cloud := ros.PointCloud2{Height: 1, PointStep: m.PointStride, IsDense: true, Data: ros.Bytes{Data: m.Data}}
	for _, f := range m.Fields {
		cloud.PointFields = append(cloud.PointFields, ros.PointField{Name: f.Name, Offset: f.Offset, Datatype: datatypes[f.Type], Count: 1})
	}
	if m.PointStride > 0 {
		cloud.Width = uint32(len(m.Data)) / m.PointStride
		cloud.RowStep = cloud.Width * m.PointStride
	}
	stamp := m.Timestamp.GetSeconds()
	if stamp < math.MinInt32 || stamp > math.MaxInt32 {
		return nil, fmt.Errorf("decode foxglove.PointCloud: %w", ros.ErrStampRange)
	}
	cloud.Header.FrameID = m.FrameId
	if err := cloud.Header.Stamp.Set(stamp*1e9 + int64(m.Timestamp.GetNanos())); err != nil {
		return nil, fmt.Errorf("decode foxglove.PointCloud: %w", err)
	}
	return rossample.FromPointCloud2(&cloud)
}

func fromRawImage(m *pb.RawImage) (*sample.Image, error) {
	if uint64(m.Step)*uint64(m.Height) != uint64(len(m.Data)) {
		return nil, fmt.Errorf("image of %d rows of %d bytes has %d bytes: %w", m.Height, m.Step, len(m.Data), rossample.ErrSize)
	}
	return &sample.Image{
		Header: headerOf(m.Timestamp, m.FrameId), Width: int(m.Width), Height: int(m.Height), Step: int(m.Step),
		Encoding: m.Encoding, Data: m.Data,
	}, nil
}

func fromCompressedImage(m *pb.CompressedImage) (*sample.CompressedImage, error) {
	return &sample.CompressedImage{Header: headerOf(m.Timestamp, m.FrameId), Format: m.Format, Data: m.Data}, nil
}

func fromCameraCalibration(m *pb.CameraCalibration) (*sample.CameraInfo, error) {
	info := &sample.CameraInfo{
		Header: headerOf(m.Timestamp, m.FrameId), Width: int(m.Width), Height: int(m.Height), DistortionModel: m.DistortionModel, D: m.D,
	}
	if m.DistortionModel == "kannala_brandt" { // ROS's name of the same parameters
		info.DistortionModel = "equidistant"
	}
	copy(info.K[:], m.K)
	copy(info.R[:], m.R)
	copy(info.P[:], m.P)
	return info, nil
}

func fromFrameTransforms(m *pb.FrameTransforms) (*sample.Transforms, error) {
	s := &sample.Transforms{Transforms: make([]sample.Transform, len(m.Transforms))}
	for i, t := range m.Transforms {
		s.Transforms[i] = sample.Transform{
			Header: headerOf(t.Timestamp, t.ParentFrameId), ChildFrameID: t.ChildFrameId,
			Relative: spatial.Pose{Position: vectorOf(t.Translation), Orientation: quaternionOf(t.Rotation)},
		}
		if at := s.Transforms[i].Stamp; i == 0 || at > s.Stamp {
			s.Stamp = at
		}
	}
	return s, nil
}

func fromLaserScan(m *pb.LaserScan) (*sample.LaserScan, error) {
	s := &sample.LaserScan{
		Header: headerOf(m.Timestamp, m.FrameId), AngleMin: float32(m.StartAngle), AngleMax: float32(m.EndAngle),
		Ranges: narrow(m.Ranges), Intensities: narrow(m.Intensities),
	}
	if n := len(m.Ranges); n > 1 {
		s.AngleIncrement = float32((m.EndAngle - m.StartAngle) / float64(n-1))
	}
	return s, nil
}

func narrow(list []float64) []float32 {
	out := make([]float32, len(list))
	for i, v := range list {
		out[i] = float32(v)
	}
	return out
}

// fixStatus are sensor_msgs/NavSatStatus' numbers by the names in a fix's metadata.
var fixStatus = map[string]int8{"no_fix": -1, "fix": 0, "sbas_fix": 1, "gbas_fix": 2}

func fromLocationFix(m *pb.LocationFix) (*sample.GnssFix, error) {
	fix := &sample.GnssFix{
		Header: headerOf(m.Timestamp, m.FrameId), Latitude: m.Latitude, Longitude: m.Longitude, Altitude: m.Altitude,
		PositionCovarianceType: uint8(m.PositionCovarianceType),
	}
	copy(fix.PositionCovariance[:], m.PositionCovariance)
	for _, pair := range m.Metadata {
		if pair.Key == "status" {
			fix.Status = fixStatus[pair.Value]
		}
	}
	return fix, nil
}

func fromOdometry(m *pb.Odometry) (*sample.Odometry, error) {
	o := &sample.Odometry{
		Header: headerOf(m.Timestamp, m.FrameId), ChildFrameID: m.BodyFrameId, BodyPose: poseOf(m.Pose),
		Twist: spatial.Twist{Linear: vectorOf(m.LinearVelocity), Angular: vectorOf(m.AngularVelocity)},
	}
	copy(o.PoseCovariance[:], m.PoseCovariance)
	copy(o.TwistCovariance[:], m.VelocityCovariance)
	return o, nil
}

// fromSceneUpdate reads the first cube of each entity, and its text as the label.
func fromSceneUpdate(m *pb.SceneUpdate) (*sample.Detections3D, error) {
	s := &sample.Detections3D{Header: sample.Header{Pose: spatial.Identity()}}
	for _, d := range m.Deletions {
		s.Stamp = headerOf(d.Timestamp, "").Stamp
	}
	for _, e := range m.Entities {
		s.Header = headerOf(e.Timestamp, e.FrameId)
		if len(e.Cubes) == 0 {
			continue
		}
		box := sample.Box3D{ID: numberOf(e.Id), Score: 1, Pose: poseOf(e.Cubes[0].Pose), Size: vectorOf(e.Cubes[0].Size)}
		if len(e.Texts) > 0 {
			box.Label = e.Texts[0].Text
		}
		box.TypeID, box.Occlusion = valueOf(e.Metadata, "type"), shareOf(e.Metadata, "occlusion")
		s.Boxes = append(s.Boxes, box)
	}
	return s, nil
}

// fromImageAnnotations reads rectangles, with the text of the same place in its list as
// the label.
func fromImageAnnotations(m *pb.ImageAnnotations) (*sample.Detections2D, error) {
	s := &sample.Detections2D{Header: headerOf(m.Timestamp, "")}
	for i, outline := range m.Points {
		if len(outline.Points) == 0 {
			continue
		}
		lowX, lowY, highX, highY := math.Inf(1), math.Inf(1), math.Inf(-1), math.Inf(-1)
		for _, p := range outline.Points {
			lowX, lowY, highX, highY = min(lowX, p.X), min(lowY, p.Y), max(highX, p.X), max(highY, p.Y)
		}
		box := sample.Box2D{
			ID: numberOf(valueOf(outline.Metadata, "id")), Score: 1,
			CenterX: float32((lowX + highX) / 2), CenterY: float32((lowY + highY) / 2),
			Width: float32(highX - lowX), Height: float32(highY - lowY),
			Occlusion: shareOf(outline.Metadata, "occlusion"), Truncation: shareOf(outline.Metadata, "truncation"),
		}
		if i < len(m.Texts) {
			box.Label = m.Texts[i].Text
		}
		s.Boxes = append(s.Boxes, box)
	}
	return s, nil
}

func valueOf(list []*pb.KeyValuePair, key string) string {
	for _, pair := range list {
		if pair.Key == key {
			return pair.Value
		}
	}
	return ""
}

// shareOf reads a share of a whole; 0 is for other texts.
func shareOf(list []*pb.KeyValuePair, key string) float32 {
	share, err := strconv.ParseFloat(valueOf(list, key), 32)
	if err != nil {
		return 0
	}
	return float32(share)
}

// numberOf reads an actor's number; 0 is for other texts.
func numberOf(text string) uint32 {
	n, err := strconv.ParseUint(text, 10, 32)
	if err != nil {
		return 0
	}
	return uint32(n)
}
