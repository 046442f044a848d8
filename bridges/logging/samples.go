package logging

import (
	"bytes"
	"image"
	_ "image/jpeg" // so that image.DecodeConfig knows a picture's size
	_ "image/png"
	"strconv"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/sensors/sample"
)

// head writes the keys that begin most messages.
func head(o *object, topic *bridges.PublishedTopic, h *sample.Header) {
	o.text("Name", topic.Sensor)
	o.text("Frame", h.FrameID)
	o.seconds("Time", h.StampNs)
	o.integer("StampNs", h.StampNs)
	o.integer("Sequence", int64(h.Seq))
}

func writeClock(o *object, _ *bridges.PublishedTopic, m *sample.Clock) {
	o.seconds("Clock", m.StampNs)
	o.integer("StampNs", m.StampNs)
}

func writeCompressedImage(o *object, topic *bridges.PublishedTopic, m *sample.CompressedImage) {
	head(o, topic, &m.Header)
	if size, _, err := image.DecodeConfig(bytes.NewReader(m.Data)); err == nil {
		o.integer("Width", int64(size.Width))
		o.integer("Height", int64(size.Height))
	}
	o.bytes("Bytes", m.Data)
	o.integer("Length", int64(len(m.Data)))
	o.text("Format", m.Format)
}

func writeImage(o *object, topic *bridges.PublishedTopic, m *sample.Image) {
	head(o, topic, &m.Header)
	o.integer("Width", int64(m.Width))
	o.integer("Height", int64(m.Height))
	o.integer("Length", int64(len(m.Data)))
	o.text("Encoding", m.Encoding)
	o.boolean("IsBigEndian", false)
	o.bytes("Bytes", m.Data)
	o.integer("Step", int64(m.Step))
}

func writeCameraInfo(o *object, topic *bridges.PublishedTopic, m *sample.CameraInfo) {
	head(o, topic, &m.Header)
	o.integer("Width", int64(m.Width))
	o.integer("Height", int64(m.Height))
	o.number("FocalLengthX", m.K[0])
	o.number("FocalLengthY", m.K[4])
	o.number("PrincipalPointX", m.K[2])
	o.number("PrincipalPointY", m.K[5])
	// SVL's four are plumb_bob's radial ones; ROS keeps the third of them at D[4], after
	// the two tangential ones.
	var radial [4]float64
	if m.DistortionModel == "plumb_bob" && len(m.D) > 4 {
		radial = [4]float64{m.D[0], m.D[1], m.D[4]}
	}
	o.numbers("DistortionParameters", radial[:]...)
	o.text("DistortionModel", m.DistortionModel)
	o.numbers("D", m.D...)
	o.numbers("K", m.K[:]...)
	o.numbers("R", m.R[:]...)
	o.numbers("P", m.P[:]...)
}

func writePointCloud(o *object, topic *bridges.PublishedTopic, m *sample.PointCloud) {
	head(o, topic, &m.Header)
	o.integer("LaserCount", int64(m.Rings))
	transform := m.Pose.Mat4()
	o.numbers("Transform", transform[:]...)
	o.beginList("Points")
	for i := range m.Points {
		p := &m.Points[i]
		o.comma()
		o.buf = append(o.buf, '[')
		for _, v := range [4]float32{p.X, p.Y, p.Z, p.Intensity} {
			o.comma()
			o.buf = appendFloat(o.buf, float64(v), 32)
		}
		o.endList()
	}
	o.endList()
	o.integer("PointCount", int64(len(m.Points)))
	o.boolean("Organized", m.Organized)
	o.integer("Columns", int64(m.Columns))
	writeOfPoints(o, "Rings", m.Points, func(p *sample.Point) uint64 { return uint64(p.Ring) })
	writeOfPoints(o, "Returns", m.Points, func(p *sample.Point) uint64 { return uint64(p.Return) })
	writeOfPoints(o, "TimesNs", m.Points, func(p *sample.Point) uint64 { return uint64(p.TimeNs) })
}

func writeOfPoints(o *object, name string, points []sample.Point, value func(*sample.Point) uint64) {
	o.beginList(name)
	for i := range points {
		o.comma()
		o.buf = strconv.AppendUint(o.buf, value(&points[i]), 10)
	}
	o.endList()
}

func writeImu(o *object, topic *bridges.PublishedTopic, m *sample.Imu) {
	head(o, topic, &m.Header)
	o.vector("Position", m.Pose.Position)
	o.quaternion("Orientation", m.Orientation)
	o.vector("Acceleration", m.LinearAcceleration)
	o.vector("AngularVelocity", m.AngularVelocity)
	o.numbers("OrientationCovariance", m.OrientationCovariance[:]...)
	o.numbers("AngularVelocityCovariance", m.AngularVelocityCovariance[:]...)
	o.numbers("AccelerationCovariance", m.LinearAccelerationCovariance[:]...)
}

func writeGnssFix(o *object, topic *bridges.PublishedTopic, m *sample.GnssFix) {
	head(o, topic, &m.Header)
	o.number("Latitude", m.Latitude)
	o.number("Longitude", m.Longitude)
	o.number("Altitude", m.Altitude)
	o.numbers("PositionCovariance", m.PositionCovariance[:]...)
	o.quaternion("Orientation", m.Pose.Orientation)
	o.integer("Status", int64(m.Status))
	o.integer("Service", int64(m.Service))
	o.integer("PositionCovarianceType", int64(m.PositionCovarianceType))
}

func writeOdometry(o *object, topic *bridges.PublishedTopic, m *sample.Odometry) {
	head(o, topic, &m.Header)
	o.text("ChildFrame", m.ChildFrameID)
	o.quaternion("Orientation", m.BodyPose.Orientation)
	o.number("ForwardSpeed", m.Twist.Linear[0])
	o.vector("Velocity", m.Twist.Linear)
	o.vector("AngularVelocity", m.Twist.Angular)
	o.vector("Position", m.BodyPose.Position)
	o.numbers("PoseCovariance", m.PoseCovariance[:]...)
	o.numbers("TwistCovariance", m.TwistCovariance[:]...)
}

func writeTransforms(o *object, topic *bridges.PublishedTopic, m *sample.Transforms) {
	o.text("Name", topic.Sensor)
	o.seconds("Time", m.StampNs)
	o.integer("StampNs", m.StampNs)
	o.boolean("Static", m.Static)
	o.beginList("Data")
	for i := range m.Transforms {
		t := &m.Transforms[i]
		o.comma()
		o.begin()
		o.text("Frame", t.FrameID)
		o.text("ChildFrame", t.ChildFrameID)
		o.seconds("Time", t.StampNs)
		o.integer("StampNs", t.StampNs)
		o.vector("Position", t.Relative.Position)
		o.quaternion("Orientation", t.Relative.Orientation)
		o.end()
	}
	o.endList()
}
