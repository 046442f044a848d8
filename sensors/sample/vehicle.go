package sample

import (
	"github.com/go-gl/mathgl/mgl64"
)

// Speed is a speedometer's reading, m/s along the vehicle's x axis.
type Speed struct {
	Header
	MetresPerSecond float64
}

// CopyToCache makes dst an independent copy.
func (m *Speed) CopyToCache(dst *Speed) { *dst = *m }

// CacheKey groups all readings in one pool.
func (m *Speed) CacheKey() uint64 { return 0 }

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
	Gear      int8
	EngineRPM float64
	// Latitude, Longitude in degrees and Altitude in metres are WGS84.
	Latitude, Longitude, Altitude float64
	// Orientation is the vehicle's in the map frame, Velocity its own there, m/s.
	Orientation mgl64.Quat
	Velocity    mgl64.Vec3
}

// CopyToCache makes dst an independent copy.
func (m *CanBus) CopyToCache(dst *CanBus) { *dst = *m }

// CacheKey groups all messages in one pool.
func (m *CanBus) CacheKey() uint64 { return 0 }

// VehicleOdometry is speed and wheel angles.
type VehicleOdometry struct {
	Header
	// Velocity is m/s along the vehicle's x axis; the angles are those of the
	// wheels, radians, positive to the left.
	Velocity, FrontWheelAngle, RearWheelAngle float64
}

// CopyToCache makes dst an independent copy.
func (m *VehicleOdometry) CopyToCache(dst *VehicleOdometry) { *dst = *m }

// CacheKey groups all messages in one pool.
func (m *VehicleOdometry) CacheKey() uint64 { return 0 }

// GpsOdometry is a position on the earth with the vehicle's movement.
type GpsOdometry struct {
	Header
	ChildFrameID string
	// Latitude, Longitude in degrees and Altitude in metres are WGS84; Northing
	// and Easting are UTM, or count from the map's origin, metres.
	Latitude, Longitude, Altitude, Northing, Easting float64
	// Orientation is that of ChildFrameID, east-north-up. ForwardSpeed is m/s along
	// its x axis; Velocity is east-north-up, m/s, AngularVelocity in ChildFrameID, rad/s.
	Orientation               mgl64.Quat
	ForwardSpeed              float64
	Velocity, AngularVelocity mgl64.Vec3
	// WheelAngle is the front wheels', radians, positive to the left.
	WheelAngle float64
}

// CopyToCache makes dst an independent copy.
func (m *GpsOdometry) CopyToCache(dst *GpsOdometry) { *dst = *m }

// CacheKey groups all messages in one pool.
func (m *GpsOdometry) CacheKey() uint64 { return 0 }

// InsStatus is the state of an inertial navigation system, in NovAtel's numbers as
// Apollo has them: status 3 is good, position type 56 a fixed RTK solution.
type InsStatus struct {
	Header
	Status, PositionType uint32
}

// CopyToCache makes dst an independent copy.
func (m *InsStatus) CopyToCache(dst *InsStatus) { *dst = *m }

// CacheKey groups all messages in one pool.
func (m *InsStatus) CacheKey() uint64 { return 0 }
