package nuscenes

import (
	"context"
	"iter"
	"math"

	"github.com/go-gl/mathgl/mgl64"

	"github.com/raybridge/raybridge/cmd/raybridge/internal/dataset/check"
)

// Check adds all that the rows and files say of each other.
func (s *set) Check(ctx context.Context, f *check.Findings) error {
	s.checkReferences(f)
	s.checkNames(f)
	s.checkForms(f)
	s.checkLabelFolders(f)
	s.checkMapPlaces(f, s.checkMaps(f))
	// Points and motion are far off where times, axes or sizes are wrong, which one finding says better.
	s.checkSizes(f)
	sound := s.checkAxes(f) && f.Count(ruleTime)+f.Count(ruleQuaternion)+f.Count(ruleSize)+f.Count(ruleSizeOrder) == 0
	explained, err := s.checkGeometry(ctx, f, sound)
	if err != nil {
		return err
	}
	if err := s.checkSweeps(ctx, f); err != nil {
		return err
	}
	s.checkRadarStates(f)
	if sound && !explained {
		s.checkMotion(f)
		s.checkSelf(f)
	}
	return nil
}

// Objects are the annotations. Their distance is from the ego.
func (s *set) Objects() iter.Seq[check.Object] {
	return func(yield func(check.Object) bool) {
		for _, m := range s.sampleList {
			for _, a := range m.boxes {
				o := check.Object{Category: a.instance.category.name, Distance: math.NaN(), Occlusion: s.levels[a.visibility]}
				if len(m.keys) > 0 && m.keys[0].ego != nil {
					o.Distance = a.pose.Position.Sub(m.keys[0].ego.pose.Position).Vec2().Len()
				}
				if !yield(o) {
					return
				}
			}
		}
	}
}

// Frames is the number of samples.
func (s *set) Frames() int { return len(s.sampleList) }

// Views are a sample's pictures, with the boxes and the points of all lidars.
func (s *set) Views(i int) (name string, views []check.View) {
	m := s.sampleList[i]
	if name = m.token; m.scene != nil {
		name = m.scene.name + " " + m.token
	}
	var points []mgl64.Vec3 // global
	quiet := check.NewFindings(Format.Rules, nil)
	for _, d := range m.keys {
		if d.sensor.sensor.modality != "lidar" || d.ego == nil {
			continue
		}
		toGlobal := d.ego.pose.Compose(d.sensor.pose)
		for _, p := range s.lidarPoints(quiet, d) {
			points = append(points, toGlobal.Apply(p))
		}
	}
	for _, d := range m.keys {
		if d.sensor.isCamera && d.ego != nil && d.sensor.sensor.modality == "camera" {
			views = append(views, s.view(d, points))
		}
	}
	return name, views
}

func (s *set) view(d *data, points []mgl64.Vec3) check.View {
	v := check.View{Channel: d.sensor.sensor.channel, File: d.file}
	l := lensOf(d, d.ego)
	for _, a := range d.sample.boxes {
		for _, line := range l.edges(a.pose, a.size) {
			v.Segments = append(v.Segments, check.Segment{From: line[0], To: line[1], Category: a.instance.category.name})
		}
	}
	for _, p := range points {
		c := l.fromGlobal.Apply(p)
		if c[2] <= nearPlane {
			continue
		}
		if at := l.pixel(c); l.within(at) {
			v.Dots = append(v.Dots, check.Dot{At: at, Depth: c[2]})
		}
	}
	return v
}
