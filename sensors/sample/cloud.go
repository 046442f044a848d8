package sample

import "github.com/raybridge/raybridge/simtime"

// Return types of a Point, as Autoware's PointXYZIRCAEDT numbers them (autoware_point_types, ReturnType). Lidars with
// other return_codes number them otherwise, but 0 is always a ray that saw nothing.
const (
	ReturnUnknown   = 0
	ReturnStrongest = 1 // the only point of a firing that reports the strongest echo
	ReturnLast      = 2 // that of one that reports the last

	// The points of a firing that reports several echoes: strongest or weaker, nearest or farthest of them.
	ReturnStrongestFirst = 3
	ReturnStrongestLast  = 4
	ReturnWeakFirst      = 5
	ReturnWeakLast       = 6
	ReturnOnly           = 7 // it had one echo
)

// Point is one lidar return, 48 bytes, laid out as the lidar's compute shader
// writes it (std430, twelve 32-bit words, little endian).
type Point struct {
	// X, Y, Z is the point in the sensor's frame as it stood when the point was fired, metres.
	// A device reports it so: not motion-compensated. In a compensated cloud it is as it stood
	// at the header's stamp.
	X, Y, Z float32
	// Intensity is the diffuse reflectance scale 0..100, retroreflectors
	// 101..255 (Autoware's convention), after angle and range; 0..1 in a cloud
	// of UnitIntensity.
	Intensity float32
	// Distance from the sensor's origin to the point along the ray, metres;
	// +Inf for no return, -Inf for one below the minimum range (REP-117).
	Distance float32
	// Azimuth is atan2(y, x) of the ray, radians, counter-clockwise from
	// forward; Elevation is up-positive, radians.
	Azimuth, Elevation float32
	// TimeNs is the firing's time after the header's stamp, nanoseconds.
	TimeNs uint32
	// Ring is the laser's ring number as the device numbers it.
	Ring uint16
	// Return says which echo of its firing the point is: one of the Return constants, or as the lidar's
	// return_codes number it; ReturnUnknown without an echo.
	Return uint8
	// Tag is the hit object's CARLA semantic tag, 0 for none.
	Tag uint8
	// Instance is the hit actor's instance id, 0 for none.
	Instance uint32
	// CosIncidence is the cosine between the ray and the surface's normal, 0..1.
	CosIncidence float32
	// Ray is the firing's index in the scan: firing order, column by column. All points of a firing have it.
	Ray uint32
}

// PointLayout names the byte layout that bridges write a cloud in.
type PointLayout string

// Layouts of the published point.
const (
	// LayoutXYZIRCAEDT is Autoware's 32-byte point: x, y, z, intensity (u8),
	// return_type (u8), channel (u16), azimuth, elevation, distance,
	// time_stamp (u32 ns).
	LayoutXYZIRCAEDT PointLayout = "xyzircaedt"
	// LayoutXYZIRT is the Velodyne-style point: x, y, z, intensity (f32),
	// ring (u16), time (f32 s).
	LayoutXYZIRT PointLayout = "xyzirt"
	// LayoutSVL is SVL Simulator's 32-byte point: x, y, z, intensity (u8 at 16),
	// timestamp (f64 s at 24).
	LayoutSVL PointLayout = "svl"
	// LayoutCARLA is x, y, z, intensity (f32), as CARLA's ROS bridge publishes it.
	LayoutCARLA PointLayout = "carla"
	// LayoutCARLASemantic is x, y, z, CosAngle (f32), ObjIdx, ObjTag (u32).
	LayoutCARLASemantic PointLayout = "carla_semantic"
	// LayoutXYZI is x, y, z, intensity, all f32.
	LayoutXYZI PointLayout = "xyzi"
)

// Values returns all layouts.
func (PointLayout) Values() []string {
	var names []string
	for _, l := range []PointLayout{LayoutXYZIRCAEDT, LayoutXYZIRT, LayoutXYZI, LayoutSVL, LayoutCARLA, LayoutCARLASemantic} {
		names = append(names, string(l))
	}
	return names
}

// PointCloud is one lidar scan. Points are in ray order, and those of one firing side by side, the strongest first. An
// unorganized cloud (Organized false) holds returns only. An organized one holds Returns.Points() for each ray, those
// without an echo with NaN coordinates and a REP-117 distance.
type PointCloud struct {
	Header
	Points    []Point
	Organized bool
	// Rings and Columns are the shape of the scan before misses are left
	// out: ray = column*Rings + index of the laser within its firing.
	Rings, Columns int
	// Returns says which echoes of a firing the points are; empty means StrongestReturn.
	Returns ReturnMode
	// HorizontalAngle is the azimuth at which the scan ended, radians as CARLA
	// counts it: clockwise seen from above.
	HorizontalAngle float64
	// UnitIntensity says that intensities are 0..1, as SVL and CARLA have them:
	// layouts that store a byte then multiply by 255.
	UnitIntensity bool
	// IntensityCode is whose scale the intensities have, as devices of velodyne, livox or hesai report them; empty for other intensities.
	IntensityCode string
	// Layout is how bridges write the points; empty means LayoutXYZIRCAEDT.
	Layout PointLayout
}

// CacheKey groups clouds by the scan's shape, so that a small lidar never holds
// a large one's memory.
func (m *PointCloud) CacheKey() uint64 { return uint64(m.Rings)<<32 | uint64(uint32(m.Width())) }

// Width is how many points an organized cloud has in a row.
func (m *PointCloud) Width() int { return m.Columns * m.Returns.Points() }

// IsWhole reports whether there are as many points as an organized cloud of the shape has.
func (m *PointCloud) IsWhole() bool {
	width := m.Width()
	return m.Rings > 0 && width > 0 && len(m.Points)%width == 0 && len(m.Points)/width == m.Rings
}

// SingleReturn returns the cloud with one point a firing, the strongest: for formats that know no others. It is the cloud
// itself if that reports one echo, else scratch, whose memory it uses.
func (m *PointCloud) SingleReturn(scratch *PointCloud) *PointCloud {
	n := m.Returns.Points()
	if n == 1 {
		return m
	}
	points := scratch.Points[:0]
	for i := range m.Points {
		if p := &m.Points[i]; m.Organized && i%n == 0 || !m.Organized && (i == 0 || p.Ray != m.Points[i-1].Ray) {
			points = append(points, *p)
		}
	}
	*scratch = *m
	scratch.Points, scratch.Returns = points, StrongestReturn
	return scratch
}

// pointBytes is the size of a Point in memory.
const pointBytes = 48

// SizeBytes returns the size of the points in memory.
func (m *PointCloud) SizeBytes() int64 { return int64(len(m.Points)) * pointBytes }

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
	RadiationType             uint8
	FieldOfView               float32
	MinRange, MaxRange, Range float32
}

// DvsEvent is one change of brightness at one pixel.
type DvsEvent struct {
	X, Y uint16 // pixel, (0, 0) at the top left
	// TimeNs is the event's simulation time.
	TimeNs   simtime.Stamp
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

// SizeBytes returns the size of the events in memory.
func (m *DvsEvents) SizeBytes() int64 { return 24 * int64(len(m.Events)) }
