package viewer

import (
	"fmt"
	"reflect"

	"github.com/raybridge/raybridge/pipeline"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/sample"
)

// semanticID is the type of the cameras whose mono8 means tags.
const semanticID = "sensor.camera.semantic_segmentation"

// Watch adds those of a pipeline's sensors that the window can show, and
// listens to them. It comes before Show.
func (v *Viewer) Watch(p *pipeline.Pipeline) error {
	for _, s := range p.Sensors() {
		if err := v.watch(s); err != nil {
			return fmt.Errorf("show sensor %s: %w", s.Name(), err)
		}
	}
	return nil
}

// watch listens to the first of a sensor's outputs that means something here: to
// compressed images only where a camera publishes no others.
func (v *Viewer) watch(s *pipeline.Sensor) error {
	outputs := s.Outputs()
	for k := range outputs {
		listen, ok := listeners[outputs[k].Type]
		if !ok {
			continue
		}
		return listen(v, s, outputs[k].Name, Sensor{
			Name: s.Name(), Topic: s.Topics()[k], Labels: s.TypeID() == semanticID,
			RateHz: s.RateHz(), Mount: s.Mount(), Drops: s.Drops,
		})
	}
	return nil
}

// listeners has the outputs that are worth a pane or a figure, by message type.
var listeners = map[reflect.Type]func(v *Viewer, s *pipeline.Sensor, output string, about Sensor) error{
	reflect.TypeFor[*sample.Image]():           listenImages,
	reflect.TypeFor[*sample.CompressedImage](): listenCompressed,
	reflect.TypeFor[*sample.PointCloud]():      listenCloud,
	reflect.TypeFor[*sample.Imu]():             listenMeter[*sample.Imu],
	reflect.TypeFor[*sample.GnssFix]():         listenMeter[*sample.GnssFix],
	reflect.TypeFor[*sample.Odometry]():        listenMeter[*sample.Odometry],
}

func listenImages(v *Viewer, s *pipeline.Sensor, output string, about Sensor) error {
	hear, _ := v.AddCamera(about)
	_, err := pipeline.Listen(s, output, hear)
	return err
}

func listenCompressed(v *Viewer, s *pipeline.Sensor, output string, about Sensor) error {
	_, hear := v.AddCamera(about)
	_, err := pipeline.Listen(s, output, hear)
	return err
}

func listenCloud(v *Viewer, s *pipeline.Sensor, output string, about Sensor) error {
	_, err := pipeline.Listen(s, output, v.AddCloud(about))
	return err
}

func listenMeter[M any](v *Viewer, s *pipeline.Sensor, output string, about Sensor) error {
	m := v.AddMeter(about)
	_, err := pipeline.Listen(s, output, func(at sensors.Tick, _ M) { m.Note(at) })
	return err
}
