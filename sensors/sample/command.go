package sample

import "github.com/raybridge/raybridge/spatial"

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

// CopyToCache makes dst an independent copy.
func (m *VehicleControl) CopyToCache(dst *VehicleControl) { *dst = *m }

// CacheKey groups all messages in one pool.
func (m *VehicleControl) CacheKey() uint64 { return 0 }

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

// CopyToCache makes dst an independent copy.
func (m *AckermannDrive) CopyToCache(dst *AckermannDrive) { *dst = *m }

// CacheKey groups all messages in one pool.
func (m *AckermannDrive) CacheKey() uint64 { return 0 }

// VelocityCommand asks a vehicle for velocities (geometry_msgs/Twist, mostly on
// /cmd_vel). It has no stamp of its own in ROS: StampNs is 0 there.
type VelocityCommand struct {
	Header
	// Twist is in the vehicle's frame; of a car only Linear's x and Angular's z count.
	Twist spatial.Twist
}

// CopyToCache makes dst an independent copy.
func (m *VelocityCommand) CopyToCache(dst *VelocityCommand) { *dst = *m }

// CacheKey groups all messages in one pool.
func (m *VelocityCommand) CacheKey() uint64 { return 0 }

// States of a VehicleState's lamps, wipers and mode, numbered as lgsvl_msgs does.
const (
	BlinkerOff    = 0
	BlinkerLeft   = 1
	BlinkerRight  = 2
	BlinkerHazard = 3

	HeadlightsOff  = 0
	HeadlightsLow  = 1
	HeadlightsHigh = 2
)

// VehicleState asks a vehicle to switch its lamps, wipers and modes: SVL's
// VehicleStateData, as a bridge receives it.
type VehicleState struct {
	Header
	// Blinker and Headlights are constants of this package, Wipers 0 (off) to 3, Gear
	// one of CanBus's, Mode 0 manual, 1 automatic, 2 steering only, 3 speed only,
	// 4 emergency.
	Blinker, Headlights, Wipers, Gear, Mode uint8
	HandBrake, Horn, Autonomous             bool
}

// CopyToCache makes dst an independent copy.
func (m *VehicleState) CopyToCache(dst *VehicleState) { *dst = *m }

// CacheKey groups all messages in one pool.
func (m *VehicleState) CacheKey() uint64 { return 0 }
