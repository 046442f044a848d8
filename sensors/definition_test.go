package sensors_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/simtime"
)

func TestRegistryRefusesAnOutputThatNobodyCanOpen(t *testing.T) {
	_, err := sensors.NewRegistry(&sensors.Definition{
		ID: "sensor.a", New: func(sensors.Spec) (sensors.Sensor, error) { return nil, nil },
		Outputs: []sensors.OutputSpec{{Name: "image"}},
	})
	require.EqualError(t, err, "define sensor sensor.a: output image: make it with Declare")
}

// define makes a definition that a registry takes, except for its attributes.
func define(attributes ...sensors.Attribute) *sensors.Definition {
	return &sensors.Definition{
		ID: "sensor.test.a", Attributes: attributes,
		New: func(sensors.Spec) (sensors.Sensor, error) { return nil, nil },
	}
}

func TestDefinitionsThatContradictThemselvesAreRefused(t *testing.T) {
	changed := func(change func(*sensors.Definition)) *sensors.Definition {
		d := define()
		change(d)
		return d
	}
	withID := func(id string) *sensors.Definition {
		return changed(func(d *sensors.Definition) { d.ID = id })
	}
	number := sensors.Attribute{Name: "n", Type: sensors.Int, Min: 1, Max: 9, Default: int64(1)}
	with := func(change func(*sensors.Attribute)) *sensors.Definition {
		a := number
		change(&a)
		return define(a)
	}
	_, err := sensors.NewRegistry(define(number), changed(func(d *sensors.Definition) { d.ID, d.EachFrame = "sensor.test.b", true }))
	require.NoError(t, err)
	for name, d := range map[string]*sensors.Definition{
		"no id":                        withID(""),
		"one word":                     withID("camera"),
		"capitals":                     withID("sensor.Camera.rgb"),
		"a space":                      withID("sensor.camera. rgb"),
		"a dot at the end":             withID("sensor.camera."),
		"no constructor":               changed(func(d *sensors.Definition) { d.New = nil }),
		"an empty tag":                 changed(func(d *sensors.Definition) { d.Tags = []string{"camera", ""} }),
		"each frame at a rate":         changed(func(d *sensors.Definition) { d.EachFrame, d.Rate = true, simtime.Hz(10) }),
		"no attribute name":            with(func(a *sensors.Attribute) { a.Name = "" }),
		"no attribute type":            with(func(a *sensors.Attribute) { a.Type = 0 }),
		"default below the range":      with(func(a *sensors.Attribute) { a.Default = int64(0) }),
		"default of another type":      with(func(a *sensors.Attribute) { a.Default = "text" }),
		"default that is not an int64": with(func(a *sensors.Attribute) { a.Default = 1 }),
		"range upside down":            with(func(a *sensors.Attribute) { a.Min = 10 }),
		"text with a range":            define(sensors.Attribute{Name: "s", Type: sensors.String, Default: "", Max: 1}),
		"restricted to nothing":        with(func(a *sensors.Attribute) { a.Restricted = true }),
		"default not recommended":      with(func(a *sensors.Attribute) { a.Recommended, a.Restricted = []string{"2"}, true }),
		"recommended out of range":     with(func(a *sensors.Attribute) { a.Recommended = []string{"1", "10"} }),
		"recommended of another type":  with(func(a *sensors.Attribute) { a.Recommended = []string{"many"} }),
		"fixed and inert":              with(func(a *sensors.Attribute) { a.Fixed, a.Inert = true, "it is" }),
		"fixed with recommendations":   with(func(a *sensors.Attribute) { a.Fixed, a.Recommended = true, []string{"1"} }),
	} {
		_, err := sensors.NewRegistry(d)
		require.ErrorIs(t, err, sensors.ErrDefinition, name)
	}
	_, err = sensors.NewRegistry(define(number, number))
	require.ErrorIs(t, err, sensors.ErrDuplicate)
	_, err = sensors.NewRegistry(define(number), define())
	require.ErrorIs(t, err, sensors.ErrDuplicate)
}

func TestNumbersAreUsedOnce(t *testing.T) {
	a, b := define(), define()
	b.ID = "sensor.test.b"
	a.Number, b.Number = 7, 7
	_, err := sensors.NewRegistry(a, b)
	require.ErrorIs(t, err, sensors.ErrDuplicate)
	require.EqualError(t, err, "define sensor sensor.test.b: number 7 is that of sensor.test.a: registered twice")
	a.Number, b.Number = 0, 0
	_, err = sensors.NewRegistry(a, b)
	require.NoError(t, err, "0 is not a number")
}

func TestLookUp(t *testing.T) {
	made := func(id string, tags ...string) *sensors.Definition {
		d := define()
		d.ID, d.Tags = id, tags
		return d
	}
	r, err := sensors.NewRegistry(
		made("sensor.camera.rgb", "camera", "gpu", "colour"), made("sensor.camera.depth", "camera", "gpu", "range"),
		made("sensor.lidar.ray_cast", "lidar", "gpu", "range"), made("sensor.other.imu", "imu"))
	require.NoError(t, err)
	for pattern, want := range map[string][]string{
		"sensor.camera.rgb": {"sensor.camera.rgb"},
		"sensor.camera.*":   {"sensor.camera.depth", "sensor.camera.rgb"},
		"*.r??":             {"sensor.camera.rgb"},
		"*ray*":             {"sensor.lidar.ray_cast"},
		"camera":            {"sensor.camera.depth", "sensor.camera.rgb"},
		"rang*":             {"sensor.camera.depth", "sensor.lidar.ray_cast"},
		"[gi]*u":            {"sensor.camera.depth", "sensor.camera.rgb", "sensor.lidar.ray_cast", "sensor.other.imu"},
		"*":                 {"sensor.camera.depth", "sensor.camera.rgb", "sensor.lidar.ray_cast", "sensor.other.imu"},
		"cam":               nil,
		"sensor.camera":     nil,
		"[":                 nil,
		"":                  nil,
	} {
		var got []string
		for _, d := range r.Match(pattern) {
			got = append(got, d.ID)
		}
		assert.Equal(t, want, got, "%q", pattern)
	}
	d, err := r.Get("sensor.other.imu")
	require.NoError(t, err)
	assert.Equal(t, "sensor.other.imu", d.ID)
	_, err = r.Get("sensor.other.*")
	require.ErrorIs(t, err, sensors.ErrUnknownSensor)
	assert.EqualError(t, err, `unknown sensor type "sensor.other.*", did you mean sensor.other.imu?`)
	assert.LessOrEqual(t, testing.AllocsPerRun(10, func() { _, _ = r.Get("nothing") }), 1.0, "a rig may have thousands")
}

// receiver counts what a sink is given.
type receiver struct {
	listening bool
	status    flow.Status
	got       int
}

func (r *receiver) Listening() bool { return r.listening }

func (r *receiver) Status() flow.Status { return r.status }

func (r *receiver) TryQueue(sensors.Tick, any) bool {
	r.got++
	return true
}

func (r *receiver) Publish(context.Context, sensors.Tick, any) error { return nil }

func TestAnOutputHasTheBestStatusOfItsReceivers(t *testing.T) {
	spec := sensors.Declare[sample.Clock](sensors.OutputSpec{Name: "clock"})
	out := spec.Open()
	assert.Equal(t, flow.Disconnected, out.Status(), "nobody is there")
	for _, status := range []flow.Status{flow.UnexpectedlyDisconnected, flow.Disconnecting, flow.Connecting, flow.Connected} {
		out.Connect(&receiver{})
		disconnect := out.Connect(&receiver{status: status})
		out.Connect(&receiver{status: flow.Disconnected})
		assert.Equal(t, status, out.Status())
		if status == flow.Connected {
			disconnect()
			assert.Equal(t, flow.Connecting, out.Status(), "the best of those that are left")
		}
	}
}

func TestLatchReachesEachReceiverOnce(t *testing.T) {
	spec := sensors.Declare[sample.Clock](sensors.OutputSpec{Name: "static"})
	out := spec.Open().(*sensors.Output[*sample.Clock])
	there, late := &receiver{listening: true}, &receiver{}
	out.Connect(there)
	out.Connect(late)
	latch := func() { out.Latch(sensors.Tick{}, &sample.Clock{}) }
	latch()
	latch()
	assert.Equal(t, []int{1, 0}, []int{there.got, late.got})
	late.listening = true
	latch()
	latch()
	assert.Equal(t, []int{1, 1}, []int{there.got, late.got})
	late.listening = false
	latch()
	late.listening = true
	latch()
	assert.Equal(t, []int{1, 2}, []int{there.got, late.got}, "who comes again is given it again")
	stranger := &receiver{listening: true}
	out.Connect(stranger)
	latch()
	assert.Equal(t, 1, stranger.got)
	out.Unlatch()
	latch()
	latch()
	assert.Equal(t, []int{2, 3, 2}, []int{there.got, late.got, stranger.got}, "a changed message is given to all")
}
