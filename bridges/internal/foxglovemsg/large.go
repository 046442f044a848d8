package foxglovemsg

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	pb "github.com/raybridge/raybridge/bridges/internal/foxglovemsg/foxglove"
	"github.com/raybridge/raybridge/bridges/internal/rossample"
	"github.com/raybridge/raybridge/bridges/ros"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/simtime"
)

// head is the encoded fields of a large message that stand before its data.
type head []byte

func (h *head) bytes(number protowire.Number, content []byte) {
	*h = protowire.AppendBytes(protowire.AppendTag(*h, number, protowire.BytesType), content)
}

// text appends a string, unless it is empty.
func (h *head) text(number protowire.Number, s string) {
	if s != "" {
		*h = protowire.AppendString(protowire.AppendTag(*h, number, protowire.BytesType), s)
	}
}

// fixed32 appends a number, unless it is 0.
func (h *head) fixed32(number protowire.Number, v uint32) {
	if v != 0 {
		*h = protowire.AppendFixed32(protowire.AppendTag(*h, number, protowire.Fixed32Type), v)
	}
}

// varint appends a number, unless it is 0.
func (h *head) varint(number protowire.Number, v uint64) {
	if v != 0 {
		*h = protowire.AppendVarint(protowire.AppendTag(*h, number, protowire.VarintType), v)
	}
}

// timestamp appends a google.protobuf.Timestamp.
func (h *head) timestamp(number protowire.Number, at simtime.Stamp) {
	sec, nsec := split(at)
	size := 0
	for _, v := range [2]uint64{uint64(sec), uint64(nsec)} {
		if v != 0 {
			size += protowire.SizeTag(1) + protowire.SizeVarint(v)
		}
	}
	h.length(number, size)
	h.varint(1, uint64(sec))
	h.varint(2, uint64(nsec))
}

// split turns nanoseconds into whole seconds, rounded down, and the rest.
func split(at simtime.Stamp) (sec int64, nsec int32) {
	sec, rest := int64(at)/1e9, int64(at)%1e9
	if rest < 0 {
		sec, rest = sec-1, rest+1e9
	}
	return sec, int32(rest)
}

// length appends what stands before a message of so many bytes.
func (h *head) length(number protowire.Number, size int) {
	*h = protowire.AppendVarint(protowire.AppendTag(*h, number, protowire.BytesType), uint64(size))
}

// data appends what stands before so many bytes of data, which come last; none are left
// out.
func (h *head) data(number protowire.Number, size int) {
	if size > 0 {
		h.length(number, size)
	}
}

// identityPose is an encoded foxglove.Pose: position {}, orientation {w: 1}.
var identityPose = func() []byte {
	w := protowire.AppendTag(nil, 4, protowire.Fixed64Type)
	w = binary.LittleEndian.AppendUint64(w, math.Float64bits(1))
	var h head
	h.bytes(1, nil)
	h.bytes(2, w)
	return h
}()

// pointCloud is a foxglove.PointCloud that is made when it is appended.
type pointCloud struct {
	ros  ros.PointCloud2 // where the points come from
	head head            // all fields but the data
}

// setPointCloud makes dst the cloud in its layout. An organised cloud's points lie row
// after row; Foxglove has no word for its shape.
func setPointCloud(dst *pointCloud, src *sample.PointCloud) error {
	if err := rossample.PointCloud2(&dst.ros, src); err != nil {
		return err
	}
	h := dst.head[:0]
	h.timestamp(1, src.Stamp)
	h.text(2, src.FrameID)
	h.bytes(3, identityPose)
	h.fixed32(4, dst.ros.PointStep)
	for i := range dst.ros.PointFields {
		h.field(5, &dst.ros.PointFields[i])
	}
	h.data(6, dst.ros.Data.Len())
	dst.head = h
	return nil
}

// numericTypes are PackedElementField's numbers of sensor_msgs/PointField's types.
var numericTypes = [...]pb.PackedElementField_NumericType{
	ros.PointFieldInt8:    pb.PackedElementField_INT8,
	ros.PointFieldUint8:   pb.PackedElementField_UINT8,
	ros.PointFieldInt16:   pb.PackedElementField_INT16,
	ros.PointFieldUint16:  pb.PackedElementField_UINT16,
	ros.PointFieldInt32:   pb.PackedElementField_INT32,
	ros.PointFieldUint32:  pb.PackedElementField_UINT32,
	ros.PointFieldFloat32: pb.PackedElementField_FLOAT32,
	ros.PointFieldFloat64: pb.PackedElementField_FLOAT64,
}

// field appends a PackedElementField.
func (h *head) field(number protowire.Number, f *ros.PointField) {
	kind := uint64(numericTypes[f.Datatype])
	size := protowire.SizeTag(1) + protowire.SizeBytes(len(f.Name)) + protowire.SizeTag(3) + protowire.SizeVarint(kind)
	if f.Offset != 0 {
		size += protowire.SizeTag(2) + protowire.SizeFixed32()
	}
	h.length(number, size)
	h.text(1, f.Name)
	h.fixed32(2, f.Offset)
	h.varint(3, kind)
}

// Size returns the size of the encoded cloud.
func (c *pointCloud) Size() int { return len(c.head) + c.ros.Data.Len() }

// Append appends the cloud; its points are written once, where they belong.
func (c *pointCloud) Append(dst []byte) ([]byte, error) {
	dst = append(slices.Grow(dst, c.Size()), c.head...)
	begin := len(dst)
	dst = dst[:begin+c.ros.Data.Len()]
	c.ros.Data.Put(dst[begin:])
	return dst, nil
}

func (*pointCloud) descriptor() proto.Message { return (*pb.PointCloud)(nil) }

// framed is a large message whose data stand in the sample.
type framed struct {
	head head   // all fields but the data
	data []byte // the sample's
}

// Size returns the size of the encoded message.
func (m *framed) Size() int { return len(m.head) + len(m.data) }

// Append appends the message.
func (m *framed) Append(dst []byte) ([]byte, error) {
	return append(append(slices.Grow(dst, m.Size()), m.head...), m.data...), nil
}

// rawImage is a foxglove.RawImage.
type rawImage struct{ framed }

// setRawImage makes dst the picture.
func setRawImage(dst *rawImage, src *sample.Image) error {
	if src.Step*src.Height != len(src.Data) {
		return fmt.Errorf("image of %d rows of %d bytes has %d bytes: %w", src.Height, src.Step, len(src.Data), rossample.ErrSize)
	}
	h := dst.head[:0]
	h.timestamp(1, src.Stamp)
	h.text(7, src.FrameID)
	h.fixed32(2, uint32(src.Width))
	h.fixed32(3, uint32(src.Height))
	h.text(4, src.Encoding)
	h.fixed32(5, uint32(src.Step))
	h.data(6, len(src.Data))
	dst.head, dst.data = h, src.Data
	return nil
}

func (*rawImage) descriptor() proto.Message { return (*pb.RawImage)(nil) }

// compressedImage is a foxglove.CompressedImage.
type compressedImage struct{ framed }

// setCompressedImage makes dst the encoded picture.
func setCompressedImage(dst *compressedImage, src *sample.CompressedImage) error {
	h := dst.head[:0]
	h.timestamp(1, src.Stamp)
	h.text(4, src.FrameID)
	h.text(3, src.Format)
	h.data(2, len(src.Data))
	dst.head, dst.data = h, src.Data
	return nil
}

func (*compressedImage) descriptor() proto.Message { return (*pb.CompressedImage)(nil) }
