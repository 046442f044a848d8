package apollo

import (
	"fmt"
	"math"
	"time"

	"github.com/go-gl/mathgl/mgl64"

	"github.com/raybridge/raybridge/bridges/apollo/apollopb"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/spatial"
)

// What a vehicle's receiver reports beside its position, as SVL has it.
const (
	chassisDilution   = 0.1
	chassisSatellites = 15
)

// chassis counts in per cent, and steering positive to the left. The vehicle is always
// one that drives itself, or Apollo would not.
func chassis(dst *apollopb.Chassis, src *sample.CanBus, at spatial.MapFrame) error {
	h, err := setHeader(&dst.Header, &src.Header)
	if err != nil {
		return err
	}
	set(&h.ModuleName, "chassis")
	set(&dst.EngineStarted, src.EngineOn)
	set(&dst.EngineRpm, float32(src.EngineRPM))
	set(&dst.SpeedMps, float32(src.Speed))
	set(&dst.OdometerM, 0)
	set(&dst.FuelRangeM, 0)
	set(&dst.ThrottlePercentage, float32(100*src.Throttle))
	set(&dst.BrakePercentage, float32(100*src.Braking))
	set(&dst.SteeringPercentage, float32(-100*src.Steering))
	set(&dst.ParkingBrake, src.ParkingBrake)
	set(&dst.Wiper, src.Wipers)
	set(&dst.DrivingMode, apollopb.Chassis_DrivingMode(src.Mode)) // the numbers are Apollo's
	set(&dst.ErrorCode, apollopb.Chassis_NO_ERROR)
	set(&dst.GearLocation, gearPosition(src))
	set(&dst.SteeringTimestamp, h.GetTimestampSec())
	setLamps(dst, src)
	setReceiver(part(&dst.ChassisGps), src, at)
	return nil
}

// gearPosition returns the gear; a sample's numbers are Apollo's.
func gearPosition(src *sample.CanBus) apollopb.Chassis_GearPosition {
	switch {
	case src.Reverse:
		return apollopb.Chassis_GEAR_REVERSE
	case src.Gear < sample.GearNeutral || src.Gear > sample.GearLow:
		return apollopb.Chassis_GEAR_INVALID
	default:
		return apollopb.Chassis_GearPosition(src.Gear)
	}
}

// setLamps sets the lamps in both places that Apollo has for them.
func setLamps(dst *apollopb.Chassis, src *sample.CanBus) {
	set(&dst.HighBeamSignal, src.HighBeam)
	set(&dst.LowBeamSignal, src.LowBeam)
	set(&dst.LeftTurnSignal, src.LeftTurn)
	set(&dst.RightTurnSignal, src.RightTurn)
	s := part(&dst.Signal)
	turn := apollopb.VehicleSignal_TURN_NONE
	switch {
	case src.LeftTurn && !src.RightTurn:
		turn = apollopb.VehicleSignal_TURN_LEFT
	case src.RightTurn && !src.LeftTurn:
		turn = apollopb.VehicleSignal_TURN_RIGHT
	}
	set(&s.TurnSignal, turn)
	set(&s.HighBeam, src.HighBeam)
	set(&s.LowBeam, src.LowBeam)
	set(&s.EmergencyLight, src.HazardLights)
}

func setReceiver(g *apollopb.ChassisGPS, src *sample.CanBus, at spatial.MapFrame) {
	utc := time.Unix(0, int64(src.Stamp)).UTC()
	compass := spatial.HeadingOfYaw(mgl64.RadToDeg(spatial.Yaw(at.ToENU(src.Pose.Position).Mul(src.Orientation))))
	set(&g.Latitude, src.Latitude)
	set(&g.Longitude, src.Longitude)
	set(&g.GpsValid, !math.IsNaN(src.Latitude))
	set(&g.Year, int32(utc.Year()))
	set(&g.Month, int32(utc.Month()))
	set(&g.Day, int32(utc.Day()))
	set(&g.Hours, int32(utc.Hour()))
	set(&g.Minutes, int32(utc.Minute()))
	set(&g.Seconds, int32(utc.Second()))
	set(&g.CompassDirection, compass)
	set(&g.Pdop, chassisDilution)
	set(&g.IsGpsFault, false)
	set(&g.IsInferred, false)
	set(&g.Altitude, src.Altitude)
	set(&g.Heading, compass)
	set(&g.Hdop, chassisDilution)
	set(&g.Vdop, chassisDilution)
	set(&g.Quality, apollopb.GpsQuality_FIX_3D)
	set(&g.NumSatellites, chassisSatellites)
	set(&g.GpsSpeed, src.Velocity.Len())
}

// readControl reads a command; what lies outside of 0 to 100 per cent, of steering -100 to 100,
// is cut off. Without a gear, or with one that isn't known, the vehicle drives on.
func readControl(dst *sample.VehicleControl, src *apollopb.ControlCommand, _ spatial.MapFrame) error {
	if !finite(src.GetThrottle(), src.GetBrake(), src.GetSteeringTarget()) {
		return fmt.Errorf("throttle %v, brake %v, steering_target %v: %w",
			src.GetThrottle(), src.GetBrake(), src.GetSteeringTarget(), errNumber)
	}
	header, err := readHeader(src.GetHeader())
	if err != nil {
		return err
	}
	*dst = sample.VehicleControl{
		Header:       header,
		Acceleration: cutOff(src.GetThrottle()/100, 0), Braking: cutOff(src.GetBrake()/100, 0),
		Steering: cutOff(-src.GetSteeringTarget()/100, -1),
		Gear:     sample.GearDrive, ParkingBrake: src.GetParkingBrake(),
	}
	if gear := src.GearLocation; gear != nil && *gear >= apollopb.Chassis_GEAR_NEUTRAL && *gear <= apollopb.Chassis_GEAR_LOW {
		dst.Gear = int8(*gear)
	}
	return nil
}

// cutOff keeps a part of a whole between least and 1.
func cutOff(v, least float64) float64 { return max(least, min(1, v)) }
