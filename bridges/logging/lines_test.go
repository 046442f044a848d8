package logging_test

import (
	"math"
	"testing"

	"github.com/go-gl/mathgl/mgl64"

	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/spatial"
)

const (
	identityJSON = `{"x":0,"y":0,"z":0,"w":1}`
	zeroJSON     = `{"x":0,"y":0,"z":0}`
)

func TestLinesOfRanges(t *testing.T) {
	inf := float32(math.Inf(1))
	checkLines(t, map[string]lineCase{
		"laser scan": {
			line(t, &sample.LaserScan{
				Header: header(), AngleMin: -1.5, AngleMax: 1.5, AngleIncrement: 0.1, TimeIncrement: 0.001, ScanTime: 0.1,
				RangeMin: 0.25, RangeMax: 30, Ranges: []float32{1.1, inf, -inf}, Intensities: []float32{7},
			}), "LaserScanData",
			headJSON + `"MinAngle":-1.5,"MaxAngle":1.5,"AngleStep":0.1,"RangeMin":0.25,"RangeMax":30,"TimeIncrement":0.001,"ScanTime":0.1,` +
				`"Transform":[0,0,1,0,-1,0,0,0,0,-1,0,0,1,2,3,1],"Ranges":[1.1,"Infinity","-Infinity"],"Intensities":[7]}`,
		},
		"range": {
			line(t, &sample.Range{Header: header(), Radiation: sample.RadiationInfrared, FieldOfView: 0.7, MinRange: 0.3, MaxRange: 2, Range: 1.25}),
			"UltrasonicData", headJSON + `"MinimumDistance":1.25,"Radiation":1,"FieldOfView":0.7,"RangeMin":0.3,"RangeMax":2}`,
		},
		"radar": {
			line(t, &sample.Radar{Header: header(), Detections: []sample.RadarDetection{{Velocity: -1.5, Azimuth: 0.1, Altitude: 0.2, Depth: 20, Instance: 9, Tag: 14}, {}}}),
			"RadarData", headJSON + `"Data":[{"Velocity":-1.5,"Azimuth":0.1,"Altitude":0.2,"Depth":20,"Instance":9,"Tag":14},` +
				`{"Velocity":0,"Azimuth":0,"Altitude":0,"Depth":0,"Instance":0,"Tag":0}]}`,
		},
		"radar objects": {
			line(t, &sample.RadarObjects{Header: header(), Objects: []sample.RadarObject{{ID: 7, Position: mgl64.Vec3{30, 0, 1}, Velocity: mgl64.Vec3{-4, 0, 0}, Size: mgl64.Vec3{4, 2, 1}, Moving: true, New: true}}}),
			"DetectedRadarObjectData", headJSON + `"Data":[{"Id":7,"RelativePosition":{"x":30,"y":0,"z":1},"RelativeVelocity":{"x":-4,"y":0,"z":0},` +
				`"ColliderSize":{"x":4,"y":2,"z":1},"State":0,"NewDetection":true}]}`,
		},
		"events": {
			line(t, &sample.DvsEvents{Header: header(), Width: 4, Height: 2, FovDeg: 90, Events: []sample.DvsEvent{{X: 3, Y: 1, TimeNs: 11, Polarity: true}, {TimeNs: 12}}}),
			"DvsEventsData", headJSON + `"Width":4,"Height":2,"FieldOfView":90,"Events":[[3,1,11,1],[0,0,12,0]]}`,
		},
	})
}

func TestLinesOfVehicles(t *testing.T) {
	checkLines(t, map[string]lineCase{
		"speed": {line(t, &sample.Speed{Header: header(), MetresPerSecond: -3.5}), "SpeedData", headJSON + `"Speed":-3.5}`},
		"can bus": {
			line(t, &sample.CanBus{
				Header: header(), Speed: 8.5, Throttle: 0.25, Braking: 0.5, Steering: -0.75, HighBeam: true, EngineOn: true, Reverse: true,
				Gear: sample.GearReverse, EngineRPM: 900, Latitude: 49.01, Longitude: 8.4, Altitude: 115, Orientation: mgl64.QuatIdent(),
			}), "CanBusData",
			headJSON + `"Speed":8.5,"Throttle":0.25,"Braking":0.5,"Steering":-0.75,"ParkingBrake":false,"HighBeamSignal":true,"LowBeamSignal":false,` +
				`"HazardLights":false,"FogLights":false,"LeftTurnSignal":false,"RightTurnSignal":false,"Wipers":false,"InReverse":true,"Gear":2,` +
				`"EngineOn":true,"EngineRPM":900,"Latitude":49.01,"Longitude":8.4,"Altitude":115,"Orientation":` + identityJSON + `,"Velocity":` + zeroJSON + `}`,
		},
		"vehicle odometry": {
			line(t, &sample.VehicleOdometry{Header: header(), Velocity: 8.5, FrontWheelAngle: 0.25}),
			"VehicleOdometryData", headJSON + `"Speed":8.5,"SteeringAngleFront":0.25,"SteeringAngleBack":0}`,
		},
		"gps odometry": {
			line(t, &sample.GpsOdometry{
				Header: header(), ChildFrameID: "base_link", Latitude: 49, Longitude: 8, Altitude: 115, Northing: 5428000.5, Easting: 426000.25,
				Orientation: mgl64.QuatIdent(), ForwardSpeed: 8.5, WheelAngle: 0.1,
			}), "GpsOdometryData",
			headJSON + `"ChildFrame":"base_link","Latitude":49,"Longitude":8,"Altitude":115,"Northing":5.4280005e+06,"Easting":426000.25,` +
				`"Orientation":` + identityJSON + `,"ForwardSpeed":8.5,"Velocity":` + zeroJSON + `,"AngularVelocity":` + zeroJSON + `,"WheelAngle":0.1}`,
		},
		"ins status": {
			line(t, &sample.InsStatus{Header: header(), Status: 3, PositionType: 56}), "GpsInsData", headJSON + `"Status":3,"PositionType":56}`,
		},
	})
}

func TestLinesOfActors(t *testing.T) {
	checkLines(t, map[string]lineCase{
		"boxes 2d": {
			line(t, &sample.Detections2D{Header: header(), Width: 640, Height: 480, Boxes: []sample.Box2D{
				{ID: 7, TypeID: "vehicle.sedan", Label: "Sedan", Tag: 14, Score: 1, CenterX: 320.5, CenterY: 240, Width: 100, Height: 60, Pixels: 900, Occlusion: 0.1, Truncation: 0.25},
			}}), "Detected2DObjectData",
			headJSON + `"Data":[{"Id":7,"Label":"Sedan","Score":1,"Position":{"x":320.5,"y":240},"Scale":{"x":100,"y":60},"LinearVelocity":` + zeroJSON +
				`,"AngularVelocity":` + zeroJSON + `,"TypeId":"vehicle.sedan","Tag":14,"Pixels":900,"Occlusion":0.1,"Truncation":0.25}],"Width":640,"Height":480}`,
		},
		"boxes 3d": {
			line(t, &sample.Detections3D{Header: header(), Boxes: []sample.Box3D{
				{ID: 7, TypeID: "vehicle.sedan", Label: "Sedan", Tag: 14, Score: 1, Pose: spatial.Identity(), Size: mgl64.Vec3{4, 2, 1}, Occlusion: 0.5},
			}}), "Detected3DObjectData",
			headJSON + `"Data":[{"Id":7,"Label":"Sedan","Score":1,"Position":` + zeroJSON + `,"Rotation":` + identityJSON + `,"Scale":{"x":4,"y":2,"z":1},` +
				`"LinearVelocity":` + zeroJSON + `,"AngularVelocity":` + zeroJSON + `,"Acceleration":` + zeroJSON + `,"TypeId":"vehicle.sedan","Tag":14,"Occlusion":0.5}]}`,
		},
		"signals": {
			line(t, &sample.Signals{Header: header(), Signals: []sample.Signal{{ID: 3, Label: "red", Score: 1, Pose: spatial.Identity(), Size: mgl64.Vec3{1, 2, 3}}}}),
			"SignalDataArray",
			headJSON + `"Data":[{"Id":3,"Label":"red","Score":1,"Position":` + zeroJSON + `,"Rotation":` + identityJSON + `,"Scale":{"x":1,"y":2,"z":3}}]}`,
		},
		"collision": {
			line(t, &sample.Collision{Header: header(), Actor: 1, ActorType: "vehicle.ego", Other: 2, OtherType: "walker", NormalImpulse: mgl64.Vec3{1, 0, 0}}),
			"CollisionData", headJSON + `"Actor":1,"ActorType":"vehicle.ego","Other":2,"OtherType":"walker","NormalImpulse":{"x":1,"y":0,"z":0}}`,
		},
		"obstacle": {
			line(t, &sample.Obstacle{Header: header(), Actor: 1, ActorType: "vehicle.ego", Other: 2, OtherType: "walker", Distance: 4.5}),
			"ObstacleData", headJSON + `"Actor":1,"ActorType":"vehicle.ego","Other":2,"OtherType":"walker","Distance":4.5}`,
		},
		"lane invasion": {
			line(t, &sample.LaneInvasion{Header: header(), Actor: 1, Marks: []sample.CrossedMark{{ID: 5, Type: sample.LaneMarkSolid, Color: sample.LaneMarkYellow}}}),
			"LaneInvasionData", headJSON + `"Actor":1,"Marks":[{"Id":5,"Type":2,"Color":4}]}`,
		},
		"snapshot": {
			line(t, &sample.Snapshot{Header: header(), DeltaNs: 10_000_000, Actors: []sample.ActorState{
				{TypeID: "vehicle.ego", Kind: sample.KindVehicle, Pose: spatial.Identity(), Throttle: 0.5, Steering: -0.25, Gear: -1, Reverse: true},
				{ID: 1, TypeID: "traffic.light", Kind: sample.KindTrafficLight, Pose: spatial.Identity(), Signal: sample.SignalGreen, SignalElapsed: 1.5, Red: 5, Yellow: 1, Green: 4},
				{ID: 2, TypeID: "walker", Kind: sample.KindWalker, Pose: spatial.Identity()},
			}}), "SnapshotData",
			headJSON + `"FrameNumber":0,"DeltaNs":10000000,"Actors":[` +
				`{"Id":0,"TypeId":"vehicle.ego",` + placeJSON + `,"Throttle":0.5,"Braking":0,"Steering":-0.25,"Gear":-1,"InReverse":true},` +
				`{"Id":1,"TypeId":"traffic.light",` + placeJSON + `,"Signal":2,"SignalElapsed":1.5,"Red":5,"Yellow":1,"Green":4},` +
				`{"Id":2,"TypeId":"walker",` + placeJSON + `}]}`,
		},
	})
}

// placeJSON is where an actor of zeros is.
const placeJSON = `"Position":` + zeroJSON + `,"Orientation":` + identityJSON + `,"LinearVelocity":` + zeroJSON + `,"AngularVelocity":` + zeroJSON +
	`,"Acceleration":` + zeroJSON + `,"BoxCenter":` + zeroJSON + `,"BoxHalf":` + zeroJSON
