package sample

import (
	"github.com/go-gl/mathgl/mgl64"
	"github.com/raybridge/raybridge/spatial"
)

// Speed is a speedometer's reading, m/s along the vehicle's x axis.
type Speed struct {
	Header
	MetresPerSecond float64
}

// Gears of a CanBus.
const (
	GearNeutral = 0
	GearDrive   = 1
	GearReverse = 2
	GearParking = 3
	GearLow     = 4
)

// CanBus is the state that a vehicle reports of itself.
type CanBus struct {
	Header
	// Speed is along the vehicle's x axis, m/s.
	Speed float64
	// Throttle and Braking are 0..1; Steering is -1..1 of the greatest angle,
	// positive to the right, as SVL and CARLA have it.
	Throttle, Braking, Steering float64
	ParkingBrake, HighBeam, LowBeam, HazardLights, FogLights,
	LeftTurn, RightTurn, Wipers, Reverse, EngineOn bool
	Gear int8 // 0 neutral, 1 drive, 2 reverse, 3 parking, 4 low
	// Mode is 0 manual, 1 automatic, 2 steering only, 3 speed only, 4 emergency.
	Mode      uint8
	EngineRPM float64
	// Latitude, Longitude in degrees and Altitude in metres are WGS84, NaN where there is no fix.
	Latitude, Longitude, Altitude float64
	// Orientation is the vehicle's in the map frame, Velocity its own there, m/s.
	Orientation mgl64.Quat
	Velocity    mgl64.Vec3
}

// VehicleOdometry is speed and wheel angles.
type VehicleOdometry struct {
	Header
	// Velocity is m/s along the vehicle's x axis; the angles are those of the
	// wheels, radians, positive to the left.
	Velocity, FrontWheelAngle, RearWheelAngle float64
}

// GpsOdometry is a position on the earth with the vehicle's movement.
type GpsOdometry struct {
	Header
	ChildFrameID string
	// Latitude, Longitude in degrees and Altitude in metres are WGS84; Northing
	// and Easting are UTM, or count from the map's origin, metres.
	Latitude, Longitude, Altitude, Northing, Easting float64
	// Orientation is that of ChildFrameID in the axes of easting, northing and up. ForwardSpeed is
	// m/s along its x axis. Velocity is in the axes of Orientation, m/s, AngularVelocity in
	// ChildFrameID, rad/s.
	Orientation               mgl64.Quat
	ForwardSpeed              float64
	Velocity, AngularVelocity mgl64.Vec3
	// WheelAngle is the front wheels', radians, positive to the left.
	WheelAngle float64
	// Convergence is the angle from true north to the northing's axis, radians, positive
	// clockwise. A heading from the northing's axis plus that is one from true north.
	Convergence float64
}

// InsStatus is the state of an inertial navigation system, in NovAtel's numbers as Apollo has
// them. Status 3 is good, position type 56 a fixed RTK solution.
type InsStatus struct {
	Header
	Status, PositionType uint32
}

// VehicleControl is what a driver asks of a vehicle, by its pedals and its steering
// wheel: SVL's VehicleControlData, as a bridge receives it.
type VehicleControl struct {
	Header
	// Acceleration and Braking are the pedals, 0..1.
	Acceleration, Braking float64
	// Steering is -1..1 of the greatest angle, positive to the right, as in CanBus.
	Steering float64
	// SteeringAngle is the wheels' angle in radians, positive to the left; it counts
	// instead of Steering where HasAngle says so.
	SteeringAngle float64
	HasAngle      bool
	// SteeringRate is how fast the wheels turn, rad/s; 0 is as fast as they can.
	SteeringRate float64
	// Gear is one of CanBus's gears.
	Gear int8
	// ParkingBrake holds the vehicle.
	ParkingBrake bool
}

// AckermannDrive asks a vehicle for a speed and a steering angle
// (ackermann_msgs/AckermannDrive).
type AckermannDrive struct {
	Header
	// SteeringAngle is the virtual front wheel's, radians, positive to the left;
	// SteeringRate how fast it may change, rad/s, 0 for at once.
	SteeringAngle, SteeringRate float64
	// Speed is m/s along the vehicle's x axis; Acceleration how fast it may change,
	// m/s², and Jerk, m/s³, 0 for at once.
	Speed, Acceleration, Jerk float64
}

// VelocityCommand asks a vehicle for velocities (geometry_msgs/Twist, mostly on
// /cmd_vel). It has no stamp of its own in ROS: Stamp is 0 there.
type VelocityCommand struct {
	Header
	// Twist is in the vehicle's frame; of a car only Linear's x and Angular's z count.
	Twist spatial.Twist
}

// States of a VehicleState's lamps, wipers and mode, numbered as lgsvl_msgs does.
const (
	BlinkerOff    = 0
	BlinkerLeft   = 1
	BlinkerRight  = 2
	BlinkerHazard = 3

	HeadlightsOff  = 0
	HeadlightsLow  = 1
	HeadlightsHigh = 2

	ModeManual       = 0
	ModeAutomatic    = 1
	ModeSteeringOnly = 2
	ModeSpeedOnly    = 3
	ModeEmergency    = 4
)

// VehicleState asks a vehicle to switch its lamps, wipers and modes: SVL's
// VehicleStateData, as a bridge receives it.
type VehicleState struct {
	Header
	// Blinker and Headlights are constants of this package, Wipers 0 (off) to 3, Gear one of
	// CanBus's, and so are those of Mode.
	Blinker, Headlights, Wipers, Gear, Mode uint8
	HandBrake, Horn, Autonomous             bool
}
