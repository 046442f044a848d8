package carla

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/spatial"
	"github.com/raybridge/raybridge/world"
)

// Sizes of a frame's parts, bytes.
const (
	lengthBytes = 4
	headerBytes = 48
)

// appendFrame appends a frame. It has the length of what follows it, the header (packed: type
// id u64, frame u64, seconds f64, transform 6 f32), and the body.
func appendFrame(dst []byte, typeID uint64, h *sample.Header, body func([]byte) []byte) []byte {
	start := len(dst)
	dst = append(dst, 0, 0, 0, 0)
	dst = binary.LittleEndian.AppendUint64(dst, typeID)
	dst = binary.LittleEndian.AppendUint64(dst, h.Frame)
	dst = binary.LittleEndian.AppendUint64(dst, math.Float64bits(seconds(h.Stamp)))
	dst = appendTransform(dst, h.Pose)
	dst = body(dst)
	binary.LittleEndian.PutUint32(dst[start:], uint32(len(dst)-start-lengthBytes))
	return dst
}

// seconds is the nearest number to a time: 0.3 s are 0.3.
func seconds(at simtime.Stamp) float64 { return float64(at) / 1e9 }

// rotator returns a rotation as Unreal Engine's pitch, yaw and roll in degrees.
func rotator(p spatial.Pose) (pitch, yaw, roll float64) {
	var ours spatial.Angles
	ours.Roll, ours.Pitch, ours.Yaw = p.RPY()
	theirs := spatial.UnrealAngles.Out(ours)
	return theirs.Pitch, theirs.Yaw, theirs.Roll
}

// appendF32 appends float32; a zero that was mirrored has no sign.
func appendF32(dst []byte, values ...float64) []byte {
	for _, v := range values {
		dst = binary.LittleEndian.AppendUint32(dst, math.Float32bits(float32(v)+0))
	}
	return dst
}

func appendVec(dst []byte, v mgl64.Vec3) []byte { return appendF32(dst, v[0], v[1], v[2]) }

// appendTransform appends CARLA's Transform: location in metres, then pitch, yaw and
// roll, six float32.
func appendTransform(dst []byte, p spatial.Pose) []byte {
	pitch, yaw, roll := rotator(p)
	return appendF32(appendVec(dst, spatial.UnrealAxes.Out(p.Position)), pitch, yaw, roll)
}

func appendGNSS(dst []byte, m *sample.GnssFix) []byte {
	return packF64(packF64(packF64(packArray(dst, 3), m.Latitude), m.Longitude), m.Altitude)
}

// appendIMU appends specific force in m/s², angular velocity in rad/s, and the compass:
// radians clockwise from north.
func appendIMU(dst []byte, m *sample.Imu) []byte {
	dst = packArray(dst, 3)
	dst = packVec(dst, spatial.UnrealAxes.Out(m.LinearAcceleration))
	dst = packVec(dst, spatial.UnrealAxes.OutAxial(m.AngularVelocity))
	return packF32(dst, compass(m))
}

// compass returns the direction in which the sensor's x axis points, clockwise from north. It is
// there too where the orientation isn't reported: then it counts from the map's y axis.
func compass(m *sample.Imu) float64 {
	orientation := m.Orientation
	if m.OrientationCovariance[0] < 0 {
		orientation = m.Pose.Orientation
	}
	ahead := orientation.Rotate(mgl64.Vec3{1, 0, 0})
	angle := math.Atan2(ahead[0], ahead[1])
	if angle < 0 {
		angle += 2 * math.Pi
	}
	return angle
}

func appendCollision(dst []byte, m *sample.Collision) []byte {
	dst = packArray(dst, 3)
	dst = packActor(dst, m.Actor, m.ActorType)
	dst = packActor(dst, m.Other, m.OtherType)
	return packVec(dst, spatial.UnrealAxes.Out(m.NormalImpulse))
}

func appendObstacle(dst []byte, m *sample.Obstacle) []byte {
	dst = packArray(dst, 3)
	dst = packActor(dst, m.Actor, m.ActorType)
	dst = packActor(dst, m.Other, m.OtherType)
	return packF32(dst, float64(m.Distance))
}

// packActor writes CARLA's rpc::Actor: id, parent, description (definition's number, id,
// attributes), bounding box (location, extent, rotation), semantic tags, stream token.
// What events don't know of an actor is empty.
func packActor(dst []byte, id uint32, typeID string) []byte {
	dst = packArray(dst, 6)
	dst = packUint(dst, actorID(id))
	dst = packUint(dst, 0)
	dst = packArray(dst, 3)
	dst = packUint(dst, 0)
	dst = packString(dst, typeID)
	dst = packArray(dst, 0)
	dst = packArray(dst, 3)
	for range 3 {
		dst = packVec(dst, mgl64.Vec3{})
	}
	dst = packBin(dst, nil)
	return packBin(dst, nil)
}

// Sizes of a lane mark and of its points, bytes.
const (
	markBytes      = 10
	markPointBytes = 12
)

func laneMarksBytes(m *sample.LaneMarks) int {
	size := 4
	for i := range m.Marks {
		size += markBytes + markPointBytes*len(m.Marks[i].Points)
	}
	return size
}

// appendLaneMarks appends what CARLA's clients read from their map, in a form of our own: how many
// marks there are, u32. Of each come its id u32, its type and colour u8, the number of its
// points u32, and the points in the map, 3 f32.
func appendLaneMarks(dst []byte, m *sample.LaneMarks) []byte {
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(m.Marks)))
	for i := range m.Marks {
		mark := &m.Marks[i]
		dst = append(binary.LittleEndian.AppendUint32(dst, mark.ID), byte(mark.Type), byte(mark.Color))
		dst = binary.LittleEndian.AppendUint32(dst, uint32(len(mark.Points)))
		for _, p := range mark.Points {
			dst = appendVec(dst, spatial.UnrealAxes.Out(p))
		}
	}
	return dst
}

// Sizes of a world snapshot's parts, bytes (LibCarla's EpisodeStateSerializer and
// ActorDynamicState, both packed).
const (
	episodeBytes = 36
	stateBytes   = 119
	unionBytes   = 54
)

// actorActive is rpc::ActorState::Active.
const actorActive = 1

func snapshotBytes(m *sample.Snapshot) int { return episodeBytes + stateBytes*len(m.Actors) }

// appendSnapshot appends the episode's state. It has its id, the platform's seconds (the
// simulation's stand for them), the seconds since the frame before, the map's origin in
// integers, and flags. Then comes each actor.
func appendSnapshot(dst []byte, m *sample.Snapshot) []byte {
	dst = binary.LittleEndian.AppendUint64(dst, episodeID)
	dst = binary.LittleEndian.AppendUint64(dst, math.Float64bits(seconds(m.Stamp)))
	dst = appendF32(dst, seconds(simtime.Stamp(m.DeltaNs)))
	dst = append(dst, make([]byte, 16)...)
	for i := range m.Actors {
		dst = appendActorState(dst, &m.Actors[i])
	}
	return dst
}

// episodeID is the only episode there is.
const episodeID = 1

func appendActorState(dst []byte, a *sample.ActorState) []byte {
	dst = binary.LittleEndian.AppendUint32(dst, actorID(a.ID))
	dst = append(dst, actorActive)
	dst = appendTransform(dst, a.Pose)
	dst = appendVec(dst, spatial.UnrealAxes.Out(a.Twist.Linear))
	dst = appendVec(dst, spatial.Degrees(spatial.UnrealAxes.OutAxial(a.Twist.Angular)))
	dst = appendVec(dst, spatial.UnrealAxes.Out(a.Acceleration))
	var kind [unionBytes]byte
	putKind(&kind, a)
	return append(dst, kind[:]...)
}

// putKind fills in the part of the state that depends on the kind of the actor.
func putKind(dst *[unionBytes]byte, a *sample.ActorState) {
	switch a.Kind {
	case sample.KindVehicle:
		putVehicle(dst, a)
	case sample.KindWalker:
		// direction, speed, jump
		v := spatial.UnrealAxes.Out(a.Twist.Linear)
		speed := v.Len()
		if speed > 0 {
			v = v.Mul(1 / speed)
		}
		putF32(dst[:], float32(v[0]), float32(v[1]), float32(v[2]), float32(speed))
	case sample.KindTrafficLight:
		// 32 characters of the sign's id; green, yellow, red, elapsed; pole; frozen; state
		putF32(dst[32:], a.Green, a.Yellow, a.Red, a.SignalElapsed)
		dst[53] = byte(a.Signal)
	}
}

func putF32(dst []byte, values ...float32) {
	for i, v := range values {
		binary.LittleEndian.PutUint32(dst[4*i:], math.Float32bits(v))
	}
}

// putVehicle writes throttle, steer, brake; hand brake, reverse, manual shift; gear;
// speed limit; light state; whether it has a light and which; failure state. Which light
// is a vehicle's isn't known: it is green then in CARLA.
func putVehicle(dst *[unionBytes]byte, a *sample.ActorState) {
	putF32(dst[:], a.Throttle, a.Steering, a.Braking)
	if a.Reverse {
		dst[13] = 1
	}
	binary.LittleEndian.PutUint32(dst[15:], uint32(a.Gear))
	dst[23] = byte(world.SignalGreen)
}

// The few kinds of MessagePack (msgpack/spec.md) that CARLA's bodies have.

func packArray(dst []byte, n int) []byte { return append(dst, 0x90|byte(n)) } // n < 16

func packF32(dst []byte, v float64) []byte {
	return binary.BigEndian.AppendUint32(append(dst, 0xca), math.Float32bits(float32(v)))
}

func packF64(dst []byte, v float64) []byte {
	return binary.BigEndian.AppendUint64(append(dst, 0xcb), math.Float64bits(v))
}

func packUint(dst []byte, v uint32) []byte {
	switch {
	case v < 1<<7:
		return append(dst, byte(v))
	case v < 1<<8:
		return append(dst, 0xcc, byte(v))
	case v < 1<<16:
		return binary.BigEndian.AppendUint16(append(dst, 0xcd), uint16(v))
	default:
		return binary.BigEndian.AppendUint32(append(dst, 0xce), v)
	}
}

// packString writes up to 255 bytes of s.
func packString(dst []byte, s string) []byte {
	s = s[:min(len(s), 255)]
	if len(s) < 32 {
		return append(append(dst, 0xa0|byte(len(s))), s...)
	}
	return append(append(dst, 0xd9, byte(len(s))), s...)
}

// packBin writes up to 255 bytes of b.
func packBin(dst []byte, b []byte) []byte {
	return append(append(dst, 0xc4, byte(len(b))), b...)
}

func packVec(dst []byte, v mgl64.Vec3) []byte {
	dst = packArray(dst, 3)
	for _, x := range v {
		dst = packF32(dst, x)
	}
	return dst
}

// cloudBytes returns the size of a cloud's body with points of so many bytes.
func cloudBytes(m *sample.PointCloud, point int) int { return 8 + 4*channels(m) + point*len(m.Points) }

func channels(m *sample.PointCloud) int { return max(m.Rings, 1) }

// missed reports whether a point isn't one: organised clouds have the rays too that
// hit nothing.
func missed(m *sample.PointCloud, p *sample.Point) bool {
	return m.Organized && p.Return == sample.ReturnUnknown
}

// cloudEncoder writes clouds grouped by channel, which is the place of a point's laser
// in the firing. It keeps its scratch memory and belongs to one publisher.
type cloudEncoder struct {
	next   []uint32          // where the next point of each channel goes
	first  uint32            // ray of the firing that was looked at last
	single sample.PointCloud // memory of the strongest points, which are those that CARLA has
}

// channel returns a point's channel of len(next). Points mostly come firing by firing,
// so that it seldom divides.
func (c *cloudEncoder) channel(p *sample.Point) uint32 {
	n := uint32(len(c.next))
	k := p.Ray - c.first
	if k >= n {
		k = p.Ray % n
		c.first = p.Ray - k
	}
	return k
}

// cloudForm is one kind of cloud. It has its horizontal angle, the size of its points, and what
// writes them, each where its channel continues; that returns false for no room.
type cloudForm struct {
	angle float64
	size  int
	put   func(c *cloudEncoder, room []byte, m *sample.PointCloud) bool
}

// append appends the horizontal angle, the number of channels, each channel's number of
// points, and the points.
func (c *cloudEncoder) append(dst []byte, m *sample.PointCloud, form cloudForm) []byte {
	m = m.SingleReturn(&c.single)
	c.next = slices.Grow(c.next[:0], channels(m))[:channels(m)]
	c.first = 0
	// Of a scan without a miss every channel has as many points as there are columns:
	// they needn't be counted, only checked afterwards.
	if !m.Organized && len(m.Points) == len(c.next)*m.Columns {
		c.fill(uint32(m.Columns))
		whole, room := c.begin(dst, form)
		if form.put(c, room, m) && c.isWhole(uint32(m.Columns)) {
			return whole
		}
	}
	c.fill(0)
	for i := range m.Points {
		if p := &m.Points[i]; !missed(m, p) {
			c.next[c.channel(p)]++
		}
	}
	dst, room := c.begin(dst, form)
	form.put(c, room, m)
	return dst
}

func (c *cloudEncoder) fill(count uint32) {
	for k := range c.next {
		c.next[k] = count
	}
}

// isWhole reports whether each channel has had so many points.
func (c *cloudEncoder) isWhole(columns uint32) bool {
	for k, next := range c.next {
		if next != uint32(k+1)*columns {
			return false
		}
	}
	return true
}

// begin appends what comes before the points, and room for those. The channels' counts
// become the places of their points.
func (c *cloudEncoder) begin(dst []byte, form cloudForm) (_, room []byte) {
	dst = appendF32(dst, form.angle)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(c.next)))
	sum := uint32(0)
	for k, count := range c.next {
		dst = binary.LittleEndian.AppendUint32(dst, count)
		c.next[k] = sum
		sum += count
	}
	return extend(dst, form.size*int(sum))
}

// extend appends room for n bytes, which it returns too: what is in it is to be written.
func extend(dst []byte, n int) (_, room []byte) {
	at := len(dst)
	dst = slices.Grow(dst, n)[:at+n]
	return dst, dst[at:]
}

// place returns where a point of so many bytes goes, nil for no room.
func (c *cloudEncoder) place(room []byte, p *sample.Point, size int) []byte {
	k := c.channel(p)
	at := size * int(c.next[k])
	c.next[k]++
	if at+size > len(room) {
		return nil
	}
	return room[at : at+size]
}

// appendLidar appends a scan: points are x, y, z, intensity 0..1. CARLA never fills in
// the angle of this kind, and nor does this.
func (c *cloudEncoder) appendLidar(dst []byte, m *sample.PointCloud) []byte {
	return c.append(dst, m, cloudForm{0, lidarPoint, (*cloudEncoder).putLidar})
}

// appendSemanticLidar appends a scan: points are x, y, z, cosine of the incidence,
// object id, tag.
func (c *cloudEncoder) appendSemanticLidar(dst []byte, m *sample.PointCloud) []byte {
	return c.append(dst, m, cloudForm{m.HorizontalAngle, semanticPoint, (*cloudEncoder).putSemantic})
}

// Sizes of points, bytes.
const (
	lidarPoint    = 16
	semanticPoint = 24
)

func (c *cloudEncoder) putLidar(room []byte, m *sample.PointCloud) bool {
	scale := float32(1)
	if !m.UnitIntensity {
		scale = 1.0 / 255
	}
	for i := range m.Points {
		p := &m.Points[i]
		if missed(m, p) {
			continue
		}
		to := c.place(room, p, lidarPoint)
		if len(to) < lidarPoint {
			return false
		}
		putPosition(to, p)
		binary.LittleEndian.PutUint32(to[12:], math.Float32bits(p.Intensity*scale))
	}
	return true
}

func (c *cloudEncoder) putSemantic(room []byte, m *sample.PointCloud) bool {
	for i := range m.Points {
		p := &m.Points[i]
		if missed(m, p) {
			continue
		}
		to := c.place(room, p, semanticPoint)
		if len(to) < semanticPoint {
			return false
		}
		putPosition(to, p)
		binary.LittleEndian.PutUint32(to[12:], math.Float32bits(p.CosIncidence))
		binary.LittleEndian.PutUint32(to[16:], p.Instance)
		binary.LittleEndian.PutUint32(to[20:], uint32(p.Tag))
	}
	return true
}

// putPosition writes a point's place in CARLA's axes.
func putPosition(to []byte, p *sample.Point) {
	_ = to[11]
	binary.LittleEndian.PutUint32(to, math.Float32bits(p.X))
	binary.LittleEndian.PutUint32(to[4:], math.Float32bits(-p.Y))
	binary.LittleEndian.PutUint32(to[8:], math.Float32bits(p.Z))
}

func radarBytes(m *sample.Radar) int { return 16 * len(m.Detections) }

// appendRadar appends detections: velocity, azimuth (positive to the right), altitude,
// depth.
func appendRadar(dst []byte, m *sample.Radar) []byte {
	for i := range m.Detections {
		d := &m.Detections[i]
		dst = appendF32(dst, float64(d.Velocity), -float64(d.Azimuth), float64(d.Altitude), float64(d.Depth))
	}
	return dst
}

// appendImageHead appends the 12 bytes before the pixels: width, height, horizontal
// field of view in degrees.
func appendImageHead(dst []byte, width, height int, fov float64) []byte {
	dst = binary.LittleEndian.AppendUint32(dst, uint32(width))
	dst = binary.LittleEndian.AppendUint32(dst, uint32(height))
	return appendF32(dst, fov)
}

// imageBytes returns the size of an image's body.
func imageBytes(m *sample.Image) int {
	pixel := 4
	if m.Encoding == sample.Encoding32FC2 {
		pixel = 8
	}
	return 12 + pixel*m.Width*m.Height
}

// checkImage says why an image can't be sent.
func checkImage(m *sample.Image) error {
	size, ok := pixelSizes[m.Encoding]
	switch {
	case !ok:
		return fmt.Errorf("%w: CARLA has no picture of encoding %q", bridges.ErrConvert, m.Encoding)
	case m.Width < 0 || m.Height < 0 || m.Step < size*m.Width || len(m.Data) < m.Step*m.Height:
		return fmt.Errorf("%w: %d bytes are no %dx%d picture of %s", bridges.ErrConvert, len(m.Data), m.Width, m.Height, m.Encoding)
	}
	return nil
}

var pixelSizes = map[string]int{
	sample.EncodingRGB8: 3, sample.EncodingBGR8: 3, sample.EncodingBGRA8: 4, sample.EncodingMono8: 1,
	sample.Encoding16UC1: 2, sample.Encoding32SC1: 4, sample.Encoding32FC1: 4, sample.Encoding32FC2: 8, sample.Encoding32FC3: 12,
}

// appendImage appends an image's body: pixels are B, G, R, A, or two float32 of
// optical flow. The image was checked.
func appendImage(dst []byte, m *sample.Image) []byte {
	dst = appendImageHead(dst, m.Width, m.Height, m.FovDeg)
	size := pixelSizes[m.Encoding]
	asItIs := m.Encoding == sample.EncodingBGRA8 || m.Encoding == sample.Encoding32FC2
	var colors [9]float32
	if m.Encoding == sample.Encoding32FC3 {
		colors = normalColors(m.Pose)
	}
	for y := range m.Height {
		row := m.Data[y*m.Step:][:size*m.Width]
		if asItIs {
			dst = append(dst, row...)
			continue
		}
		var pixels []byte
		dst, pixels = extend(dst, 4*m.Width)
		convertRow(pixels, row, m.Encoding, &colors)
	}
	return dst
}

// convertRow turns a row of an encoding into B, G, R, A; normals with their colors.
func convertRow(dst, row []byte, encoding string, colors *[9]float32) {
	switch encoding {
	case sample.EncodingRGB8:
		spread(dst, row, 2, 1, 0)
	case sample.EncodingBGR8:
		spread(dst, row, 0, 1, 2)
	case sample.EncodingMono8:
		tagRow(dst, row)
	case sample.Encoding16UC1:
		idRow(dst, row, 2)
	case sample.Encoding32SC1:
		idRow(dst, row, 4)
	case sample.Encoding32FC1:
		depthRow(dst, row)
	case sample.Encoding32FC3:
		normalRow(dst, row, colors)
	}
}

// spread writes three bytes a pixel as four.
func spread(dst, row []byte, b, g, r int) {
	for ; len(row) >= 3 && len(dst) >= 4; dst, row = dst[4:], row[3:] {
		p := row[:3:3]
		dst[0], dst[1], dst[2], dst[3] = p[b], p[g], p[r], 255
	}
}

// opaque is a pixel's alpha, where a pixel is the little-endian word of B, G, R, A.
const opaque = 0xff << 24

// tagRow puts a tag into red.
func tagRow(dst, row []byte) {
	for i, tag := range row {
		binary.LittleEndian.PutUint32(dst[4*i:], opaque|uint32(tag)<<16)
	}
}

// idRow puts the lower and the upper byte of an id of so many bytes into green and blue.
func idRow(dst, row []byte, size int) {
	for i := 0; (i+1)*size <= len(row); i++ {
		id := uint32(binary.LittleEndian.Uint16(row[i*size:]))
		binary.LittleEndian.PutUint32(dst[4*i:], opaque|(id&0xff)<<8|id>>8)
	}
}

// farthest is the distance that CARLA's depth code can say, metres, and depthSteps the
// code of it.
const (
	farthest   = 1000.0
	depthSteps = 1<<24 - 1
)

// depthRow writes metres as 24 bits, red the lowest: R + 256 G + 65536 B of 2^24 - 1
// is 1000 m. What is beyond, and the sky, is 1000 m; what isn't known is 0.
func depthRow(dst, row []byte) {
	for ; len(row) >= 4 && len(dst) >= 4; dst, row = dst[4:], row[4:] {
		depth := math.Float32frombits(binary.LittleEndian.Uint32(row))
		code := uint32(0)
		if depth >= farthest {
			code = depthSteps
		} else if depth > 0 { // nor is NaN
			code = uint32(float64(depth)*(depthSteps/farthest) + 0.5)
		}
		binary.LittleEndian.PutUint32(dst, opaque|code>>16|code&0xff00|(code&0xff)<<16)
	}
}

// normalColors returns the map from normals in a camera's optical frame to colours: each
// axis of CARLA's world, -1 to 1, is 0 to 255.
func normalColors(camera spatial.Pose) (m [9]float32) {
	turn := camera.Compose(spatial.OpticalInBody()).Orientation.Mat4().Mat3()
	for row, sign := range spatial.UnrealAxes.Out(mgl64.Vec3{1, 1, 1}) {
		for column := range 3 {
			m[3*row+column] = float32(sign * 127.5 * turn.At(row, column))
		}
	}
	return m
}

// normalRow writes normals as colours; what has none is black.
func normalRow(dst, row []byte, m *[9]float32) {
	for ; len(row) >= 12 && len(dst) >= 4; dst, row = dst[4:], row[12:] {
		x := math.Float32frombits(binary.LittleEndian.Uint32(row))
		y := math.Float32frombits(binary.LittleEndian.Uint32(row[4:]))
		z := math.Float32frombits(binary.LittleEndian.Uint32(row[8:]))
		if math.IsNaN(float64(x + y + z)) {
			binary.LittleEndian.PutUint32(dst, opaque)
			continue
		}
		r, g, b := level(m[0]*x+m[1]*y+m[2]*z), level(m[3]*x+m[4]*y+m[5]*z), level(m[6]*x+m[7]*y+m[8]*z)
		binary.LittleEndian.PutUint32(dst, opaque|r<<16|g<<8|b)
	}
}

// level returns the colour of a normal's part that is -127.5 to 127.5.
func level(part float32) uint32 { return uint32(max(min(part+128, 255), 0)) }

// dvsEventBytes is the size of an event: x u16, y u16, time i64 ns, polarity u8.
const dvsEventBytes = 13

func dvsBytes(m *sample.DvsEvents) int { return 12 + dvsEventBytes*len(m.Events) }

func appendDVS(dst []byte, m *sample.DvsEvents) []byte {
	dst = appendImageHead(dst, m.Width, m.Height, m.FovDeg)
	for i := range m.Events {
		e := &m.Events[i]
		dst = binary.LittleEndian.AppendUint16(dst, e.X)
		dst = binary.LittleEndian.AppendUint16(dst, e.Y)
		dst = binary.LittleEndian.AppendUint64(dst, uint64(e.TimeNs))
		polarity := byte(0)
		if e.Polarity {
			polarity = 1
		}
		dst = append(dst, polarity)
	}
	return dst
}
