package carry

import (
	"context"
	"errors"
	"fmt"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/simtime"
)

// The clients of a bridge may pause, step and scale the run's time, if its protocol has services
// or parameters.
const (
	pauseService = "/raybridge/set_paused" // std_srvs/SetBool
	stepService  = "/raybridge/step"       // std_srvs/Trigger: a paused run goes on by one step

	pausedParameter = "/raybridge/paused"
	scaleParameter  = "/raybridge/time_scale"
	sourceParameter = "/raybridge/time_source" // read only
)

// offerTime offers the run's time to the bridge's clients.
func (c *carrier) offerTime() error {
	run := c.run
	errs := []error{
		bridges.AddService(c.bridge, pauseService, func(_ context.Context, r sample.SetBoolRequest) (sample.SetBoolResponse, error) {
			run.setPaused(r.Data)
			return sample.SetBoolResponse{Success: true}, nil
		}),
		bridges.AddService(c.bridge, stepService, func(context.Context, sample.TriggerRequest) (sample.TriggerResponse, error) {
			return outcome(run.config.Clock.Step(int64(run.config.Step))), nil
		}),
	}
	for _, param := range run.timeParameters() {
		errs = append(errs, bridges.AddParameter(c.bridge, param))
	}
	for _, err := range errs {
		if err != nil && !errors.Is(err, bridges.ErrNoConverter) {
			return fmt.Errorf("offer the run's time: %w", err)
		}
	}
	return nil
}

// outcome says whether something was done, or why not.
func outcome(err error) (r sample.TriggerResponse) {
	r.Success = err == nil
	if err != nil {
		r.Message = err.Error()
	}
	return r
}

// setPaused stops the run's time, that of steps under way too, or lets it continue.
func (b *Bridges) setPaused(paused bool) {
	if paused {
		b.config.Clock.Pause()
		b.config.Clock.Halt()
	} else {
		b.config.Clock.Resume()
	}
}

// timeParameters are the run's time as values that clients read and set.
func (b *Bridges) timeParameters() []bridges.Parameter {
	clock := b.config.Clock
	return []bridges.Parameter{
		{
			Name: pausedParameter,
			Get:  func() any { return clock.Paused() },
			Set: func(value any) error {
				paused, ok := value.(bool)
				if !ok {
					return fmt.Errorf("set %s to %v: want true or false", pausedParameter, value)
				}
				b.setPaused(paused)
				return nil
			},
		},
		{
			Name: scaleParameter,
			Get:  func() any { return clock.Scale().Float64() },
			Set: func(value any) error {
				factor, ok := value.(float64)
				if !ok {
					return fmt.Errorf("set %s to %v: want a number", scaleParameter, value)
				}
				scale, err := simtime.ScaleOf(factor)
				if err != nil {
					return err
				}
				return clock.SetScale(scale)
			},
		},
		{Name: sourceParameter, Get: func() any { return clock.Source() }},
	}
}

// TimeChanged tells the clients of bridges of a change of the run's time. It doesn't wait for a
// bridge that comes.
func (b *Bridges) TimeChanged(change simtime.Change) {
	var name string
	switch change.Kind {
	case simtime.Paused, simtime.Resumed:
		name = pausedParameter
	case simtime.ScaleChanged:
		name = scaleParameter
	case simtime.SourceChanged:
		name = sourceParameter
	default:
		return
	}
	for _, c := range b.all() {
		bridges.ParameterChanged(c.bridge, name)
	}
}
