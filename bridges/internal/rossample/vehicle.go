package rossample

import (
	"errors"
	"fmt"
	"math"

	"github.com/go-gl/mathgl/mgl64"

	"github.com/raybridge/raybridge/bridges/ros"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/simtime"
)

// Speed sets dst to the speed in m/s, as CARLA's ROS bridge publishes it.
func Speed(dst *ros.Float32, src *sample.Speed) error {
	dst.Data = float32(src.MetresPerSecond)
	return nil
}

// GpsOdometry sets dst to the position in UTM (x easting, y northing) and above the ellipsoid
// (z). The forward speed is the twist's x and the yaw rate its angular z, as SVL has it. The
// other velocities are 0, and their variances large: they aren't measured.
func GpsOdometry(dst *ros.Odometry, src *sample.GpsOdometry) error {
	*dst = ros.Odometry{ChildFrameID: src.ChildFrameID}
	dst.Pose.Pose = ros.Pose{
		Position:    ros.Point{X: src.Easting, Y: src.Northing, Z: src.Altitude},
		Orientation: ros.QuaternionOf(src.Orientation),
	}
	dst.Twist.Twist.Linear.X = src.ForwardSpeed
	dst.Twist.Twist.Angular.Z = src.AngularVelocity[2]
	for i := range 6 {
		dst.Pose.Covariance[7*i], dst.Twist.Covariance[7*i] = sample.ExactVariance, unmeasured
	}
	dst.Twist.Covariance[0], dst.Twist.Covariance[35] = sample.ExactVariance, sample.ExactVariance
	return ros.SetHeader(&dst.Header, &src.Header)
}

// unmeasured is the variance that ROS' drivers state of what they don't measure.
const unmeasured = 1e6

// CanBusData sets dst to what the vehicle reports of itself. Steering is positive to the
// right in both.
func CanBusData(dst *ros.CanBusData, src *sample.CanBus) error {
	*dst = ros.CanBusData{
		SpeedMps: float32(src.Speed), ThrottlePct: float32(src.Throttle), BrakePct: float32(src.Braking), SteerPct: float32(src.Steering),
		ParkingBrakeActive: src.ParkingBrake, HighBeamsActive: src.HighBeam, LowBeamsActive: src.LowBeam,
		HazardLightsActive: src.HazardLights, FogLightsActive: src.FogLights,
		LeftTurnSignalActive: src.LeftTurn, RightTurnSignalActive: src.RightTurn, WipersActive: src.Wipers,
		ReverseGearActive: src.Reverse, SelectedGear: src.Gear,
		EngineActive: src.EngineOn, EngineRPM: float32(src.EngineRPM),
		GPSLatitude: src.Latitude, GPSLongitude: src.Longitude, GPSAltitude: src.Altitude,
		Orientation: ros.QuaternionOf(src.Orientation), LinearVelocities: ros.Vector3Of(src.Velocity),
	}
	return ros.SetHeader(&dst.Header, &src.Header)
}

// VehicleOdometry sets dst to the speed and the wheels' angles, which SVL counts to the right
// and a sample to the left. What was commanded by VehicleControlData comes back with the same
// sign.
func VehicleOdometry(dst *ros.VehicleOdometry, src *sample.VehicleOdometry) error {
	dst.Velocity = float32(src.Velocity)
	dst.FrontWheelAngle, dst.RearWheelAngle = turned(src.FrontWheelAngle), turned(src.RearWheelAngle)
	return ros.SetHeader(&dst.Header, &src.Header)
}

// PoseStamped sets dst to the destination, in the map.
func PoseStamped(dst *ros.PoseStamped, src *sample.Destination) error {
	dst.Pose = ros.Pose{Position: ros.PointOf(src.Goal.Position), Orientation: ros.QuaternionOf(src.Goal.Orientation)}
	return ros.SetHeader(&dst.Header, &src.Header)
}

// ComfortData sets dst to how the ride feels: lengths, and degrees for radians.
func ComfortData(dst *ros.ComfortData, src *sample.Comfort) error {
	degrees := func(radians float64) float32 { return float32(mgl64.RadToDeg(radians)) }
	*dst = ros.ComfortData{
		Velocity: float32(src.Velocity.Len()), Acceleration: float32(src.Acceleration.Len()), Jerk: float32(src.Jerk.Len()),
		AngularVelocity: degrees(src.AngularVelocity), AngularAcceleration: degrees(src.AngularAcceleration),
		Roll: degrees(src.Roll), Slip: degrees(src.Slip),
	}
	return nil
}

// turned returns an angle counted the other way round; straight on stays 0, not -0.
func turned(angle float64) float32 { return float32(0 - angle) }

// CarlaCollisionEvent sets dst to the collision; the impulse is in the map frame.
func CarlaCollisionEvent(dst *ros.CarlaCollisionEvent, src *sample.Collision) error {
	dst.OtherActorID = src.Other
	dst.NormalImpulse = ros.Vector3Of(src.NormalImpulse)
	return ros.SetHeader(&dst.Header, &src.Header)
}

// CarlaLaneInvasionEvent sets dst to the types of the marks that were crossed, reusing
// dst's slice.
func CarlaLaneInvasionEvent(dst *ros.CarlaLaneInvasionEvent, src *sample.LaneInvasion) error {
	dst.CrossedLaneMarkings = dst.CrossedLaneMarkings[:0]
	for _, mark := range src.Marks {
		dst.CrossedLaneMarkings = append(dst.CrossedLaneMarkings, int32(mark.Type))
	}
	return ros.SetHeader(&dst.Header, &src.Header)
}

// ErrCommand says that a command has NaN, an infinity or a number that stands for nothing.
var ErrCommand = errors.New("command makes no sense")

// finite returns ErrCommand if one of the numbers is NaN or infinite.
func finite(numbers ...float64) error {
	for i, v := range numbers {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return fmt.Errorf("number %d of the command is %v: %w", i+1, v, ErrCommand)
		}
	}
	return nil
}

// atMost returns ErrCommand if a field is above the last of its numbers.
func atMost(field string, v, last uint8) error {
	if v > last {
		return fmt.Errorf("%s is %d, where 0 to %d are known: %w", field, v, last, ErrCommand)
	}
	return nil
}

// FromVehicleControlData sets dst to what the message asks of the vehicle. Pedals beyond
// 0..1 are cut off. SVL's wheel angle is positive to the right, as in its CanBusData and
// VehicleOdometry; a sample's is to the left.
func FromVehicleControlData(dst *sample.VehicleControl, src *ros.VehicleControlData) error {
	acceleration, braking := float64(src.AccelerationPct), float64(src.BrakingPct)
	angle, rate := float64(src.TargetWheelAngle), float64(src.TargetWheelAngularRate)
	err := errors.Join(finite(acceleration, braking, angle, rate), atMost("target_gear", src.TargetGear, sample.GearLow))
	if err != nil {
		return err
	}
	*dst = sample.VehicleControl{
		Header: ros.SampleHeader(&src.Header), Acceleration: min(max(acceleration, 0), 1), Braking: min(max(braking, 0), 1),
		SteeringAngle: 0 - angle, HasAngle: true, SteeringRate: math.Abs(rate), Gear: int8(src.TargetGear),
	}
	return nil
}

// FromVehicleStateData sets dst to what the message asks the vehicle to switch.
func FromVehicleStateData(dst *sample.VehicleState, src *ros.VehicleStateData) error {
	err := errors.Join(
		atMost("blinker_state", src.BlinkerState, sample.BlinkerHazard),
		atMost("headlight_state", src.HeadlightState, sample.HeadlightsHigh),
		atMost("wiper_state", src.WiperState, 3),
		atMost("current_gear", src.CurrentGear, sample.GearLow),
		atMost("vehicle_mode", src.VehicleMode, 4),
	)
	if err != nil {
		return err
	}
	*dst = sample.VehicleState{
		Header: ros.SampleHeader(&src.Header), Blinker: src.BlinkerState, Headlights: src.HeadlightState, Wipers: src.WiperState,
		Gear: src.CurrentGear, Mode: src.VehicleMode, HandBrake: src.HandBrakeActive, Horn: src.HornActive, Autonomous: src.AutonomousModeActive,
	}
	return nil
}

// FromAckermannDriveStamped sets dst to the speed and the angle that the message asks
// for. Rates are limits, of which the sign doesn't count.
func FromAckermannDriveStamped(dst *sample.AckermannDrive, src *ros.AckermannDriveStamped) error {
	d := &src.Drive
	angle, rate := float64(d.SteeringAngle), float64(d.SteeringAngleVelocity)
	speed, acceleration, jerk := float64(d.Speed), float64(d.Acceleration), float64(d.Jerk)
	if err := finite(angle, rate, speed, acceleration, jerk); err != nil {
		return err
	}
	*dst = sample.AckermannDrive{
		Header: ros.SampleHeader(&src.Header), SteeringAngle: angle, SteeringRate: math.Abs(rate),
		Speed: speed, Acceleration: math.Abs(acceleration), Jerk: math.Abs(jerk),
	}
	return nil
}

// FromTwist sets dst to the velocities; its stamp is 0, since the message has none.
func FromTwist(dst *sample.VelocityCommand, src *ros.Twist) error {
	l, a := &src.Linear, &src.Angular
	if err := finite(l.X, l.Y, l.Z, a.X, a.Y, a.Z); err != nil {
		return err
	}
	*dst = sample.VelocityCommand{Twist: src.Spatial()}
	return nil
}

// FromClock sets dst to the clock's time.
func FromClock(dst *sample.Clock, src *ros.Clock) error {
	dst.Stamp = simtime.Stamp(src.Clock.Nanoseconds())
	return nil
}
