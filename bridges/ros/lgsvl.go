package ros

// LgsvlBoundingBox2D is lgsvl_msgs/BoundingBox2D: the centre and the size, pixels.
type LgsvlBoundingBox2D struct {
	X, Y, Width, Height float32
}

// TypeName returns "lgsvl_msgs/msg/BoundingBox2D".
func (m *LgsvlBoundingBox2D) TypeName() string { return "lgsvl_msgs/msg/BoundingBox2D" }

// Fields visits the fields in order.
func (m *LgsvlBoundingBox2D) Fields(v Visitor) {
	v.Float32("x", &m.X)
	v.Float32("y", &m.Y)
	v.Float32("width", &m.Width)
	v.Float32("height", &m.Height)
}

// LgsvlBoundingBox3D is lgsvl_msgs/BoundingBox3D, metres.
type LgsvlBoundingBox3D struct {
	Position Pose
	Size     Vector3
}

// TypeName returns "lgsvl_msgs/msg/BoundingBox3D".
func (m *LgsvlBoundingBox3D) TypeName() string { return "lgsvl_msgs/msg/BoundingBox3D" }

// Fields visits the fields in order.
func (m *LgsvlBoundingBox3D) Fields(v Visitor) {
	v.Message("position", &m.Position)
	v.Message("size", &m.Size)
}

// LgsvlDetection2D is lgsvl_msgs/Detection2D.
type LgsvlDetection2D struct {
	Header   Header
	ID       uint32
	Label    string
	Score    float32
	BBox     LgsvlBoundingBox2D
	Velocity Twist
}

// TypeName returns "lgsvl_msgs/msg/Detection2D".
func (m *LgsvlDetection2D) TypeName() string { return "lgsvl_msgs/msg/Detection2D" }

// Fields visits the fields in order.
func (m *LgsvlDetection2D) Fields(v Visitor) {
	v.Message("header", &m.Header)
	v.Uint32("id", &m.ID)
	v.String("label", &m.Label)
	v.Float32("score", &m.Score)
	v.Message("bbox", &m.BBox)
	v.Message("velocity", &m.Velocity)
}

// LgsvlDetection2DArray is lgsvl_msgs/Detection2DArray.
type LgsvlDetection2DArray struct {
	Header     Header
	Detections []LgsvlDetection2D
}

// TypeName returns "lgsvl_msgs/msg/Detection2DArray".
func (m *LgsvlDetection2DArray) TypeName() string { return "lgsvl_msgs/msg/Detection2DArray" }

// Fields visits the fields in order.
func (m *LgsvlDetection2DArray) Fields(v Visitor) {
	v.Message("header", &m.Header)
	v.Messages("detections", List(&m.Detections))
}

// LgsvlDetection3D is lgsvl_msgs/Detection3D.
type LgsvlDetection3D struct {
	Header   Header
	ID       uint32
	Label    string
	Score    float32
	BBox     LgsvlBoundingBox3D
	Velocity Twist
}

// TypeName returns "lgsvl_msgs/msg/Detection3D".
func (m *LgsvlDetection3D) TypeName() string { return "lgsvl_msgs/msg/Detection3D" }

// Fields visits the fields in order.
func (m *LgsvlDetection3D) Fields(v Visitor) {
	v.Message("header", &m.Header)
	v.Uint32("id", &m.ID)
	v.String("label", &m.Label)
	v.Float32("score", &m.Score)
	v.Message("bbox", &m.BBox)
	v.Message("velocity", &m.Velocity)
}

// LgsvlDetection3DArray is lgsvl_msgs/Detection3DArray.
type LgsvlDetection3DArray struct {
	Header     Header
	Detections []LgsvlDetection3D
}

// TypeName returns "lgsvl_msgs/msg/Detection3DArray".
func (m *LgsvlDetection3DArray) TypeName() string { return "lgsvl_msgs/msg/Detection3DArray" }

// Fields visits the fields in order.
func (m *LgsvlDetection3DArray) Fields(v Visitor) {
	v.Message("header", &m.Header)
	v.Messages("detections", List(&m.Detections))
}

// Signal is lgsvl_msgs/Signal, a traffic light.
type Signal struct {
	Header Header
	ID     uint32
	Label  string
	Score  float32
	BBox   LgsvlBoundingBox3D
}

// TypeName returns "lgsvl_msgs/msg/Signal".
func (m *Signal) TypeName() string { return "lgsvl_msgs/msg/Signal" }

// Fields visits the fields in order.
func (m *Signal) Fields(v Visitor) {
	v.Message("header", &m.Header)
	v.Uint32("id", &m.ID)
	v.String("label", &m.Label)
	v.Float32("score", &m.Score)
	v.Message("bbox", &m.BBox)
}

// SignalArray is lgsvl_msgs/SignalArray.
type SignalArray struct {
	Header  Header
	Signals []Signal
}

// TypeName returns "lgsvl_msgs/msg/SignalArray".
func (m *SignalArray) TypeName() string { return "lgsvl_msgs/msg/SignalArray" }

// Fields visits the fields in order.
func (m *SignalArray) Fields(v Visitor) {
	v.Message("header", &m.Header)
	v.Messages("signals", List(&m.Signals))
}

// CanBusData is lgsvl_msgs/CanBusData: m/s, shares of one, degrees; Steer is positive to
// the right.
type CanBusData struct {
	Header                                                                                                           Header
	Speed, Throttle, Brake, Steer                                                                                    float32
	ParkingBrake, HighBeams, LowBeams, HazardLights, FogLights, LeftTurnSignal, RightTurnSignal, Wipers, ReverseGear bool
	SelectedGear                                                                                                     int8
	EngineActive                                                                                                     bool
	EngineRPM                                                                                                        float32
	Latitude, Longitude, Altitude                                                                                    float64
	Orientation                                                                                                      Quaternion
	LinearVelocities                                                                                                 Vector3
}

// TypeName returns "lgsvl_msgs/msg/CanBusData".
func (m *CanBusData) TypeName() string { return "lgsvl_msgs/msg/CanBusData" }

// Fields visits the fields in order.
func (m *CanBusData) Fields(v Visitor) {
	v.Message("header", &m.Header)
	v.Float32("speed_mps", &m.Speed)
	v.Float32("throttle_pct", &m.Throttle)
	v.Float32("brake_pct", &m.Brake)
	v.Float32("steer_pct", &m.Steer)
	v.Bool("parking_brake_active", &m.ParkingBrake)
	v.Bool("high_beams_active", &m.HighBeams)
	v.Bool("low_beams_active", &m.LowBeams)
	v.Bool("hazard_lights_active", &m.HazardLights)
	v.Bool("fog_lights_active", &m.FogLights)
	v.Bool("left_turn_signal_active", &m.LeftTurnSignal)
	v.Bool("right_turn_signal_active", &m.RightTurnSignal)
	v.Bool("wipers_active", &m.Wipers)
	v.Bool("reverse_gear_active", &m.ReverseGear)
	v.Int8("selected_gear", &m.SelectedGear)
	v.Bool("engine_active", &m.EngineActive)
	v.Float32("engine_rpm", &m.EngineRPM)
	v.Float64("gps_latitude", &m.Latitude)
	v.Float64("gps_longitude", &m.Longitude)
	v.Float64("gps_altitude", &m.Altitude)
	v.Message("orientation", &m.Orientation)
	v.Message("linear_velocities", &m.LinearVelocities)
}

// VehicleOdometry is lgsvl_msgs/VehicleOdometry: m/s, and radians, positive to the right
// as in VehicleControlData.
type VehicleOdometry struct {
	Header                                    Header
	Velocity, FrontWheelAngle, RearWheelAngle float32
}

// TypeName returns "lgsvl_msgs/msg/VehicleOdometry".
func (m *VehicleOdometry) TypeName() string { return "lgsvl_msgs/msg/VehicleOdometry" }

// Fields visits the fields in order.
func (m *VehicleOdometry) Fields(v Visitor) {
	v.Message("header", &m.Header)
	v.Float32("velocity", &m.Velocity)
	v.Float32("front_wheel_angle", &m.FrontWheelAngle)
	v.Float32("rear_wheel_angle", &m.RearWheelAngle)
}

// DetectedRadarObject is lgsvl_msgs/DetectedRadarObject: metres and m/s.
type DetectedRadarObject struct {
	ID                                         int32
	SensorAim, SensorRight                     Vector3
	SensorPosition                             Point
	SensorVelocity                             Vector3
	SensorAngle                                float64
	ObjectPosition                             Point
	ObjectVelocity                             Vector3
	ObjectRelativePosition                     Point
	ObjectRelativeVelocity, ObjectColliderSize Vector3
	ObjectState                                uint8
	NewDetection                               bool
}

// TypeName returns "lgsvl_msgs/msg/DetectedRadarObject".
func (m *DetectedRadarObject) TypeName() string { return "lgsvl_msgs/msg/DetectedRadarObject" }

// Fields visits the fields in order.
func (m *DetectedRadarObject) Fields(v Visitor) {
	v.Int32("id", &m.ID)
	v.Message("sensor_aim", &m.SensorAim)
	v.Message("sensor_right", &m.SensorRight)
	v.Message("sensor_position", &m.SensorPosition)
	v.Message("sensor_velocity", &m.SensorVelocity)
	v.Float64("sensor_angle", &m.SensorAngle)
	v.Message("object_position", &m.ObjectPosition)
	v.Message("object_velocity", &m.ObjectVelocity)
	v.Message("object_relative_position", &m.ObjectRelativePosition)
	v.Message("object_relative_velocity", &m.ObjectRelativeVelocity)
	v.Message("object_collider_size", &m.ObjectColliderSize)
	v.Uint8("object_state", &m.ObjectState)
	v.Bool("new_detection", &m.NewDetection)
}

// DetectedRadarObjectArray is lgsvl_msgs/DetectedRadarObjectArray.
type DetectedRadarObjectArray struct {
	Header  Header
	Objects []DetectedRadarObject
}

// TypeName returns "lgsvl_msgs/msg/DetectedRadarObjectArray".
func (m *DetectedRadarObjectArray) TypeName() string {
	return "lgsvl_msgs/msg/DetectedRadarObjectArray"
}

// Fields visits the fields in order.
func (m *DetectedRadarObjectArray) Fields(v Visitor) {
	v.Message("header", &m.Header)
	v.Messages("objects", List(&m.Objects))
}

// Ultrasonic is lgsvl_msgs/Ultrasonic, metres.
type Ultrasonic struct {
	Header          Header
	MinimumDistance float32
}

// TypeName returns "lgsvl_msgs/msg/Ultrasonic".
func (m *Ultrasonic) TypeName() string { return "lgsvl_msgs/msg/Ultrasonic" }

// Fields visits the fields in order.
func (m *Ultrasonic) Fields(v Visitor) {
	v.Message("header", &m.Header)
	v.Float32("minimum_distance", &m.MinimumDistance)
}
