package pipeline

import (
	"context"
	"errors"
	"fmt"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/simtime"
)

// What the clients of a bridge may do with the run's time, where its protocol has services
// or parameters.
const (
	pauseService = "/raybridge/set_paused" // std_srvs/SetBool
	stepService  = "/raybridge/step"       // std_srvs/Trigger: a paused run goes on by one step

	pausedParameter = "/raybridge/paused"
	scaleParameter  = "/raybridge/time_scale"
	sourceParameter = "/raybridge/time_source" // read only
)

// offerTime offers the run's time to the bridge's clients.
func (b *attachedBridge) offerTime() error {
	errs := []error{
		bridges.AddService(b.bridge, pauseService, func(_ context.Context, r sample.SetBoolRequest) (sample.SetBoolResponse, error) {
			b.p.setPaused(r.Data)
			return sample.SetBoolResponse{Success: true}, nil
		}),
		bridges.AddService(b.bridge, stepService, func(context.Context, sample.TriggerRequest) (sample.TriggerResponse, error) {
			return outcome(b.p.clock.Step(int64(b.p.config.Step))), nil
		}),
	}
	for _, param := range b.p.timeParameters() {
		errs = append(errs, bridges.AddParameter(b.bridge, param))
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

// setPaused stops the run's time, or lets it go on.
func (p *Pipeline) setPaused(paused bool) {
	if paused {
		p.clock.Pause()
	} else {
		p.clock.Resume()
	}
}

// timeParameters are the run's time as values that clients read and set.
func (p *Pipeline) timeParameters() []bridges.Parameter {
	return []bridges.Parameter{
		{
			Name: pausedParameter,
			Get:  func() any { return p.clock.Paused() },
			Set: func(value any) error {
				paused, ok := value.(bool)
				if !ok {
					return fmt.Errorf("set %s to %v: want true or false", pausedParameter, value)
				}
				p.setPaused(paused)
				return nil
			},
		},
		{
			Name: scaleParameter,
			Get:  func() any { return p.clock.Scale().Float64() },
			Set: func(value any) error {
				factor, ok := value.(float64)
				if !ok {
					return fmt.Errorf("set %s to %v: want a number", scaleParameter, value)
				}
				scale, err := simtime.ScaleOf(factor)
				if err != nil {
					return err
				}
				return p.clock.SetScale(scale)
			},
		},
		{Name: sourceParameter, Get: func() any { return p.clock.Source() }},
	}
}

// tellParameters tells the clients of bridges when the run's time is changed by others.
func (p *Pipeline) tellParameters(change simtime.Change) {
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
	for _, b := range p.bridges {
		bridges.ParameterChanged(b.bridge, name)
	}
}
