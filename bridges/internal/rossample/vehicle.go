package rossample

import (
	"github.com/raybridge/raybridge/bridges/ros"
	"github.com/raybridge/raybridge/sensors/sample"
)

// Speed sets dst to the speed in m/s, as CARLA's ROS bridge publishes it.
func Speed(dst *ros.Float32, src *sample.Speed) error {
	dst.Data = float32(src.MetresPerSecond)
	return nil
}

// GpsOdometry sets dst to the position in UTM (x easting, y northing) and above the
// ellipsoid (z), with the forward speed as the twist's x and the yaw rate as its
// angular z, as SVL has it; the other velocities are 0 and the covariances unknown.
func GpsOdometry(dst *ros.Odometry, src *sample.GpsOdometry) error {
	*dst = ros.Odometry{ChildFrameID: src.ChildFrameID}
	dst.Pose.Pose = ros.Pose{
		Position:    ros.Point{X: src.Easting, Y: src.Northing, Z: src.Altitude},
		Orientation: quaternion(src.Orientation),
	}
	dst.Twist.Twist.Linear.X = src.ForwardSpeed
	dst.Twist.Twist.Angular.Z = src.AngularVelocity[2]
	return ros.SetHeader(&dst.Header, &src.Header)
}

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
		Orientation: quaternion(src.Orientation), LinearVelocities: vector3(src.Velocity),
	}
	return ros.SetHeader(&dst.Header, &src.Header)
}

// VehicleOdometry sets dst to the speed and the wheels' angles, which SVL counts to the
// right and a sample to the left: what was commanded by VehicleControlData comes back with
// the same sign.
func VehicleOdometry(dst *ros.VehicleOdometry, src *sample.VehicleOdometry) error {
	dst.Velocity = float32(src.Velocity)
	dst.FrontWheelAngle, dst.RearWheelAngle = turned(src.FrontWheelAngle), turned(src.RearWheelAngle)
	return ros.SetHeader(&dst.Header, &src.Header)
}

// turned returns an angle counted the other way round; straight on stays 0, not -0.
func turned(angle float64) float32 { return float32(0 - angle) }

// CarlaCollisionEvent sets dst to the collision; the impulse is in the map frame.
func CarlaCollisionEvent(dst *ros.CarlaCollisionEvent, src *sample.Collision) error {
	dst.OtherActorID = src.Other
	dst.NormalImpulse = vector3(src.NormalImpulse)
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
