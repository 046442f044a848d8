package rossample

import (
	"fmt"
	"reflect"
	"sync"

	"github.com/go-gl/mathgl/mgl64"

	"github.com/raybridge/raybridge/bridges/ros"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/spatial"
)

// Reading is a ROS message with the sample that it is read as: a Publication the other
// way round.
type Reading struct {
	// Type is the message's full name, such as "sensor_msgs/msg/Image".
	Type string
	// Sample is the type of the samples, such as *sample.Image; nil where the message's
	// content decides on it.
	Sample reflect.Type
	// New returns a message to decode into.
	New func() ros.Message
	// From makes the sample of a message that New returned. The sample shares the
	// message's memory, which is its own from then on; what the message doesn't carry
	// is zero, poses the identity. An error says that the message makes no sense.
	From func(ros.Message) (simtime.Stamped, error)
	// To is From for a sample that is there already, of type Sample: it sets what From sets.
	// It is nil where From alone knows.
	To func(simtime.Stamped, ros.Message) error
}

// reading makes the Reading of a conversion.
func reading[M any, P interface {
	*M
	ros.Message
}, S any, T interface {
	*S
	simtime.Stamped
}](convert func(T, P) error) Reading {
	to := func(dst simtime.Stamped, m ros.Message) error {
		if err := convert(dst.(T), m.(P)); err != nil {
			return err
		}
		unplaced(dst)
		return nil
	}
	return Reading{
		Type: P(new(M)).TypeName(), Sample: reflect.TypeFor[T](), To: to,
		New: func() ros.Message { return P(new(M)) },
		From: func(m ros.Message) (simtime.Stamped, error) {
			s := T(new(S))
			if err := to(s, m); err != nil {
				return nil, err
			}
			return s, nil
		},
	}
}

// unplaced says that no message tells where the sensor was.
func unplaced(s simtime.Stamped) {
	if h, ok := s.(interface{ SampleHeader() *sample.Header }); ok {
		h.SampleHeader().Pose = spatial.Identity()
	}
}

// Readings returns a reading of every message that Standard and SVL make. Two of them
// carry several samples: a nav_msgs/Odometry is read as *sample.Odometry, a
// sensor_msgs/PointCloud2 as what its fields say.
func Readings() []Reading {
	return []Reading{
		reading(FromClock), reading(FromImage), mirrorReading[*sample.CompressedImage](), reading(FromCameraInfo),
		{
			Type: (&ros.PointCloud2{}).TypeName(), New: func() ros.Message { return &ros.PointCloud2{} },
			From: func(m ros.Message) (simtime.Stamped, error) { return FromPointCloud2(m.(*ros.PointCloud2)) },
		},
		mirrorReading[*sample.Imu](), reading(FromNavSatFix), reading(FromOdometry), reading(FromTFMessage),
		mirrorReading[*sample.LaserScan](), mirrorReading[*sample.Range](), reading(FromUltrasonic), reading(FromDetectedRadarObjectArray), reading(FromSpeed),
		reading(FromCanBusData), reading(FromVehicleOdometry), reading(FromSignalArray),
		reading(FromDetection2DArray), reading(FromDetection3DArray),
		reading(FromLgsvlDetection2DArray), reading(FromLgsvlDetection3DArray),
		reading(FromCarlaCollisionEvent), reading(FromCarlaLaneInvasionEvent),
		reading(FromComfortData), reading(FromPoseStamped),
	}
}

// MirrorReading returns the Reading of what a type is mirrored as, a pointer to a structure.
// Errors wrap ros.ErrMirror.
func MirrorReading(t reflect.Type) (Reading, error) {
	if t.Kind() != reflect.Pointer || !t.Implements(reflect.TypeFor[simtime.Stamped]()) {
		return Reading{}, fmt.Errorf("%w: %v is not a pointer with a method Captured() simtime.Stamp", ros.ErrMirror, t)
	}
	first, err := ros.NewMirror(t.Elem())
	if err != nil {
		return Reading{}, err
	}
	idle := sync.Pool{New: func() any {
		m, _ := ros.NewMirror(t.Elem()) // as the first
		return m
	}}
	return Reading{
		Type: first.TypeName(), Sample: t,
		New: func() ros.Message {
			m := idle.Get().(*ros.Mirror)
			m.Fill(reflect.New(t.Elem()).Interface())
			return m
		},
		From: func(message ros.Message) (simtime.Stamped, error) {
			m := message.(*ros.Mirror)
			s := m.Value().(simtime.Stamped)
			idle.Put(m)
			unplaced(s)
			return s, nil
		},
		To: func(dst simtime.Stamped, message ros.Message) error {
			reflect.ValueOf(dst).Elem().Set(reflect.ValueOf(message.(*ros.Mirror).Value()).Elem())
			unplaced(dst)
			return nil
		},
	}, nil
}

// mirrorReading is MirrorReading of a type that has a mirror.
func mirrorReading[T simtime.Stamped]() Reading {
	r, err := MirrorReading(reflect.TypeFor[T]())
	if err != nil {
		panic(err)
	}
	return r
}

// WholeReadings returns a reading of every message that Whole makes, by their full names, and
// those of Readings.
func WholeReadings() map[string]Reading {
	list := map[string]Reading{}
	for _, r := range Readings() {
		list[r.Type] = r
	}
	for _, pub := range mirrored() {
		r, err := MirrorReading(pub.Sample)
		if err != nil {
			panic(err) // PublishMirror has made one already
		}
		list[r.Type] = r
	}
	return list
}

// FromImage sets dst to the picture, whose bytes it shares. Pixels of several bytes are
// little endian.
func FromImage(dst *sample.Image, src *ros.Image) error {
	if uint64(src.Step)*uint64(src.Height) != uint64(len(src.Data.Data)) {
		return fmt.Errorf("image of %d rows of %d bytes has %d bytes: %w", src.Height, src.Step, len(src.Data.Data), ErrSize)
	}
	if src.IsBigendian != 0 && wide[src.Encoding] {
		return fmt.Errorf("big-endian %s: %w", src.Encoding, ErrByteOrder)
	}
	dst.Header = ros.SampleHeader(&src.Header)
	dst.Width, dst.Height, dst.Step, dst.Encoding, dst.Data = int(src.Width), int(src.Height), int(src.Step), src.Encoding, src.Data.Data
	return nil
}

// wide are the encodings whose values have several bytes.
var wide = map[string]bool{
	sample.EncodingMono16: true, sample.Encoding16UC1: true, sample.Encoding32SC1: true,
	sample.Encoding32FC1: true, sample.Encoding32FC2: true, sample.Encoding32FC3: true,
}

// FromCameraInfo sets dst to the calibration of the whole picture; binning and a region
// of interest are left out.
func FromCameraInfo(dst *sample.CameraInfo, src *ros.CameraInfo) error {
	dst.Header = ros.SampleHeader(&src.Header)
	dst.Width, dst.Height = int(src.Width), int(src.Height)
	dst.DistortionModel = src.DistortionModel
	dst.D, dst.K, dst.R, dst.P = src.D, src.K, src.R, src.P
	return nil
}

// FromNavSatFix sets dst to the fix.
func FromNavSatFix(dst *sample.GnssFix, src *ros.NavSatFix) error {
	dst.Header = ros.SampleHeader(&src.Header)
	dst.Status, dst.Service = src.Status.Status, src.Status.Service
	dst.Latitude, dst.Longitude, dst.Altitude = src.Latitude, src.Longitude, src.Altitude
	dst.PositionCovariance, dst.PositionCovarianceType = src.PositionCovariance, src.PositionCovarianceType
	return nil
}

// FromOdometry sets dst to the pose and the twist.
func FromOdometry(dst *sample.Odometry, src *ros.Odometry) error {
	dst.Header = ros.SampleHeader(&src.Header)
	dst.ChildFrameID = src.ChildFrameID
	dst.BodyPose, dst.PoseCovariance = src.Pose.Pose.Spatial(), src.Pose.Covariance
	dst.Twist, dst.TwistCovariance = src.Twist.Twist.Spatial(), src.Twist.Covariance
	return nil
}

// FromTFMessage sets dst to the set of frames. Its stamp is the newest of theirs; the
// message doesn't say whether they are static.
func FromTFMessage(dst *sample.Transforms, src *ros.TFMessage) error {
	dst.Stamp, dst.Static = 0, false
	dst.Transforms = make([]sample.Transform, len(src.Transforms))
	for i := range src.Transforms {
		from, to := &src.Transforms[i], &dst.Transforms[i]
		to.Header = ros.SampleHeader(&from.Header)
		to.Pose = spatial.Identity()
		to.ChildFrameID = from.ChildFrameID
		to.Relative = spatial.Pose{
			Position: from.Transform.Translation.Vec3(), Orientation: from.Transform.Rotation.Quat(),
		}
		if i == 0 || to.Stamp > dst.Stamp {
			dst.Stamp = to.Stamp
		}
	}
	return nil
}

// FromUltrasonic sets dst to the distance of the nearest thing.
func FromUltrasonic(dst *sample.Range, src *ros.Ultrasonic) error {
	*dst = sample.Range{Header: ros.SampleHeader(&src.Header), RadiationType: sample.RadiationUltrasound, Range: src.MinimumDistance}
	return nil
}

// FromSpeed sets dst to the speed; std_msgs/Float32 has no stamp.
func FromSpeed(dst *sample.Speed, src *ros.Float32) error {
	dst.MetresPerSecond = float64(src.Data)
	return nil
}

// FromPoseStamped sets dst to the destination; how far it is isn't known.
func FromPoseStamped(dst *sample.Destination, src *ros.PoseStamped) error {
	*dst = sample.Destination{Header: ros.SampleHeader(&src.Header), Goal: src.Pose.Spatial()}
	return nil
}

// FromComfortData sets dst to how the ride feels. Of a vector its length comes back, as its x;
// lgsvl_msgs/ComfortData has no stamp.
func FromComfortData(dst *sample.Comfort, src *ros.ComfortData) error {
	length := func(v float32) mgl64.Vec3 { return mgl64.Vec3{float64(v)} }
	radians := func(degrees float32) float64 { return mgl64.DegToRad(float64(degrees)) }
	dst.Velocity, dst.Acceleration, dst.Jerk = length(src.Velocity), length(src.Acceleration), length(src.Jerk)
	dst.AngularVelocity, dst.AngularAcceleration = radians(src.AngularVelocity), radians(src.AngularAcceleration)
	dst.Roll, dst.Slip = radians(src.Roll), radians(src.Slip)
	return nil
}

// FromCanBusData sets dst to what the vehicle reports of itself. The message has no mode.
func FromCanBusData(dst *sample.CanBus, src *ros.CanBusData) error {
	*dst = sample.CanBus{
		Header: ros.SampleHeader(&src.Header),
		Speed:  float64(src.SpeedMps), Throttle: float64(src.ThrottlePct), Braking: float64(src.BrakePct), Steering: float64(src.SteerPct),
		ParkingBrake: src.ParkingBrakeActive, HighBeam: src.HighBeamsActive, LowBeam: src.LowBeamsActive,
		HazardLights: src.HazardLightsActive, FogLights: src.FogLightsActive,
		LeftTurn: src.LeftTurnSignalActive, RightTurn: src.RightTurnSignalActive, Wipers: src.WipersActive,
		Reverse: src.ReverseGearActive, Gear: src.SelectedGear, Mode: sample.ModeAutomatic, EngineOn: src.EngineActive, EngineRPM: float64(src.EngineRPM),
		Latitude: src.GPSLatitude, Longitude: src.GPSLongitude, Altitude: src.GPSAltitude,
		Orientation: src.Orientation.Quat(), Velocity: src.LinearVelocities.Vec3(),
	}
	return nil
}

// FromVehicleOdometry sets dst to the speed and the wheels' angles. The angles are positive to
// the right in the message and to the left in a sample.
func FromVehicleOdometry(dst *sample.VehicleOdometry, src *ros.VehicleOdometry) error {
	dst.Header = ros.SampleHeader(&src.Header)
	dst.Velocity = float64(src.Velocity)
	dst.FrontWheelAngle, dst.RearWheelAngle = 0-float64(src.FrontWheelAngle), 0-float64(src.RearWheelAngle)
	return nil
}

// FromCarlaCollisionEvent sets dst to the collision.
func FromCarlaCollisionEvent(dst *sample.Collision, src *ros.CarlaCollisionEvent) error {
	dst.Header = ros.SampleHeader(&src.Header)
	dst.Other, dst.NormalImpulse = src.OtherActorID, src.NormalImpulse.Vec3()
	return nil
}

// FromCarlaLaneInvasionEvent sets dst to the types of the marks that were crossed.
func FromCarlaLaneInvasionEvent(dst *sample.LaneInvasion, src *ros.CarlaLaneInvasionEvent) error {
	dst.Header = ros.SampleHeader(&src.Header)
	dst.Marks = make([]sample.CrossedMark, len(src.CrossedLaneMarkings))
	for i, mark := range src.CrossedLaneMarkings {
		if mark < 0 || mark > int32(sample.LaneMarkNone) {
			mark = int32(sample.LaneMarkOther)
		}
		dst.Marks[i].Type = sample.LaneMarkType(mark)
	}
	return nil
}
