package sample

// LaserScan is one planar scan, as sensor_msgs/LaserScan has it: angles in radians
// about the z axis, counter-clockwise from forward, ranges in metres. A range below
// RangeMin reads -Inf, one beyond RangeMax +Inf (REP-117).
type LaserScan struct {
	Header
	AngleMin, AngleMax, AngleIncrement float32
	// TimeIncrement is between two rays, ScanTime between two scans, seconds.
	TimeIncrement, ScanTime float32
	RangeMin, RangeMax      float32
	Ranges, Intensities     []float32
}

// CopyToCache makes dst a deep copy, reusing dst's slices where they are large enough.
func (m *LaserScan) CopyToCache(dst *LaserScan) {
	ranges, intensities := append(dst.Ranges[:0], m.Ranges...), append(dst.Intensities[:0], m.Intensities...)
	*dst = *m
	dst.Ranges, dst.Intensities = ranges, intensities
}

// CacheKey groups scans of one number of rays.
func (m *LaserScan) CacheKey() uint64 { return uint64(len(m.Ranges)) }

// SizeBytes returns the size of the ranges and intensities.
func (m *LaserScan) SizeBytes() int64 { return 4 * int64(len(m.Ranges)+len(m.Intensities)) }

// RadarDetection is one radar return.
type RadarDetection struct {
	// Velocity is the radial speed of the point that was hit, relative to the
	// sensor, m/s: positive is receding.
	Velocity float32
	// Azimuth is counter-clockwise from forward and Altitude up from the
	// horizontal plane, radians; Depth is the distance, metres.
	Azimuth, Altitude, Depth float32
	// Instance and Tag are the hit actor's id and semantic tag.
	Instance uint32
	Tag      uint8
}

// Radar is one radar sweep in the sensor's frame.
type Radar struct {
	Header
	Detections []RadarDetection
}

// CopyToCache makes dst a deep copy, reusing dst's slice where it is large enough.
func (m *Radar) CopyToCache(dst *Radar) {
	list := append(dst.Detections[:0], m.Detections...)
	*dst = *m
	dst.Detections = list
}

// CacheKey groups all sweeps in one pool.
func (m *Radar) CacheKey() uint64 { return 0 }

// SizeBytes returns the size of the detections in memory.
func (m *Radar) SizeBytes() int64 { return 24 * int64(len(m.Detections)) }

// Radiation types of Range, as sensor_msgs/Range numbers them.
const (
	RadiationUltrasound = 0
	RadiationInfrared   = 1
)

// Range is one measured distance, as sensor_msgs/Range has it: metres, and the
// cone's full angle in radians. Too near reads -Inf, nothing in range +Inf (REP-117).
type Range struct {
	Header
	Radiation                 uint8
	FieldOfView               float32
	MinRange, MaxRange, Range float32
}

// CopyToCache makes dst an independent copy.
func (m *Range) CopyToCache(dst *Range) { *dst = *m }

// CacheKey groups all distances in one pool.
func (m *Range) CacheKey() uint64 { return 0 }

// DvsEvent is one change of brightness at one pixel.
type DvsEvent struct {
	X, Y uint16 // pixel, (0, 0) at the top left
	// TimeNs is the event's simulation time.
	TimeNs   int64
	Polarity bool // true: brighter
}

// DvsEvents are the events of one interval that ends at the header's stamp,
// sorted by time, then row, then column.
type DvsEvents struct {
	Header
	Width, Height int
	FovDeg        float64 // horizontal, degrees
	Events        []DvsEvent
}

// CopyToCache makes dst a deep copy, reusing dst's slice where it is large enough.
func (m *DvsEvents) CopyToCache(dst *DvsEvents) {
	list := append(dst.Events[:0], m.Events...)
	*dst = *m
	dst.Events = list
}

// CacheKey groups all intervals in one pool.
func (m *DvsEvents) CacheKey() uint64 { return 0 }

// SizeBytes returns the size of the events in memory.
func (m *DvsEvents) SizeBytes() int64 { return 24 * int64(len(m.Events)) }
