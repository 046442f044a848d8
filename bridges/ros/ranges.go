package ros

// Float32 is std_msgs/Float32.
type Float32 struct {
	Data float32
}

// TypeName returns "std_msgs/msg/Float32".
func (m *Float32) TypeName() string { return "std_msgs/msg/Float32" }

// Fields visits the fields in order.
func (m *Float32) Fields(v Visitor) { v.Float32("data", &m.Data) }

// LaserScan is sensor_msgs/LaserScan: radians about the z axis, metres, seconds.
type LaserScan struct {
	Header                             Header
	AngleMin, AngleMax, AngleIncrement float32
	TimeIncrement, ScanTime            float32
	RangeMin, RangeMax                 float32
	Ranges, Intensities                []float32
}

// TypeName returns "sensor_msgs/msg/LaserScan".
func (m *LaserScan) TypeName() string { return "sensor_msgs/msg/LaserScan" }

// Fields visits the fields in order.
func (m *LaserScan) Fields(v Visitor) {
	v.Message("header", &m.Header)
	v.Float32("angle_min", &m.AngleMin)
	v.Float32("angle_max", &m.AngleMax)
	v.Float32("angle_increment", &m.AngleIncrement)
	v.Float32("time_increment", &m.TimeIncrement)
	v.Float32("scan_time", &m.ScanTime)
	v.Float32("range_min", &m.RangeMin)
	v.Float32("range_max", &m.RangeMax)
	v.Array("ranges", Sequence(&m.Ranges))
	v.Array("intensities", Sequence(&m.Intensities))
}

// Range is sensor_msgs/Range as Humble and Iron have it; later ones end in a
// variance.
type Range struct {
	Header                                 Header
	RadiationType                          uint8
	FieldOfView, MinRange, MaxRange, Range float32
}

// TypeName returns "sensor_msgs/msg/Range".
func (m *Range) TypeName() string { return "sensor_msgs/msg/Range" }

// Fields visits the fields in order.
func (m *Range) Fields(v Visitor) {
	v.Message("header", &m.Header)
	v.Uint8("radiation_type", &m.RadiationType)
	v.Float32("field_of_view", &m.FieldOfView)
	v.Float32("min_range", &m.MinRange)
	v.Float32("max_range", &m.MaxRange)
	v.Float32("range", &m.Range)
}

// Sentence is nmea_msgs/Sentence: one line of NMEA 0183.
type Sentence struct {
	Header   Header
	Sentence string
}

// TypeName returns "nmea_msgs/msg/Sentence".
func (m *Sentence) TypeName() string { return "nmea_msgs/msg/Sentence" }

// Fields visits the fields in order.
func (m *Sentence) Fields(v Visitor) {
	v.Message("header", &m.Header)
	v.String("sentence", &m.Sentence)
}
