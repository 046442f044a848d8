package logging

import (
	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/spatial"
)

func (o *object) twist(t spatial.Twist) {
	o.vector("LinearVelocity", t.Linear)
	o.vector("AngularVelocity", t.Angular)
}

// plane writes a point or a size of a picture.
func (o *object) plane(name string, x, y float32) {
	o.key(name)
	o.begin()
	o.number32("x", x)
	o.number32("y", y)
	o.end()
}

func writeDetections2D(o *object, topic *bridges.PublishedTopic, m *sample.Detections2D) {
	head(o, topic, &m.Header)
	o.beginList("Data")
	for i := range m.Boxes {
		b := &m.Boxes[i]
		o.comma()
		o.begin()
		o.integer("Id", int64(b.ID))
		o.text("Label", b.Label)
		o.number32("Score", b.Score)
		o.plane("Position", b.CenterX, b.CenterY)
		o.plane("Scale", b.Width, b.Height)
		o.twist(b.Twist)
		o.text("TypeId", b.TypeID)
		o.integer("Tag", int64(b.Tag))
		o.integer("Pixels", int64(b.Pixels))
		o.number32("Occlusion", b.Occlusion)
		o.number32("Truncation", b.Truncation)
		o.end()
	}
	o.endList()
	o.integer("Width", int64(m.Width))
	o.integer("Height", int64(m.Height))
}

func writeDetections3D(o *object, topic *bridges.PublishedTopic, m *sample.Detections3D) {
	head(o, topic, &m.Header)
	o.beginList("Data")
	for i := range m.Boxes {
		b := &m.Boxes[i]
		o.comma()
		o.begin()
		o.integer("Id", int64(b.ID))
		o.text("Label", b.Label)
		o.number32("Score", b.Score)
		o.vector("Position", b.Pose.Position)
		o.quaternion("Rotation", b.Pose.Orientation)
		o.vector("Scale", b.Size)
		o.twist(b.Twist)
		o.vector("Acceleration", b.Acceleration)
		o.text("TypeId", b.TypeID)
		o.integer("Tag", int64(b.Tag))
		o.number32("Occlusion", b.Occlusion)
		o.end()
	}
	o.endList()
}

func writeRadarObjects(o *object, topic *bridges.PublishedTopic, m *sample.RadarObjects) {
	head(o, topic, &m.Header)
	o.beginList("Data")
	for i := range m.Objects {
		r := &m.Objects[i]
		state := int64(1)
		if r.Moving {
			state = 0
		}
		o.comma()
		o.begin()
		o.integer("Id", int64(r.ID))
		o.vector("RelativePosition", r.Position)
		o.vector("RelativeVelocity", r.Velocity)
		o.vector("ColliderSize", r.Size)
		o.integer("State", state)
		o.boolean("NewDetection", r.New)
		o.end()
	}
	o.endList()
}

func writeSignals(o *object, topic *bridges.PublishedTopic, m *sample.Signals) {
	head(o, topic, &m.Header)
	o.beginList("Data")
	for i := range m.Signals {
		s := &m.Signals[i]
		o.comma()
		o.begin()
		o.integer("Id", int64(s.ID))
		o.text("Label", s.Label)
		o.number32("Score", s.Score)
		o.vector("Position", s.Pose.Position)
		o.quaternion("Rotation", s.Pose.Orientation)
		o.vector("Scale", s.Size)
		o.end()
	}
	o.endList()
}

// pair writes who met whom.
func (o *object) pair(actor uint32, actorType string, other uint32, otherType string) {
	o.integer("Actor", int64(actor))
	o.text("ActorType", actorType)
	o.integer("Other", int64(other))
	o.text("OtherType", otherType)
}

func writeCollision(o *object, topic *bridges.PublishedTopic, m *sample.Collision) {
	head(o, topic, &m.Header)
	o.pair(m.Actor, m.ActorType, m.Other, m.OtherType)
	o.vector("NormalImpulse", m.NormalImpulse)
}

func writeObstacle(o *object, topic *bridges.PublishedTopic, m *sample.Obstacle) {
	head(o, topic, &m.Header)
	o.pair(m.Actor, m.ActorType, m.Other, m.OtherType)
	o.number32("Distance", m.Distance)
}

func writeLaneInvasion(o *object, topic *bridges.PublishedTopic, m *sample.LaneInvasion) {
	head(o, topic, &m.Header)
	o.integer("Actor", int64(m.Actor))
	o.beginList("Marks")
	for _, mark := range m.Marks {
		o.comma()
		o.begin()
		o.integer("Id", int64(mark.ID))
		o.integer("Type", int64(mark.Type))
		o.integer("Color", int64(mark.Color))
		o.end()
	}
	o.endList()
}

func writeSnapshot(o *object, topic *bridges.PublishedTopic, m *sample.Snapshot) {
	head(o, topic, &m.Header)
	o.integer("FrameNumber", int64(m.Frame))
	o.integer("DeltaNs", m.DeltaNs)
	o.beginList("Actors")
	for i := range m.Actors {
		o.comma()
		o.begin()
		writeActor(o, &m.Actors[i])
		o.end()
	}
	o.endList()
}

func writeActor(o *object, a *sample.ActorState) {
	o.integer("Id", int64(a.ID))
	o.text("TypeId", a.TypeID)
	o.vector("Position", a.Pose.Position)
	o.quaternion("Orientation", a.Pose.Orientation)
	o.twist(a.Twist)
	o.vector("Acceleration", a.Acceleration)
	o.vector("BoxCenter", a.BoxCenter)
	o.vector("BoxHalf", a.BoxHalf)
	switch a.Kind {
	case sample.KindVehicle:
		o.number32("Throttle", a.Throttle)
		o.number32("Braking", a.Braking)
		o.number32("Steering", a.Steering)
		o.integer("Gear", int64(a.Gear))
		o.boolean("InReverse", a.Reverse)
	case sample.KindTrafficLight:
		o.integer("Signal", int64(a.Signal))
		o.number32("SignalElapsed", a.SignalElapsed)
		o.number32("Red", a.Red)
		o.number32("Yellow", a.Yellow)
		o.number32("Green", a.Green)
	}
}
