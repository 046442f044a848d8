package logging

import (
	"strconv"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/sensors/sample"
)

func writeLaserScan(o *object, topic *bridges.PublishedTopic, m *sample.LaserScan) {
	head(o, topic, &m.Header)
	o.number32("MinAngle", m.AngleMin)
	o.number32("MaxAngle", m.AngleMax)
	o.number32("AngleStep", m.AngleIncrement)
	o.number32("RangeMin", m.RangeMin)
	o.number32("RangeMax", m.RangeMax)
	o.number32("TimeIncrement", m.TimeIncrement)
	o.number32("ScanTime", m.ScanTime)
	transform := m.Pose.Mat4()
	o.numbers("Transform", transform[:]...)
	o.numbers32("Ranges", m.Ranges)
	o.numbers32("Intensities", m.Intensities)
}

func writeRange(o *object, topic *bridges.PublishedTopic, m *sample.Range) {
	head(o, topic, &m.Header)
	o.number32("MinimumDistance", m.Range)
	o.integer("Radiation", int64(m.Radiation))
	o.number32("FieldOfView", m.FieldOfView)
	o.number32("RangeMin", m.MinRange)
	o.number32("RangeMax", m.MaxRange)
}

func writeRadar(o *object, topic *bridges.PublishedTopic, m *sample.Radar) {
	head(o, topic, &m.Header)
	o.beginList("Data")
	for i := range m.Detections {
		d := &m.Detections[i]
		o.comma()
		o.begin()
		o.number32("Velocity", d.Velocity)
		o.number32("Azimuth", d.Azimuth)
		o.number32("Altitude", d.Altitude)
		o.number32("Depth", d.Depth)
		o.integer("Instance", int64(d.Instance))
		o.integer("Tag", int64(d.Tag))
		o.end()
	}
	o.endList()
}

func writeDvsEvents(o *object, topic *bridges.PublishedTopic, m *sample.DvsEvents) {
	head(o, topic, &m.Header)
	o.integer("Width", int64(m.Width))
	o.integer("Height", int64(m.Height))
	o.number("FieldOfView", m.FovDeg)
	o.beginList("Events")
	for _, e := range m.Events {
		polarity := int64(0)
		if e.Polarity {
			polarity = 1
		}
		o.comma()
		o.buf = append(o.buf, '[')
		for _, v := range [4]int64{int64(e.X), int64(e.Y), e.TimeNs, polarity} {
			o.comma()
			o.buf = strconv.AppendInt(o.buf, v, 10)
		}
		o.endList()
	}
	o.endList()
}

func writeSpeed(o *object, topic *bridges.PublishedTopic, m *sample.Speed) {
	head(o, topic, &m.Header)
	o.number("Speed", m.MetresPerSecond)
}

func writeCanBus(o *object, topic *bridges.PublishedTopic, m *sample.CanBus) {
	head(o, topic, &m.Header)
	o.number("Speed", m.Speed)
	o.number("Throttle", m.Throttle)
	o.number("Braking", m.Braking)
	o.number("Steering", m.Steering)
	o.boolean("ParkingBrake", m.ParkingBrake)
	o.boolean("HighBeamSignal", m.HighBeam)
	o.boolean("LowBeamSignal", m.LowBeam)
	o.boolean("HazardLights", m.HazardLights)
	o.boolean("FogLights", m.FogLights)
	o.boolean("LeftTurnSignal", m.LeftTurn)
	o.boolean("RightTurnSignal", m.RightTurn)
	o.boolean("Wipers", m.Wipers)
	o.boolean("InReverse", m.Reverse)
	o.integer("Gear", int64(m.Gear))
	o.boolean("EngineOn", m.EngineOn)
	o.number("EngineRPM", m.EngineRPM)
	o.number("Latitude", m.Latitude)
	o.number("Longitude", m.Longitude)
	o.number("Altitude", m.Altitude)
	o.quaternion("Orientation", m.Orientation)
	o.vector("Velocity", m.Velocity)
}

func writeVehicleOdometry(o *object, topic *bridges.PublishedTopic, m *sample.VehicleOdometry) {
	head(o, topic, &m.Header)
	o.number("Speed", m.Velocity)
	o.number("SteeringAngleFront", m.FrontWheelAngle)
	o.number("SteeringAngleBack", m.RearWheelAngle)
}

func writeGpsOdometry(o *object, topic *bridges.PublishedTopic, m *sample.GpsOdometry) {
	head(o, topic, &m.Header)
	o.text("ChildFrame", m.ChildFrameID)
	o.number("Latitude", m.Latitude)
	o.number("Longitude", m.Longitude)
	o.number("Altitude", m.Altitude)
	o.number("Northing", m.Northing)
	o.number("Easting", m.Easting)
	o.quaternion("Orientation", m.Orientation)
	o.number("ForwardSpeed", m.ForwardSpeed)
	o.vector("Velocity", m.Velocity)
	o.vector("AngularVelocity", m.AngularVelocity)
	o.number("WheelAngle", m.WheelAngle)
}

func writeInsStatus(o *object, topic *bridges.PublishedTopic, m *sample.InsStatus) {
	head(o, topic, &m.Header)
	o.integer("Status", int64(m.Status))
	o.integer("PositionType", int64(m.PositionType))
}
