package ros

// AckermannDrive is ackermann_msgs/AckermannDrive: radians, positive to the left, and
// metres.
type AckermannDrive struct {
	SteeringAngle, SteeringAngleVelocity float32
	Speed, Acceleration, Jerk            float32
}

// TypeName returns "ackermann_msgs/msg/AckermannDrive".
func (m *AckermannDrive) TypeName() string { return "ackermann_msgs/msg/AckermannDrive" }

// Fields visits the fields in order.
func (m *AckermannDrive) Fields(v Visitor) {
	v.Float32("steering_angle", &m.SteeringAngle)
	v.Float32("steering_angle_velocity", &m.SteeringAngleVelocity)
	v.Float32("speed", &m.Speed)
	v.Float32("acceleration", &m.Acceleration)
	v.Float32("jerk", &m.Jerk)
}

// AckermannDriveStamped is ackermann_msgs/AckermannDriveStamped.
type AckermannDriveStamped struct {
	Header Header
	Drive  AckermannDrive
}

// TypeName returns "ackermann_msgs/msg/AckermannDriveStamped".
func (m *AckermannDriveStamped) TypeName() string { return "ackermann_msgs/msg/AckermannDriveStamped" }

// Fields visits the fields in order.
func (m *AckermannDriveStamped) Fields(v Visitor) {
	v.Message("header", &m.Header)
	v.Message("drive", &m.Drive)
}

// VehicleControlData is lgsvl_msgs/VehicleControlData: pedals of 0..1, the wheels' angle
// in radians, positive to the right, and its rate in rad/s.
type VehicleControlData struct {
	Header                                   Header
	Acceleration, Braking                    float32
	TargetWheelAngle, TargetWheelAngularRate float32
	TargetGear                               uint8
}

// TypeName returns "lgsvl_msgs/msg/VehicleControlData".
func (m *VehicleControlData) TypeName() string { return "lgsvl_msgs/msg/VehicleControlData" }

// Fields visits the fields in order.
func (m *VehicleControlData) Fields(v Visitor) {
	v.Message("header", &m.Header)
	v.Float32("acceleration_pct", &m.Acceleration)
	v.Float32("braking_pct", &m.Braking)
	v.Float32("target_wheel_angle", &m.TargetWheelAngle)
	v.Float32("target_wheel_angular_rate", &m.TargetWheelAngularRate)
	v.Uint8("target_gear", &m.TargetGear)
}

// VehicleStateData is lgsvl_msgs/VehicleStateData; its numbers are the definition's
// constants.
type VehicleStateData struct {
	Header                                       Header
	Blinker, Headlight, Wiper, CurrentGear, Mode uint8
	HandBrake, Horn, Autonomous                  bool
}

// TypeName returns "lgsvl_msgs/msg/VehicleStateData".
func (m *VehicleStateData) TypeName() string { return "lgsvl_msgs/msg/VehicleStateData" }

// Fields visits the fields in order.
func (m *VehicleStateData) Fields(v Visitor) {
	v.Message("header", &m.Header)
	v.Uint8("blinker_state", &m.Blinker)
	v.Uint8("headlight_state", &m.Headlight)
	v.Uint8("wiper_state", &m.Wiper)
	v.Uint8("current_gear", &m.CurrentGear)
	v.Uint8("vehicle_mode", &m.Mode)
	v.Bool("hand_brake_active", &m.HandBrake)
	v.Bool("horn_active", &m.Horn)
	v.Bool("autonomous_mode_active", &m.Autonomous)
}
