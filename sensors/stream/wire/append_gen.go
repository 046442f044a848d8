// Code generated from package schema; DO NOT EDIT.

package wire

import (
	"fmt"
	"math"

	"github.com/raybridge/raybridge/sensors/sample"
)

func sizeImage(m *sample.Image) int64 {
	n := int64(32)
	n += padded(len(m.Encoding), 1)
	n += padded(len(m.Data), 1)
	return n
}

func putImage(b []byte, m *sample.Image) error {
	clear(b[:32])
	if uint64(m.Width) > math.MaxUint32 {
		return fmt.Errorf("%w: Image.Width is %d", ErrSize, m.Width)
	}
	le.PutUint32(b[0:], uint32(m.Width))
	if uint64(m.Height) > math.MaxUint32 {
		return fmt.Errorf("%w: Image.Height is %d", ErrSize, m.Height)
	}
	le.PutUint32(b[4:], uint32(m.Height))
	if uint64(m.Step) > math.MaxUint32 {
		return fmt.Errorf("%w: Image.Step is %d", ErrSize, m.Step)
	}
	le.PutUint32(b[8:], uint32(m.Step))
	le.PutUint32(b[12:], uint32(len(m.Encoding)))
	le.PutUint64(b[16:], math.Float64bits(m.FovDeg))
	le.PutUint32(b[24:], uint32(len(m.Data)))
	o := int64(32)
	copy(b[o:], m.Encoding)
	o = pad(b, o, 1*len(m.Encoding))
	copy(b[o:], m.Data)
	pad(b, o, 1*len(m.Data))
	return nil
}

func sizeCompressedImage(m *sample.CompressedImage) int64 {
	n := int64(8)
	n += padded(len(m.Format), 1)
	n += padded(len(m.Data), 1)
	return n
}

func putCompressedImage(b []byte, m *sample.CompressedImage) error {
	clear(b[:8])
	le.PutUint32(b[0:], uint32(len(m.Format)))
	le.PutUint32(b[4:], uint32(len(m.Data)))
	o := int64(8)
	copy(b[o:], m.Format)
	o = pad(b, o, 1*len(m.Format))
	copy(b[o:], m.Data)
	pad(b, o, 1*len(m.Data))
	return nil
}

func sizeCameraInfo(m *sample.CameraInfo) int64 {
	n := int64(256)
	n += padded(len(m.DistortionModel), 1)
	n += padded(len(m.D), 8)
	return n
}

func putCameraInfo(b []byte, m *sample.CameraInfo) error {
	clear(b[:256])
	if uint64(m.Width) > math.MaxUint32 {
		return fmt.Errorf("%w: CameraInfo.Width is %d", ErrSize, m.Width)
	}
	le.PutUint32(b[0:], uint32(m.Width))
	if uint64(m.Height) > math.MaxUint32 {
		return fmt.Errorf("%w: CameraInfo.Height is %d", ErrSize, m.Height)
	}
	le.PutUint32(b[4:], uint32(m.Height))
	le.PutUint32(b[8:], uint32(len(m.DistortionModel)))
	le.PutUint32(b[12:], uint32(len(m.D)))
	putFloats64(b[16:], m.K[:])
	putFloats64(b[88:], m.R[:])
	putFloats64(b[160:], m.P[:])
	o := int64(256)
	copy(b[o:], m.DistortionModel)
	o = pad(b, o, 1*len(m.DistortionModel))
	putFloats64(b[o:], m.D)
	pad(b, o, 8*len(m.D))
	return nil
}

func sizePointCloud(m *sample.PointCloud) int64 {
	n := int64(32)
	n += padded(len(m.Layout), 1)
	n += padded(len(m.Points), 48)
	return n
}

func putPointCloud(b []byte, m *sample.PointCloud) error {
	clear(b[:32])
	le.PutUint64(b[0:], math.Float64bits(m.HorizontalAngle))
	if uint64(m.Rings) > math.MaxUint32 {
		return fmt.Errorf("%w: PointCloud.Rings is %d", ErrSize, m.Rings)
	}
	le.PutUint32(b[8:], uint32(m.Rings))
	if uint64(m.Columns) > math.MaxUint32 {
		return fmt.Errorf("%w: PointCloud.Columns is %d", ErrSize, m.Columns)
	}
	le.PutUint32(b[12:], uint32(m.Columns))
	b[16] = flag(m.Organized)
	b[17] = flag(m.UnitIntensity)
	le.PutUint32(b[20:], uint32(len(m.Layout)))
	le.PutUint32(b[24:], uint32(len(m.Points)))
	o := int64(32)
	copy(b[o:], m.Layout)
	o = pad(b, o, 1*len(m.Layout))
	putRecords(b[o:], m.Points, putPoint)
	pad(b, o, 48*len(m.Points))
	return nil
}

func sizeLaserScan(m *sample.LaserScan) int64 {
	n := int64(40)
	n += padded(len(m.Ranges), 4)
	n += padded(len(m.Intensities), 4)
	return n
}

func putLaserScan(b []byte, m *sample.LaserScan) error {
	clear(b[:40])
	le.PutUint32(b[0:], math.Float32bits(m.AngleMin))
	le.PutUint32(b[4:], math.Float32bits(m.AngleMax))
	le.PutUint32(b[8:], math.Float32bits(m.AngleIncrement))
	le.PutUint32(b[12:], math.Float32bits(m.TimeIncrement))
	le.PutUint32(b[16:], math.Float32bits(m.ScanTime))
	le.PutUint32(b[20:], math.Float32bits(m.RangeMin))
	le.PutUint32(b[24:], math.Float32bits(m.RangeMax))
	le.PutUint32(b[28:], uint32(len(m.Ranges)))
	le.PutUint32(b[32:], uint32(len(m.Intensities)))
	o := int64(40)
	putFloats32(b[o:], m.Ranges)
	o = pad(b, o, 4*len(m.Ranges))
	putFloats32(b[o:], m.Intensities)
	pad(b, o, 4*len(m.Intensities))
	return nil
}

func sizeRadar(m *sample.Radar) int64 {
	n := int64(8)
	n += padded(len(m.Detections), 24)
	return n
}

func putRadar(b []byte, m *sample.Radar) error {
	clear(b[:8])
	le.PutUint32(b[0:], uint32(len(m.Detections)))
	o := int64(8)
	for i := range m.Detections {
		putRadarDetection(b[o+24*int64(i):], &m.Detections[i])
	}
	pad(b, o, 24*len(m.Detections))
	return nil
}

func sizeRange(m *sample.Range) int64 {
	n := int64(24)
	return n
}

func putRange(b []byte, m *sample.Range) error {
	clear(b[:24])
	b[0] = byte(m.Radiation)
	le.PutUint32(b[4:], math.Float32bits(m.FieldOfView))
	le.PutUint32(b[8:], math.Float32bits(m.MinRange))
	le.PutUint32(b[12:], math.Float32bits(m.MaxRange))
	le.PutUint32(b[16:], math.Float32bits(m.Range))
	return nil
}

func sizeDvsEvents(m *sample.DvsEvents) int64 {
	n := int64(24)
	n += padded(len(m.Events), 16)
	return n
}

func putDvsEvents(b []byte, m *sample.DvsEvents) error {
	clear(b[:24])
	if uint64(m.Width) > math.MaxUint32 {
		return fmt.Errorf("%w: DvsEvents.Width is %d", ErrSize, m.Width)
	}
	le.PutUint32(b[0:], uint32(m.Width))
	if uint64(m.Height) > math.MaxUint32 {
		return fmt.Errorf("%w: DvsEvents.Height is %d", ErrSize, m.Height)
	}
	le.PutUint32(b[4:], uint32(m.Height))
	le.PutUint64(b[8:], math.Float64bits(m.FovDeg))
	le.PutUint32(b[16:], uint32(len(m.Events)))
	o := int64(24)
	for i := range m.Events {
		putDvsEvent(b[o+16*int64(i):], &m.Events[i])
	}
	pad(b, o, 16*len(m.Events))
	return nil
}

func sizeImu(m *sample.Imu) int64 {
	n := int64(296)
	return n
}

func putImu(b []byte, m *sample.Imu) error {
	clear(b[:296])
	putQuat(b[0:], &m.Orientation)
	putFloats64(b[32:], m.OrientationCovariance[:])
	putVec3(b[104:], &m.AngularVelocity)
	putFloats64(b[128:], m.AngularVelocityCovariance[:])
	putVec3(b[200:], &m.LinearAcceleration)
	putFloats64(b[224:], m.LinearAccelerationCovariance[:])
	return nil
}

func sizeGnssFix(m *sample.GnssFix) int64 {
	n := int64(104)
	return n
}

func putGnssFix(b []byte, m *sample.GnssFix) error {
	clear(b[:104])
	b[0] = byte(m.Status)
	b[1] = byte(m.PositionCovarianceType)
	le.PutUint16(b[2:], uint16(m.Service))
	le.PutUint64(b[8:], math.Float64bits(m.Latitude))
	le.PutUint64(b[16:], math.Float64bits(m.Longitude))
	le.PutUint64(b[24:], math.Float64bits(m.Altitude))
	putFloats64(b[32:], m.PositionCovariance[:])
	return nil
}

func sizeOdometry(m *sample.Odometry) int64 {
	n := int64(688)
	n += padded(len(m.ChildFrameID), 1)
	return n
}

func putOdometry(b []byte, m *sample.Odometry) error {
	clear(b[:688])
	le.PutUint32(b[0:], uint32(len(m.ChildFrameID)))
	putPose(b[8:], &m.BodyPose)
	putFloats64(b[64:], m.PoseCovariance[:])
	putTwist(b[352:], &m.Twist)
	putFloats64(b[400:], m.TwistCovariance[:])
	o := int64(688)
	copy(b[o:], m.ChildFrameID)
	pad(b, o, 1*len(m.ChildFrameID))
	return nil
}

func sizeTransforms(m *sample.Transforms) int64 {
	n := int64(16)
	n += padded(len(m.Transforms), 152)
	n += padded(textTransforms(m), 1)
	return n
}

func textTransforms(m *sample.Transforms) int {
	n := 0
	for i := range m.Transforms {
		r := &m.Transforms[i]
		n += len(r.FrameID)
		n += len(r.ChildFrameID)
	}
	return n
}

func putTransforms(b []byte, m *sample.Transforms) error {
	clear(b[:16])
	b[0] = flag(m.Static)
	le.PutUint32(b[4:], uint32(len(m.Transforms)))
	o := int64(16)
	text := textTransforms(m)
	le.PutUint32(b[8:], uint32(text))
	t := texts{all: b[int64(len(b))-padded(text, 1):]}
	pad(b, int64(len(b))-padded(text, 1), text)
	for i := range m.Transforms {
		if err := putTransform(b[o+152*int64(i):], &m.Transforms[i], &t); err != nil {
			return err
		}
	}
	pad(b, o, 152*len(m.Transforms))
	return nil
}

func sizeDetections2D(m *sample.Detections2D) int64 {
	n := int64(16)
	n += padded(len(m.Boxes), 104)
	n += padded(textDetections2D(m), 1)
	return n
}

func textDetections2D(m *sample.Detections2D) int {
	n := 0
	for i := range m.Boxes {
		r := &m.Boxes[i]
		n += len(r.TypeID)
		n += len(r.Label)
	}
	return n
}

func putDetections2D(b []byte, m *sample.Detections2D) error {
	clear(b[:16])
	if uint64(m.Width) > math.MaxUint32 {
		return fmt.Errorf("%w: Detections2D.Width is %d", ErrSize, m.Width)
	}
	le.PutUint32(b[0:], uint32(m.Width))
	if uint64(m.Height) > math.MaxUint32 {
		return fmt.Errorf("%w: Detections2D.Height is %d", ErrSize, m.Height)
	}
	le.PutUint32(b[4:], uint32(m.Height))
	le.PutUint32(b[8:], uint32(len(m.Boxes)))
	o := int64(16)
	text := textDetections2D(m)
	le.PutUint32(b[12:], uint32(text))
	t := texts{all: b[int64(len(b))-padded(text, 1):]}
	pad(b, int64(len(b))-padded(text, 1), text)
	for i := range m.Boxes {
		if err := putBox2D(b[o+104*int64(i):], &m.Boxes[i], &t); err != nil {
			return err
		}
	}
	pad(b, o, 104*len(m.Boxes))
	return nil
}

func sizeDetections3D(m *sample.Detections3D) int64 {
	n := int64(8)
	n += padded(len(m.Boxes), 184)
	n += padded(textDetections3D(m), 1)
	return n
}

func textDetections3D(m *sample.Detections3D) int {
	n := 0
	for i := range m.Boxes {
		r := &m.Boxes[i]
		n += len(r.TypeID)
		n += len(r.Label)
	}
	return n
}

func putDetections3D(b []byte, m *sample.Detections3D) error {
	clear(b[:8])
	le.PutUint32(b[0:], uint32(len(m.Boxes)))
	o := int64(8)
	text := textDetections3D(m)
	le.PutUint32(b[4:], uint32(text))
	t := texts{all: b[int64(len(b))-padded(text, 1):]}
	pad(b, int64(len(b))-padded(text, 1), text)
	for i := range m.Boxes {
		if err := putBox3D(b[o+184*int64(i):], &m.Boxes[i], &t); err != nil {
			return err
		}
	}
	pad(b, o, 184*len(m.Boxes))
	return nil
}

func sizeRadarObjects(m *sample.RadarObjects) int64 {
	n := int64(8)
	n += padded(len(m.Objects), 80)
	return n
}

func putRadarObjects(b []byte, m *sample.RadarObjects) error {
	clear(b[:8])
	le.PutUint32(b[0:], uint32(len(m.Objects)))
	o := int64(8)
	for i := range m.Objects {
		putRadarObject(b[o+80*int64(i):], &m.Objects[i])
	}
	pad(b, o, 80*len(m.Objects))
	return nil
}

func sizeSignals(m *sample.Signals) int64 {
	n := int64(8)
	n += padded(len(m.Signals), 104)
	n += padded(textSignals(m), 1)
	return n
}

func textSignals(m *sample.Signals) int {
	n := 0
	for i := range m.Signals {
		r := &m.Signals[i]
		n += len(r.Label)
	}
	return n
}

func putSignals(b []byte, m *sample.Signals) error {
	clear(b[:8])
	le.PutUint32(b[0:], uint32(len(m.Signals)))
	o := int64(8)
	text := textSignals(m)
	le.PutUint32(b[4:], uint32(text))
	t := texts{all: b[int64(len(b))-padded(text, 1):]}
	pad(b, int64(len(b))-padded(text, 1), text)
	for i := range m.Signals {
		if err := putSignal(b[o+104*int64(i):], &m.Signals[i], &t); err != nil {
			return err
		}
	}
	pad(b, o, 104*len(m.Signals))
	return nil
}

func sizeCollision(m *sample.Collision) int64 {
	n := int64(40)
	n += padded(len(m.ActorType), 1)
	n += padded(len(m.OtherType), 1)
	return n
}

func putCollision(b []byte, m *sample.Collision) error {
	clear(b[:40])
	le.PutUint32(b[0:], uint32(m.Actor))
	le.PutUint32(b[4:], uint32(m.Other))
	le.PutUint32(b[8:], uint32(len(m.ActorType)))
	le.PutUint32(b[12:], uint32(len(m.OtherType)))
	putVec3(b[16:], &m.NormalImpulse)
	o := int64(40)
	copy(b[o:], m.ActorType)
	o = pad(b, o, 1*len(m.ActorType))
	copy(b[o:], m.OtherType)
	pad(b, o, 1*len(m.OtherType))
	return nil
}

func sizeObstacle(m *sample.Obstacle) int64 {
	n := int64(24)
	n += padded(len(m.ActorType), 1)
	n += padded(len(m.OtherType), 1)
	return n
}

func putObstacle(b []byte, m *sample.Obstacle) error {
	clear(b[:24])
	le.PutUint32(b[0:], uint32(m.Actor))
	le.PutUint32(b[4:], uint32(m.Other))
	le.PutUint32(b[8:], uint32(len(m.ActorType)))
	le.PutUint32(b[12:], uint32(len(m.OtherType)))
	le.PutUint32(b[16:], math.Float32bits(m.Distance))
	o := int64(24)
	copy(b[o:], m.ActorType)
	o = pad(b, o, 1*len(m.ActorType))
	copy(b[o:], m.OtherType)
	pad(b, o, 1*len(m.OtherType))
	return nil
}

func sizeLaneInvasion(m *sample.LaneInvasion) int64 {
	n := int64(8)
	n += padded(len(m.Marks), 8)
	return n
}

func putLaneInvasion(b []byte, m *sample.LaneInvasion) error {
	clear(b[:8])
	le.PutUint32(b[0:], uint32(m.Actor))
	le.PutUint32(b[4:], uint32(len(m.Marks)))
	o := int64(8)
	for i := range m.Marks {
		putCrossedMark(b[o+8*int64(i):], &m.Marks[i])
	}
	pad(b, o, 8*len(m.Marks))
	return nil
}

func sizeSpeed(m *sample.Speed) int64 {
	n := int64(8)
	return n
}

func putSpeed(b []byte, m *sample.Speed) error {
	clear(b[:8])
	le.PutUint64(b[0:], math.Float64bits(m.MetresPerSecond))
	return nil
}

func sizeCanBus(m *sample.CanBus) int64 {
	n := int64(136)
	return n
}

func putCanBus(b []byte, m *sample.CanBus) error {
	clear(b[:136])
	le.PutUint64(b[0:], math.Float64bits(m.Speed))
	le.PutUint64(b[8:], math.Float64bits(m.Throttle))
	le.PutUint64(b[16:], math.Float64bits(m.Braking))
	le.PutUint64(b[24:], math.Float64bits(m.Steering))
	le.PutUint64(b[32:], math.Float64bits(m.EngineRPM))
	b[40] = flag(m.ParkingBrake)
	b[41] = flag(m.HighBeam)
	b[42] = flag(m.LowBeam)
	b[43] = flag(m.HazardLights)
	b[44] = flag(m.FogLights)
	b[45] = flag(m.LeftTurn)
	b[46] = flag(m.RightTurn)
	b[47] = flag(m.Wipers)
	b[48] = flag(m.Reverse)
	b[49] = flag(m.EngineOn)
	b[50] = byte(m.Gear)
	le.PutUint64(b[56:], math.Float64bits(m.Latitude))
	le.PutUint64(b[64:], math.Float64bits(m.Longitude))
	le.PutUint64(b[72:], math.Float64bits(m.Altitude))
	putQuat(b[80:], &m.Orientation)
	putVec3(b[112:], &m.Velocity)
	return nil
}

func sizeVehicleOdometry(m *sample.VehicleOdometry) int64 {
	n := int64(24)
	return n
}

func putVehicleOdometry(b []byte, m *sample.VehicleOdometry) error {
	clear(b[:24])
	le.PutUint64(b[0:], math.Float64bits(m.Velocity))
	le.PutUint64(b[8:], math.Float64bits(m.FrontWheelAngle))
	le.PutUint64(b[16:], math.Float64bits(m.RearWheelAngle))
	return nil
}

func sizeGpsOdometry(m *sample.GpsOdometry) int64 {
	n := int64(144)
	n += padded(len(m.ChildFrameID), 1)
	return n
}

func putGpsOdometry(b []byte, m *sample.GpsOdometry) error {
	clear(b[:144])
	le.PutUint32(b[0:], uint32(len(m.ChildFrameID)))
	le.PutUint64(b[8:], math.Float64bits(m.Latitude))
	le.PutUint64(b[16:], math.Float64bits(m.Longitude))
	le.PutUint64(b[24:], math.Float64bits(m.Altitude))
	le.PutUint64(b[32:], math.Float64bits(m.Northing))
	le.PutUint64(b[40:], math.Float64bits(m.Easting))
	putQuat(b[48:], &m.Orientation)
	le.PutUint64(b[80:], math.Float64bits(m.ForwardSpeed))
	putVec3(b[88:], &m.Velocity)
	putVec3(b[112:], &m.AngularVelocity)
	le.PutUint64(b[136:], math.Float64bits(m.WheelAngle))
	o := int64(144)
	copy(b[o:], m.ChildFrameID)
	pad(b, o, 1*len(m.ChildFrameID))
	return nil
}

func sizeInsStatus(m *sample.InsStatus) int64 {
	n := int64(8)
	return n
}

func putInsStatus(b []byte, m *sample.InsStatus) error {
	clear(b[:8])
	le.PutUint32(b[0:], uint32(m.Status))
	le.PutUint32(b[4:], uint32(m.PositionType))
	return nil
}

func sizeSnapshot(m *sample.Snapshot) int64 {
	n := int64(16)
	n += padded(len(m.Actors), 224)
	n += padded(textSnapshot(m), 1)
	return n
}

func textSnapshot(m *sample.Snapshot) int {
	n := 0
	for i := range m.Actors {
		r := &m.Actors[i]
		n += len(r.TypeID)
	}
	return n
}

func putSnapshot(b []byte, m *sample.Snapshot) error {
	clear(b[:16])
	le.PutUint64(b[0:], uint64(m.DeltaNs))
	le.PutUint32(b[8:], uint32(len(m.Actors)))
	o := int64(16)
	text := textSnapshot(m)
	le.PutUint32(b[12:], uint32(text))
	t := texts{all: b[int64(len(b))-padded(text, 1):]}
	pad(b, int64(len(b))-padded(text, 1), text)
	for i := range m.Actors {
		if err := putActorState(b[o+224*int64(i):], &m.Actors[i], &t); err != nil {
			return err
		}
	}
	pad(b, o, 224*len(m.Actors))
	return nil
}

func putPoint(b []byte, m *sample.Point) {
	clear(b[:48])
	le.PutUint32(b[0:], math.Float32bits(m.X))
	le.PutUint32(b[4:], math.Float32bits(m.Y))
	le.PutUint32(b[8:], math.Float32bits(m.Z))
	le.PutUint32(b[12:], math.Float32bits(m.Intensity))
	le.PutUint32(b[16:], math.Float32bits(m.Distance))
	le.PutUint32(b[20:], math.Float32bits(m.Azimuth))
	le.PutUint32(b[24:], math.Float32bits(m.Elevation))
	le.PutUint32(b[28:], uint32(m.TimeNs))
	le.PutUint16(b[32:], uint16(m.Ring))
	b[34] = byte(m.Return)
	b[35] = byte(m.Tag)
	le.PutUint32(b[36:], uint32(m.Instance))
	le.PutUint32(b[40:], math.Float32bits(m.CosIncidence))
	le.PutUint32(b[44:], uint32(m.Ray))
}

func putRadarDetection(b []byte, m *sample.RadarDetection) {
	clear(b[:24])
	le.PutUint32(b[0:], math.Float32bits(m.Velocity))
	le.PutUint32(b[4:], math.Float32bits(m.Azimuth))
	le.PutUint32(b[8:], math.Float32bits(m.Altitude))
	le.PutUint32(b[12:], math.Float32bits(m.Depth))
	le.PutUint32(b[16:], uint32(m.Instance))
	b[20] = byte(m.Tag)
}

func putDvsEvent(b []byte, m *sample.DvsEvent) {
	clear(b[:16])
	le.PutUint64(b[0:], uint64(m.TimeNs))
	le.PutUint16(b[8:], uint16(m.X))
	le.PutUint16(b[10:], uint16(m.Y))
	b[12] = flag(m.Polarity)
}

func putTransform(b []byte, m *sample.Transform, t *texts) error {
	clear(b[:152])
	le.PutUint64(b[0:], uint64(m.StampNs))
	le.PutUint64(b[8:], uint64(m.Seq))
	le.PutUint64(b[16:], uint64(m.Frame))
	t.put(b[24:], m.FrameID)
	t.put(b[32:], m.ChildFrameID)
	putPose(b[40:], &m.Pose)
	putPose(b[96:], &m.Relative)
	return nil
}

func putBox2D(b []byte, m *sample.Box2D, t *texts) error {
	clear(b[:104])
	le.PutUint32(b[0:], uint32(m.ID))
	b[4] = byte(m.Tag)
	t.put(b[8:], m.TypeID)
	t.put(b[16:], m.Label)
	le.PutUint32(b[24:], math.Float32bits(m.Score))
	le.PutUint32(b[28:], math.Float32bits(m.CenterX))
	le.PutUint32(b[32:], math.Float32bits(m.CenterY))
	le.PutUint32(b[36:], math.Float32bits(m.Width))
	le.PutUint32(b[40:], math.Float32bits(m.Height))
	le.PutUint32(b[44:], uint32(m.Pixels))
	le.PutUint32(b[48:], math.Float32bits(m.Occlusion))
	le.PutUint32(b[52:], math.Float32bits(m.Truncation))
	putTwist(b[56:], &m.Twist)
	return nil
}

func putBox3D(b []byte, m *sample.Box3D, t *texts) error {
	clear(b[:184])
	le.PutUint32(b[0:], uint32(m.ID))
	b[4] = byte(m.Tag)
	t.put(b[8:], m.TypeID)
	t.put(b[16:], m.Label)
	le.PutUint32(b[24:], math.Float32bits(m.Score))
	le.PutUint32(b[28:], math.Float32bits(m.Occlusion))
	putPose(b[32:], &m.Pose)
	putVec3(b[88:], &m.Size)
	putTwist(b[112:], &m.Twist)
	putVec3(b[160:], &m.Acceleration)
	return nil
}

func putRadarObject(b []byte, m *sample.RadarObject) {
	clear(b[:80])
	le.PutUint32(b[0:], uint32(m.ID))
	b[4] = flag(m.Moving)
	b[5] = flag(m.New)
	putVec3(b[8:], &m.Position)
	putVec3(b[32:], &m.Velocity)
	putVec3(b[56:], &m.Size)
}

func putSignal(b []byte, m *sample.Signal, t *texts) error {
	clear(b[:104])
	le.PutUint32(b[0:], uint32(m.ID))
	b[4] = byte(m.State)
	t.put(b[8:], m.Label)
	le.PutUint32(b[16:], math.Float32bits(m.Score))
	putPose(b[24:], &m.Pose)
	putVec3(b[80:], &m.Size)
	return nil
}

func putCrossedMark(b []byte, m *sample.CrossedMark) {
	clear(b[:8])
	le.PutUint32(b[0:], uint32(m.ID))
	b[4] = byte(m.Type)
	b[5] = byte(m.Color)
}

func putActorState(b []byte, m *sample.ActorState, t *texts) error {
	clear(b[:224])
	le.PutUint32(b[0:], uint32(m.ID))
	b[4] = byte(m.Kind)
	b[5] = flag(m.Reverse)
	b[6] = byte(m.Signal)
	t.put(b[8:], m.TypeID)
	putPose(b[16:], &m.Pose)
	putTwist(b[72:], &m.Twist)
	putVec3(b[120:], &m.Acceleration)
	putVec3(b[144:], &m.BoxCenter)
	putVec3(b[168:], &m.BoxHalf)
	le.PutUint32(b[192:], math.Float32bits(m.Throttle))
	le.PutUint32(b[196:], math.Float32bits(m.Braking))
	le.PutUint32(b[200:], math.Float32bits(m.Steering))
	le.PutUint32(b[204:], uint32(m.Gear))
	le.PutUint32(b[208:], math.Float32bits(m.SignalElapsed))
	le.PutUint32(b[212:], math.Float32bits(m.Red))
	le.PutUint32(b[216:], math.Float32bits(m.Yellow))
	le.PutUint32(b[220:], math.Float32bits(m.Green))
	return nil
}
