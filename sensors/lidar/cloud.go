package lidar

import (
	"context"
	"math"

	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/sample"
)

// ID is the type id of the scanning lidar, SemanticID that of the one that tells what
// it hit.
const (
	ID         = "sensor.lidar.ray_cast"
	SemanticID = "sensor.lidar.ray_cast_semantic"
)

// RayCast describes sensor.lidar.ray_cast.
var RayCast = &sensors.Definition{
	ID:          ID,
	Number:      20,
	Doc:         "spinning lidar: range, intensity, ring and time of every return",
	Tags:        []string{"lidar", "gpu"},
	Attributes:  append(append(scanAttributes(), receiverAttributes()...), layoutAttribute(sample.LayoutXYZIRCAEDT)),
	Outputs:     []sensors.OutputSpec{pointsOutput()},
	DefaultRate: "10",
	New: func(spec sensors.Spec) (sensors.Sensor, error) {
		return newCloudLidar(spec, receiverOf(spec.Settings))
	},
}

// RayCastSemantic describes sensor.lidar.ray_cast_semantic.
var RayCastSemantic = &sensors.Definition{
	ID:          SemanticID,
	Number:      21,
	Doc:         "spinning lidar that tells the angle of incidence, the object and its semantic tag, exactly",
	Tags:        []string{"lidar", "semantic", "gpu"},
	Attributes:  append(scanAttributes(), layoutAttribute(sample.LayoutCARLASemantic)),
	Outputs:     []sensors.OutputSpec{pointsOutput()},
	DefaultRate: "10",
	New: func(spec sensors.Spec) (sensors.Sensor, error) {
		return newCloudLidar(spec, receiver{})
	},
}

func pointsOutput() sensors.OutputSpec {
	return sensors.Declare[sample.PointCloud](sensors.OutputSpec{
		Name: "points", Suffix: "/points", Doc: "sensor_msgs/PointCloud2 in the sensor's frame",
		QoS: flow.SensorDataQoS,
	})
}

// cloudLidar publishes scans as clouds.
type cloudLidar struct {
	scanner
	out   *sensors.Output[*sample.PointCloud]
	cloud sample.PointCloud // Process's; reused: outputs copy what they keep
}

var _ sensors.Capturer = (*cloudLidar)(nil)

func newCloudLidar(spec sensors.Spec, r receiver) (*cloudLidar, error) {
	device, err := deviceOf(spec.Settings)
	if err != nil {
		return nil, err
	}
	rolling := spec.Settings.Bool("rolling")
	s := &cloudLidar{
		scanner: scanner{
			spec: spec, device: device, receiver: r,
			rolling: rolling, compensated: rolling && spec.Settings.Bool("compensated"),
		},
		cloud: sample.PointCloud{
			Organized: spec.Settings.Bool("organized"), Rings: len(device.Lasers), Columns: device.Columns,
			HorizontalAngle: device.endRad(), UnitIntensity: r.scale == carla || r.scale == svl,
			Layout: sample.PointLayout(spec.Settings.String("layout")),
		},
	}
	s.deliver = s.publish
	return s, s.checkPeriod()
}

// Begin opens the output and makes the GPU objects.
func (s *cloudLidar) Begin(ctx context.Context, env *sensors.Env) (err error) {
	if s.out, err = sensors.OutputOf[*sample.PointCloud](env, "points"); err != nil {
		return err
	}
	return s.begin(ctx, env)
}

// publish hands on the cloud of a scan.
func (s *cloudLidar) publish(of scan, points []sample.Point) {
	m := &s.cloud
	m.Header = of.header
	var returns int
	if m.Organized {
		m.Points, returns = markMisses(m.Points[:0], points)
	} else {
		m.Points = keepReturns(m.Points[:0], points)
		returns = len(m.Points)
	}
	s.reportEmpty(returns)
	s.out.TryQueue(of.at, m)
}

// keepReturns appends the points that hit something, those that lie side by side at
// a time.
func keepReturns(dst, points []sample.Point) []sample.Point {
	if cap(dst) < len(points) {
		dst = make([]sample.Point, 0, len(points))
	}
	for i := 0; i < len(points); i++ {
		first := i
		for i < len(points) && points[i].Return != sample.ReturnUnknown {
			i++
		}
		dst = append(dst, points[first:i]...)
	}
	return dst
}

// markMisses appends all points, those that hit nothing with NaN coordinates
// (REP-117), and returns how many hit something.
func markMisses(dst, points []sample.Point) (all []sample.Point, returns int) {
	dst = append(dst, points...)
	nan := float32(math.NaN())
	returns = len(dst)
	for i := range dst {
		if dst[i].Return == sample.ReturnUnknown {
			dst[i].X, dst[i].Y, dst[i].Z = nan, nan, nan
			returns--
		}
	}
	return dst, returns
}
