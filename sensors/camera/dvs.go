package camera

import (
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/sample"
)

// OutputEvents is the output of the DVS camera.
const OutputEvents = "events"

// DVS is CARLA's camera of brightness changes (a dynamic vision sensor): it
// compares each picture of a colour camera with the one before and publishes the
// events between them, as eventModel describes. Where nothing changed, nothing is
// published. How fine the events are depends on the rate: between two pictures
// the brightness is taken for linear.
//
// With sigma thresholds, each pixel's threshold is drawn anew at each picture, by
// its place, the firing's number and the seed. A level that a lower threshold finds
// passed already is an event at the interval's start.
//
// A picture with more than 16,777,216 events has none: it is counted as convert_failed.
var DVS = definition(kindDVS, "event camera: pixels whose brightness changed, with the time and the sign",
	append(colorAttributes(),
		attribute("positive_threshold", sensors.Float, 0.3, "step of brightness that makes an event of a pixel that gets brighter").in("", minThreshold, 255),
		attribute("negative_threshold", sensors.Float, 0.3, "step of brightness that makes an event of a pixel that gets darker").in("", minThreshold, 255),
		attribute("sigma_positive_threshold", sensors.Float, 0.0, "standard deviation of positive_threshold over pixels and pictures").in("", 0, 255),
		attribute("sigma_negative_threshold", sensors.Float, 0.0, "standard deviation of negative_threshold over pixels and pictures").in("", 0, 255),
		attribute("refractory_period_ns", sensors.Int, int64(0), "for how long a pixel has no other event after one").in("ns", 0, 1e12),
		attribute("use_log", sensors.Bool, true, "brightness is ln(log_eps + grey / 255); otherwise grey itself, 0 to 255"),
		attribute("log_eps", sensors.Float, 0.001, "keeps the logarithm of black finite").in("", 1e-9, 1),
	)...,
)

// eventCamera is what a DVS camera has over the others. But for the output it
// belongs to Process.
type eventCamera struct {
	out     *sensors.Output[*sample.DvsEvents]
	model   eventModel
	message sample.DvsEvents // reused: outputs copy what they keep
}

func newEventCamera(o *options, s *sensors.Settings) *eventCamera {
	return &eventCamera{
		model: eventModel{
			width: o.lens.Width, height: o.lens.Height,
			positive:     threshold{s.Float("positive_threshold"), s.Float("sigma_positive_threshold")},
			negative:     threshold{s.Float("negative_threshold"), s.Float("sigma_negative_threshold")},
			refractoryNs: int64(s.Int("refractory_period_ns")),
			useLog:       s.Bool("use_log"), eps: s.Float("log_eps"), limit: maxEvents,
		},
		message: sample.DvsEvents{Width: o.lens.Width, Height: o.lens.Height, FovDeg: o.lens.pinholeFov()},
	}
}

// open opens the output.
func (e *eventCamera) open(env *sensors.Env) (err error) {
	e.model.seed = env.Seed
	e.out, err = sensors.OutputOf[*sample.DvsEvents](env, OutputEvents)
	return err
}

// publish sends the events that a picture of luminances makes, if there are any.
func (e *eventCamera) publish(at sensors.Tick, header sample.Header, luminances []uint32) error {
	events, err := e.model.events(luminances, at)
	if err != nil || len(events) == 0 {
		return err
	}
	e.message.Header, e.message.Events = header, events
	e.out.TryQueue(at, &e.message)
	e.message.Events = nil // the model's
	return nil
}
