package sensortest

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/gpu/gputest"
	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/spatial"
)

// Suite says what the conformance suite needs to know of a sensor type.
type Suite struct {
	Options
	// Changed has, for each attribute, a value that must change the data; one for an
	// attribute that is Inert must not. Those and Fixed ones may be left out.
	Changed map[string]any
	// Unchanging lists the attributes that don't change the data of this
	// scene, each with the reason.
	Unchanging map[string]string
	// Unfelt lists the parts of the weather, by their keys, that the definition says are felt and that don't
	// change the data of this scene, each with the reason.
	Unfelt map[string]string
	// Still is true for a sensor whose data doesn't depend on where it is.
	Still bool
}

// Run checks what every sensor type keeps. Data names its stamp, is equal for equal seeds, and
// changes with the pose, with every attribute, and with the weather as the definition says. Live attributes count from the
// next firing on.
// End may be called twice.
func Run(t *testing.T, d *sensors.Definition, s Suite) {
	t.Helper()
	base := record(t, d, s.Options)
	t.Run("publishes on every output with the stamp of its capture", func(t *testing.T) {
		for i := range d.Outputs {
			if len(base[d.Outputs[i].Name]) == 0 {
				t.Errorf("output %s has published nothing", d.Outputs[i].Name)
			}
		}
	})
	t.Run("gives equal data for an equal seed", func(t *testing.T) {
		if again := record(t, d, s.Options); !reflect.DeepEqual(base, again) {
			t.Error("two runs of one seed differ")
		}
	})
	t.Run("sees its own pose", func(t *testing.T) {
		o := s.Options
		if o.Mount == (spatial.Pose{}) {
			o.Mount = spatial.Identity()
		}
		o.Mount = o.Mount.Compose(spatial.FromRPY(mgl64.Vec3{0.5, 0.25, 0.125}, 5, 3, 20))
		if same := reflect.DeepEqual(base, record(t, d, o)); same != s.Still {
			t.Errorf("moved sensor gives equal data: %v, want %v", same, s.Still)
		}
	})
	for i := range d.Attributes {
		a := &d.Attributes[i]
		t.Run("attribute "+a.Name, func(t *testing.T) { checkAttribute(t, d, s, a, base) })
	}
	t.Run("feels the weather as it says", func(t *testing.T) { checkWeather(t, d, s, base) })
	t.Run("counts a capture that its end leaves behind", func(t *testing.T) { checkUnfinished(t, d, s.Options) })
	t.Run("may be ended twice", func(t *testing.T) {
		h := New(t, d, s.Options)
		if err := h.Sensor.End(); err != nil {
			t.Error(err)
		}
		if err := h.Sensor.End(); err != nil {
			t.Error(err)
		}
	})
}

// checkUnfinished ends a Capturer with a capture in flight (law S5).
func checkUnfinished(t *testing.T, d *sensors.Definition, o Options) {
	h := New(t, d, o)
	c, ok := h.Sensor.(sensors.Capturer)
	if !ok {
		return
	}
	h.Env.History.Record(0)
	at := sensors.Tick{Due: 100_000_000, PeriodNs: 100_000_000}
	h.Env.History.Record(at.Due)
	if err := h.Sensor.Tick(at); err != nil {
		t.Fatal(err)
	}
	err := h.Env.GL.Do(t.Context(), func(g *gpu.Ctx) error {
		_, err := c.Capture(g, at)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if n := c.Pending(); n != 1 {
		t.Fatalf("%d captures are pending, want 1", n)
	}
	h.End()
	if n := h.Drops[flow.CauseClosed]; n != 1 || len(h.Drops) != 1 {
		t.Errorf("drops are %v, want one of cause %s", h.Drops, flow.CauseClosed)
	}
}

func checkAttribute(t *testing.T, d *sensors.Definition, s Suite, a *sensors.Attribute, base map[string][]any) {
	name := a.Name
	value, ok := s.Changed[name]
	if a.Fixed || s.Unchanging[name] != "" || (a.Inert != "" && !ok) {
		return
	}
	if !ok {
		t.Fatalf("the suite has no value of %s that changes the data: give it one in Changed, or a reason in Unchanging", name)
	}
	o := s.Options
	o.Attributes = map[string]any{name: value}
	for k, v := range s.Attributes {
		if k != name {
			o.Attributes[k] = v
		}
	}
	if same := reflect.DeepEqual(base, record(t, d, o)); same != (a.Inert != "") {
		t.Errorf("%s = %v changes nothing: %v, its definition says %v", name, value, same, a.Inert != "")
	}
	if a.Live {
		checkLive(t, d, s.Options, o.Attributes, base)
	}
}

// checkLive changes attributes after the first firing. That one's data is as without, and the
// data of the others isn't.
func checkLive(t *testing.T, d *sensors.Definition, o Options, attributes map[string]any, base map[string][]any) {
	before := map[string]int{}
	all := recordTuned(t, d, o, func(h *Harness) {
		for output, list := range h.Messages {
			before[output] = len(list)
		}
		o.Attributes = attributes
		h.Tune(d, o)
	})
	for output, n := range before {
		if !reflect.DeepEqual(all[output][:n], base[output][:n]) {
			t.Errorf("%s: what a sensor published before a change isn't what it publishes without", output)
		}
	}
	if reflect.DeepEqual(all, base) {
		t.Errorf("%v changes nothing while the sensor runs, its definition says that it is live", attributes)
	}
}

// record fires a sensor three times and returns everything it published.
func record(t *testing.T, d *sensors.Definition, o Options) map[string][]any {
	t.Helper()
	return recordTuned(t, d, o, func(*Harness) {})
}

// recordTuned is record with a call after the first firing.
func recordTuned(t *testing.T, d *sensors.Definition, o Options, tune func(*Harness)) map[string][]any {
	t.Helper()
	if o.Ego == nil {
		o.Ego = drive{}
	}
	h := New(t, d, o)
	defer h.End()
	for k := int64(1); k <= 3; k++ {
		h.Fire(simtime.Stamp(k * 100_000_000))
		if k == 1 {
			tune(h)
		}
	}
	checkStamps(t, h)
	return h.Messages
}

func checkStamps(t *testing.T, h *Harness) {
	t.Helper()
	for output, list := range h.Messages {
		for i, m := range list {
			stamp := m.(simtime.Stamped).Captured()
			if stamp < 0 || stamp > 300_000_000 {
				t.Errorf("%s[%d] has stamp %d, outside its capture", output, i, stamp)
			}
			if frame, ok := frameOf(m); ok && frame == "" {
				t.Errorf("%s[%d] names no frame", output, i)
			}
		}
	}
}

// frameOf returns the frame of messages that have a header.
func frameOf(m any) (string, bool) {
	f := reflect.ValueOf(m).Elem().FieldByName("Header")
	if !f.IsValid() {
		return "", false
	}
	return f.Interface().(sample.Header).FrameID, true
}

// drive is an ego that goes ahead and turns a little.
type drive struct{}

// PoseAt is a helix of 5 m/s and 0.2 rad/s.
func (drive) PoseAt(stamp simtime.Stamp) spatial.Pose {
	s := float64(stamp) / 1e9
	return spatial.FromRPY(mgl64.Vec3{5 * s, 0.1 * s, 0}, 0, 0, 11.46*s)
}

var _ scene.Motion = drive{}

// errFake is what the fake's calls fail with.
var errFake = errors.New("the fake has no more of it")

// BeginFails has each object that a GPU sensor makes when it begins, and each write into one,
// fail in turn, on a fake. Begin must return the driver's error and leave nothing behind.
// Options.GL is not used.
func BeginFails(t *testing.T, d *sensors.Definition, o Options) {
	t.Helper()
	counts := map[string]int{}
	for _, line := range beginOnFake(t, d, o, "", 0) {
		call, _, _ := strings.Cut(line, " ")
		nth := counts[call]
		counts[call]++
		// What the pool finds out about the driver, it can do without.
		if vital(call) && !strings.Contains(line, `"readback probe"`) {
			t.Run(fmt.Sprintf("%s %d", call, nth), func(t *testing.T) { beginOnFake(t, d, o, call, nth) })
		}
	}
	if counts["CreateBuffer"] == 0 {
		t.Errorf("%s made no buffer when it began: is it a GPU sensor?", d.ID)
	}
}

// vital reports whether a sensor can't begin without a call to the driver.
func vital(call string) bool {
	switch call {
	case "CreateBuffer", "CreateTexture", "CreateFramebuffer", "CreateProgram", "MapBuffer", "WriteBuffer":
		return true
	}
	return false
}

// beginOnFake begins a sensor on a fake whose nth call (from 0) of a kind fails, if one is
// named. It returns what was called by then.
func beginOnFake(t *testing.T, d *sensors.Definition, o Options, call string, nth int) []string {
	t.Helper()
	fake := gputest.NewFake()
	o.GL = fake.Start(t) // reports what is left when the test ends
	h, err := prepare(t, d, o)
	if err != nil {
		t.Fatal(err)
	}
	fake.ClearLog()
	if call != "" {
		for range nth {
			fake.Fail(call, nil) // these succeed
		}
		fake.Fail(call, errFake)
	}
	err = h.life.Begin(context.Background(), h.Env)
	log := fake.Log()
	if call != "" && !errors.Is(err, errFake) {
		t.Errorf("Begin returned %v, want the driver's error", err)
	}
	if call == "" && err != nil {
		t.Error(err)
	}
	h.End()
	return log
}
