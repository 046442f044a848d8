package ros

// CarlaCollisionEvent is carla_msgs/CarlaCollisionEvent, newton seconds.
type CarlaCollisionEvent struct {
	Header        Header
	OtherActorID  uint32
	NormalImpulse Vector3
}

// TypeName returns "carla_msgs/msg/CarlaCollisionEvent".
func (m *CarlaCollisionEvent) TypeName() string { return "carla_msgs/msg/CarlaCollisionEvent" }

// Fields visits the fields in order.
func (m *CarlaCollisionEvent) Fields(v Visitor) {
	v.Message("header", &m.Header)
	v.Uint32("other_actor_id", &m.OtherActorID)
	v.Message("normal_impulse", &m.NormalImpulse)
}

// CarlaLaneInvasionEvent is carla_msgs/CarlaLaneInvasionEvent: the types of the marks,
// numbered as CARLA's LaneMarking.Type.
type CarlaLaneInvasionEvent struct {
	Header              Header
	CrossedLaneMarkings []int32
}

// TypeName returns "carla_msgs/msg/CarlaLaneInvasionEvent".
func (m *CarlaLaneInvasionEvent) TypeName() string { return "carla_msgs/msg/CarlaLaneInvasionEvent" }

// Fields visits the fields in order.
func (m *CarlaLaneInvasionEvent) Fields(v Visitor) {
	v.Message("header", &m.Header)
	v.Array("crossed_lane_markings", Sequence(&m.CrossedLaneMarkings))
}
