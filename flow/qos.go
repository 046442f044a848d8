package flow

// Reliability is ROS 2's reliability policy, numbered as rmw/types.h does.
type Reliability uint8

// Reliability policies.
const (
	ReliabilityDefault Reliability = 0
	Reliable           Reliability = 1
	BestEffort         Reliability = 2
)

// String returns the policy's name in rosbag2's metadata.
func (r Reliability) String() string {
	switch r {
	case Reliable:
		return "reliable"
	case BestEffort:
		return "best_effort"
	default:
		return "system_default"
	}
}

// Durability is ROS 2's durability policy, numbered as rmw/types.h does.
type Durability uint8

// Durability policies.
const (
	DurabilityDefault Durability = 0
	TransientLocal    Durability = 1
	Volatile          Durability = 2
)

// String returns the policy's name in rosbag2's metadata.
func (d Durability) String() string {
	switch d {
	case TransientLocal:
		return "transient_local"
	case Volatile:
		return "volatile"
	default:
		return "system_default"
	}
}

// History is ROS 2's history policy, numbered as rmw/types.h does.
type History uint8

// History policies.
const (
	HistoryDefault History = 0
	KeepLast       History = 1
	KeepAll        History = 2
)

// String returns the policy's name in rosbag2's metadata.
func (h History) String() string {
	switch h {
	case KeepLast:
		return "keep_last"
	case KeepAll:
		return "keep_all"
	default:
		return "system_default"
	}
}

// QoS is the quality of service that a topic is offered with. The zero value
// stands for DefaultQoS.
type QoS struct {
	Reliability Reliability
	Durability  Durability
	History     History
	// Depth is the length of a KeepLast history, messages.
	Depth int
	// Deadline is the longest time between two messages that is promised or asked for,
	// nanoseconds; 0 promises nothing.
	Deadline int64
}

// Profiles in use among ROS 2 nodes (rmw/qos_profiles.h).
var (
	// DefaultQoS is what rclcpp offers unless told otherwise.
	DefaultQoS = QoS{Reliability: Reliable, Durability: Volatile, History: KeepLast, Depth: 10}
	// SensorDataQoS is for measurements of which the newest matters.
	SensorDataQoS = QoS{Reliability: BestEffort, Durability: Volatile, History: KeepLast, Depth: 5}
	// ClockQoS is for /clock.
	ClockQoS = QoS{Reliability: BestEffort, Durability: Volatile, History: KeepLast, Depth: 1}
	// StaticQoS is for data that late joiners must get too, such as /tf_static.
	StaticQoS = QoS{Reliability: Reliable, Durability: TransientLocal, History: KeepLast, Depth: 1}
)

// ReliableQoS is DefaultQoS with a history of depth messages: for events, of which none is to
// be lost.
func ReliableQoS(depth int) QoS {
	q := DefaultQoS
	q.Depth = depth
	return q
}

// OrDefault returns q, or DefaultQoS for the zero value.
func (q QoS) OrDefault() QoS {
	if q == (QoS{}) {
		return DefaultQoS
	}
	return q
}
