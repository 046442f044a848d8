package sensors_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/simtime"
)

var errRefused = errors.New("refused")

// probe is a sensor that notes what is done with it, and fails the step it is told to.
type probe struct {
	notes *[]string
	fails string
}

func (p *probe) note(step string) error {
	*p.notes = append(*p.notes, step)
	if p.fails == step {
		return errRefused
	}
	return nil
}

func (p *probe) SetOwner(sensors.Owner) error              { return p.note("SetOwner") }
func (p *probe) Begin(context.Context, *sensors.Env) error { return p.note("Begin") }
func (p *probe) PreTick(sensors.Tick) error                { return p.note("PreTick") }
func (p *probe) Tick(sensors.Tick) error                   { return p.note("Tick") }
func (p *probe) End() error                                { return p.note("End") }
func (p *probe) Poll(*gpu.Ctx)                             { _ = p.note("Poll") }
func (p *probe) Pending() int                              { return 1 }

func (p *probe) Capture(*gpu.Ctx, sensors.Tick) (bool, error) { return true, p.note("Capture") }

func (p *probe) Process(simtime.Stamp) int {
	_ = p.note("Process")
	return 1
}

var (
	_ sensors.Capturer  = &probe{}
	_ sensors.Owned     = &probe{}
	_ sensors.PreTicker = &probe{}
)

// probed begins the life of a probe that fails one step, "" for none, and returns
// what it notes.
func probed(fails string) (*sensors.Life, *[]string) {
	notes := new([]string)
	d := define(sensors.Attribute{Name: "range", Type: sensors.Float, Default: 5.0})
	d.New = func(spec sensors.Spec) (sensors.Sensor, error) {
		p := &probe{notes: notes, fails: fails}
		if spec.Settings.Value("range").(float64) < 0 {
			return nil, sensors.ErrValue
		}
		return p, p.note("New")
	}
	return sensors.NewLife(d), notes
}

// steps are what can be done with a life, by name.
var steps = map[string]func(*sensors.Life) error{
	"Set":      func(l *sensors.Life) error { return l.Set(sensors.Spec{}) },
	"SetOwner": func(l *sensors.Life) error { return l.SetOwner(sensors.Owner{}) },
	"Begin":    func(l *sensors.Life) error { return l.Begin(context.Background(), &sensors.Env{}) },
	"PreTick":  func(l *sensors.Life) error { return l.PreTick(sensors.Tick{}) },
	"Tick":     func(l *sensors.Life) error { return l.Tick(sensors.Tick{}) },
	"Capture": func(l *sensors.Life) error {
		_, err := l.Capture(nil, sensors.Tick{})
		return err
	},
	"End": func(l *sensors.Life) error { return l.End() },
}

// take takes steps that have to be legal.
func take(t *testing.T, l *sensors.Life, names ...string) {
	t.Helper()
	for _, name := range names {
		require.NoError(t, steps[name](l), name)
	}
}

func TestALifeGoesThroughItsStages(t *testing.T) {
	l, notes := probed("")
	assert.Equal(t, sensors.StageDefined, l.Stage())
	assert.Nil(t, l.Sensor())
	for _, c := range []struct {
		step  string
		stage sensors.Stage
	}{
		{"Set", sensors.StageSet}, {"SetOwner", sensors.StageAttached}, {"Begin", sensors.StageBegun}, {"PreTick", sensors.StageBegun},
		{"Tick", sensors.StageBegun}, {"Capture", sensors.StageBegun}, {"End", sensors.StageEnded}, {"End", sensors.StageEnded},
	} {
		take(t, l, c.step)
		assert.Equal(t, c.stage, l.Stage(), c.step)
		if c.step == "Capture" {
			l.Poll(nil)
			assert.Equal(t, []int{1, 1}, []int{l.Pending(), l.Process(0)})
		}
	}
	assert.Equal(t, []string{"New", "SetOwner", "Begin", "PreTick", "Tick", "Capture", "Poll", "Process", "End"}, *notes)
}

// TestNoStepOutOfTurn goes through all stages and all steps.
func TestNoStepOutOfTurn(t *testing.T) {
	begun := []string{"Set", "SetOwner", "Begin"}
	for name, c := range map[string]struct {
		before []string // legal steps that lead there
		legal  []string
	}{
		"defined":   {nil, []string{"Set", "End"}},
		"set":       {begun[:1], []string{"SetOwner", "End"}},
		"attached":  {begun[:2], []string{"Begin", "End"}},
		"begun":     {begun, []string{"PreTick", "Capture", "End"}}, // Tick needs PreTick
		"announced": {append(begun[:3:3], "PreTick"), []string{"PreTick", "Tick", "Capture", "End"}},
		"ticked":    {append(begun[:3:3], "PreTick", "Tick"), []string{"PreTick", "Capture", "End"}},
		"ended":     {append(begun[:3:3], "PreTick", "Tick", "End"), []string{"End"}},
		"never set": {[]string{"End"}, []string{"End"}},
		"never met": {[]string{"Set", "End"}, []string{"End"}},
	} {
		for step, do := range steps {
			l, notes := probed("")
			take(t, l, c.before...)
			stage, before := l.Stage(), len(*notes)
			err := do(l)
			if slices.Contains(c.legal, step) {
				require.NoError(t, err, "%s when %s", step, name)
				continue
			}
			require.ErrorIs(t, err, sensors.ErrOrder, "%s when %s", step, name)
			assert.ErrorContains(t, err, step)
			assert.ErrorContains(t, err, "sensor.test.a")
			assert.Equal(t, stage, l.Stage(), "%s when %s changes nothing", step, name)
			assert.Len(t, *notes, before, "%s when %s doesn't reach the sensor", step, name)
		}
	}
}

func TestAnErrorOfOrderSaysWhatToDo(t *testing.T) {
	l, _ := probed("")
	require.EqualError(t, l.Tick(sensors.Tick{}), "out of order in a sensor's life: Tick of a sensor.test.a that is defined, it has to be begun")
	take(t, l, "Set", "SetOwner", "Begin")
	require.EqualError(t, l.Set(sensors.Spec{}), "out of order in a sensor's life: Set of a sensor.test.a that is begun, it has to be defined")
	require.NoError(t, l.PreTick(sensors.Tick{Seq: 3}))
	require.EqualError(t, l.Tick(sensors.Tick{Seq: 4}), "out of order in a sensor's life: Tick of a sensor.test.a without PreTick of firing 4")
	require.NoError(t, l.Tick(sensors.Tick{Seq: 3}))
}

// TestAFailedStepEndsALife: except for bad settings, which can be bettered.
func TestAFailedStepEndsALife(t *testing.T) {
	l, notes := probed("SetOwner")
	take(t, l, "Set")
	require.ErrorIs(t, steps["SetOwner"](l), errRefused)
	assert.Equal(t, sensors.StageEnded, l.Stage())
	take(t, l, "End", "End")
	assert.Equal(t, []string{"New", "SetOwner"}, *notes)

	l, notes = probed("Begin")
	take(t, l, "Set", "SetOwner")
	require.ErrorIs(t, steps["Begin"](l), errRefused)
	assert.Equal(t, sensors.StageEnded, l.Stage())
	require.ErrorIs(t, steps["Begin"](l), sensors.ErrOrder)
	take(t, l, "End", "End")
	assert.Equal(t, []string{"New", "SetOwner", "Begin"}, *notes, "a sensor that can't begin holds nothing")

	l, notes = probed("End")
	take(t, l, "Set", "SetOwner", "Begin")
	require.ErrorIs(t, l.End(), errRefused)
	take(t, l, "End")
	assert.Equal(t, []string{"New", "SetOwner", "Begin", "End"}, *notes)

	l, _ = probed("")
	settings := define(sensors.Attribute{Name: "range", Type: sensors.Float, Default: -5.0}).NewSettings()
	require.ErrorIs(t, l.Set(sensors.Spec{Settings: settings}), sensors.ErrValue)
	assert.Equal(t, sensors.StageDefined, l.Stage())
	take(t, l, "Set")
}

// TestWhatIsOptionalMayBeMissing: a sensor needs no more than the three methods.
func TestWhatIsOptionalMayBeMissing(t *testing.T) {
	d := define()
	d.New = func(sensors.Spec) (sensors.Sensor, error) { return &bare{}, nil }
	l := sensors.NewLife(d)
	take(t, l, "Set", "SetOwner", "Begin", "Tick", "PreTick", "Tick")
	require.ErrorIs(t, steps["Capture"](l), sensors.ErrOrder)
	assert.Zero(t, l.Pending()+l.Process(0))
	assert.Nil(t, l.Capturer())
	l.Poll(nil)
	take(t, l, "End")
}

type bare struct{}

func (*bare) Begin(context.Context, *sensors.Env) error { return nil }
func (*bare) Tick(sensors.Tick) error                   { return nil }
func (*bare) End() error                                { return nil }
