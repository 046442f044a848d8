package apollo

import (
	"fmt"
	"math"
	"strconv"

	"github.com/raybridge/raybridge/bridges/apollo/apollopb"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/spatial"
	"github.com/raybridge/raybridge/world"
)

func clock(dst *apollopb.Clock, src *sample.Clock, _ spatial.MapFrame) error {
	ns, err := stamp(src.Stamp)
	set(&dst.Clock, ns)
	return err
}

// image has the encodings' names as they are, which are ROS's in Apollo too.
func image(dst *apollopb.Image, src *sample.Image, _ spatial.MapFrame) error {
	if src.Step*src.Height != len(src.Data) {
		return fmt.Errorf("image of %d rows of %d bytes has %d bytes: %w", src.Height, src.Step, len(src.Data), errSize)
	}
	h, err := setHeader(&dst.Header, &src.Header)
	if err != nil {
		return err
	}
	set(&h.CameraTimestamp, uint64(src.Stamp))
	set(&dst.FrameId, src.FrameID)
	set(&dst.MeasurementTime, h.GetTimestampSec())
	set(&dst.Height, uint32(src.Height))
	set(&dst.Width, uint32(src.Width))
	set(&dst.Encoding, src.Encoding)
	set(&dst.Step, uint32(src.Step))
	dst.Data = src.Data
	return nil
}

func compressedImage(dst *apollopb.CompressedImage, src *sample.CompressedImage, _ spatial.MapFrame) error {
	h, err := setHeader(&dst.Header, &src.Header)
	if err != nil {
		return err
	}
	set(&h.CameraTimestamp, uint64(src.Stamp))
	set(&dst.FrameId, src.FrameID)
	set(&dst.Format, src.Format)
	dst.Data = src.Data
	set(&dst.MeasurementTime, h.GetTimestampSec())
	return nil
}

// What a receiver with a good fix reports beside it, as SVL has it.
const (
	fixDeviation       = 0.01 // metres, where the sample's covariance says nothing
	fixDifferentialAge = 2.0  // seconds
	fixSatellites      = 15
	fixSatellitesMulti = 12
	fixExtendedStatus  = 33
	fixSignalsUsed     = 51
)

var fixBaseStation = []byte("0")

// gnssBestPose has no geoid: the undulation is 0 and the height above the sea that above
// the ellipsoid, so that their sum is right.
func gnssBestPose(dst *apollopb.GnssBestPose, src *sample.GnssFix, _ spatial.MapFrame) error {
	if _, err := setHeader(&dst.Header, &src.Header); err != nil {
		return err
	}
	set(&dst.MeasurementTime, gpsSeconds(src.Stamp))
	status, solution := apollopb.SolutionStatus_SOL_COMPUTED, apollopb.SolutionType_NARROW_INT
	if src.Status < 0 { // sensor_msgs/NavSatStatus: no fix
		status, solution = apollopb.SolutionStatus_INSUFFICIENT_OBS, apollopb.SolutionType_NONE
	}
	set(&dst.SolStatus, status)
	set(&dst.SolType, solution)
	set(&dst.Latitude, src.Latitude)
	set(&dst.Longitude, src.Longitude)
	set(&dst.HeightMsl, src.Altitude)
	set(&dst.Undulation, 0)
	set(&dst.DatumId, apollopb.DatumId_WGS84)
	east, north, up := deviations(src)
	set(&dst.LatitudeStdDev, north)
	set(&dst.LongitudeStdDev, east)
	set(&dst.HeightStdDev, up)
	dst.BaseStationId = fixBaseStation
	set(&dst.DifferentialAge, fixDifferentialAge)
	set(&dst.SolutionAge, 0)
	set(&dst.NumSatsTracked, fixSatellites)
	set(&dst.NumSatsInSolution, fixSatellites)
	set(&dst.NumSatsL1, fixSatellites)
	set(&dst.NumSatsMulti, fixSatellitesMulti)
	set(&dst.Reserved, 0)
	set(&dst.ExtendedSolutionStatus, fixExtendedStatus)
	set(&dst.GalileoBeidouUsedMask, 0)
	set(&dst.GpsGlonassUsedMask, fixSignalsUsed)
	return nil
}

// deviations returns a fix's standard deviations, metres; Apollo divides by them, so
// none is 0.
func deviations(src *sample.GnssFix) (east, north, up float32) {
	root := func(variance float64) float32 {
		if src.PositionCovarianceType == 0 || !(variance > 0) {
			return fixDeviation
		}
		return float32(math.Sqrt(variance))
	}
	c := &src.PositionCovariance
	return root(c[0]), root(c[4]), root(c[8])
}

func insStat(dst *apollopb.InsStat, src *sample.InsStatus, _ spatial.MapFrame) error {
	set(&dst.InsStatus, src.Status)
	set(&dst.PosType, src.PositionType)
	_, err := setHeader(&dst.Header, &src.Header)
	return err
}

// rawImu is a measurement of an instant: its span is 0.
func rawImu(dst *apollopb.Imu, src *sample.Imu, _ spatial.MapFrame) error {
	if _, err := setHeader(&dst.Header, &src.Header); err != nil {
		return err
	}
	set(&dst.MeasurementTime, gpsSeconds(src.Stamp))
	set(&dst.MeasurementSpan, 0)
	setPoint(&dst.LinearAcceleration, src.LinearAcceleration)
	setPoint(&dst.AngularVelocity, src.AngularVelocity)
	return nil
}

// What SVL's radar reports of each object.
const (
	radarCrossSection = 11 // dBsm
	radarTruckLength  = 5  // metres: what is longer is a truck

	radarMoving     = 0 // dynprop
	radarStationary = 1
	radarNew        = 1 // meas_state
	radarMeasured   = 2
	radarCar        = 1 // obstacle_class
	radarTruck      = 2
)

// contiRadar has Continental's axes: longitudinal is the sensor's x, lateral its y.
func contiRadar(dst *apollopb.ContiRadar, src *sample.RadarObjects, _ spatial.MapFrame) error {
	h, err := setHeader(&dst.Header, &src.Header)
	if err != nil {
		return err
	}
	set(&h.ModuleName, "conti_radar")
	set(&h.RadarTimestamp, uint64(src.Stamp))
	resize(&dst.Contiobs, len(src.Objects))
	for i := range src.Objects {
		o, d := &src.Objects[i], dst.Contiobs[i]
		set(&d.Clusterortrack, false) // a track
		set(&d.ObstacleId, int32(o.ID))
		set(&d.LongitudeDist, o.Position[0])
		set(&d.LateralDist, o.Position[1])
		set(&d.LongitudeVel, o.Velocity[0])
		set(&d.LateralVel, o.Velocity[1])
		set(&d.Rcs, radarCrossSection)
		set(&d.Dynprop, oneOf[int32](o.Moving, radarMoving, radarStationary))
		set(&d.Probexist, 1)
		set(&d.MeasState, oneOf[int32](o.New, radarNew, radarMeasured))
		set(&d.Length, o.Size[0])
		set(&d.Width, o.Size[1])
		set(&d.ObstacleClass, oneOf[int32](o.Size[0] > radarTruckLength, radarTruck, radarCar))
	}
	status := part(&dst.ObjectListStatus)
	set(&status.NofObjects, int32(len(src.Objects)))
	set(&status.MeasCounter, int32(src.Seq&0xffff)) // 16 bits in the device
	set(&status.InterfaceVersion, 0)
	return nil
}

// oneOf returns yes or no.
func oneOf[T any](condition bool, yes, no T) T {
	if condition {
		return yes
	}
	return no
}

// perceptionLanes counts offsets to the left, as the sample does. Apollo's a is the factor of
// the cube and its d the offset beside the vehicle, as its own camera component reads them.
func perceptionLanes(dst *apollopb.PerceptionLanes, src *sample.LaneLines, _ spatial.MapFrame) error {
	h, err := setHeader(&dst.Header, &src.Header)
	if err != nil {
		return err
	}
	set(&h.ModuleName, "lane_lines")
	set(&h.CameraTimestamp, uint64(src.Stamp))
	set(&dst.ErrorCode, apollopb.ErrorCode_OK)
	resize(&dst.CameraLaneline, len(src.Lines))
	for i := range src.Lines {
		line, d := &src.Lines[i], dst.CameraLaneline[i]
		set(&d.Type, apollopb.LaneLineType(line.Type))
		set(&d.PosType, apollopb.LaneLinePositionType(line.Place))
		curve := part(&d.CurveCameraCoord)
		set(&curve.LongitudeMin, float32(line.MinX))
		set(&curve.LongitudeMax, float32(line.MaxX))
		set(&curve.A, float32(line.C[3]))
		set(&curve.B, float32(line.C[2]))
		set(&curve.C, float32(line.C[1]))
		set(&curve.D, float32(line.C[0]))
	}
	return nil
}

// colors are Apollo's names of what a traffic light shows.
var colors = map[world.SignalState]apollopb.TrafficLight_Color{
	world.SignalRed:     apollopb.TrafficLight_RED,
	world.SignalYellow:  apollopb.TrafficLight_YELLOW,
	world.SignalGreen:   apollopb.TrafficLight_GREEN,
	world.SignalOff:     apollopb.TrafficLight_BLACK,
	world.SignalUnknown: apollopb.TrafficLight_UNKNOWN,
}

// trafficLights names each light by its number in the scene.
func trafficLights(dst *apollopb.TrafficLightDetection, src *sample.Signals, _ spatial.MapFrame) error {
	h, err := setHeader(&dst.Header, &src.Header)
	if err != nil {
		return err
	}
	set(&h.ModuleName, "traffic_light")
	set(&h.CameraTimestamp, uint64(src.Stamp))
	set(&dst.ContainLights, len(src.Signals) > 0)
	resize(&dst.TrafficLight, len(src.Signals))
	for i := range src.Signals {
		light, d := &src.Signals[i], dst.TrafficLight[i]
		set(&d.Color, colors[light.State])
		setNumber(&d.Id, light.ID)
		set(&d.Confidence, float64(light.Score))
	}
	return nil
}

// setNumber sets a field to a number as text, if it isn't that already.
func setNumber(field **string, number uint32) {
	var digits [10]byte
	text := strconv.AppendUint(digits[:0], uint64(number), 10)
	if *field == nil || **field != string(text) {
		set(field, string(text))
	}
}
