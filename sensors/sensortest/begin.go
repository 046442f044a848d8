package sensortest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/raybridge/raybridge/gpu/gputest"
	"github.com/raybridge/raybridge/sensors"
)

// errFake is what the fake's calls fail with.
var errFake = errors.New("the fake has no more of it")

// BeginFails has each object that a GPU sensor makes when it begins, and each write into
// one, fail in turn, on a fake: Begin must return the driver's error and leave
// nothing behind. Options.GL is not used.
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

// beginOnFake begins a sensor on a fake whose nth call (from 0) of a kind fails, if one
// is named, and returns what was called by then.
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
