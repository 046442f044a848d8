package sensors

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/simtime"
)

// ErrOrder says that a step of a sensor's life was taken out of turn. The error that
// wraps it says which step, and where the sensor was in its life.
var ErrOrder = errors.New("out of order in a sensor's life")

// Stage is where a sensor is in its life.
type Stage uint32

// The stages, in their order.
const (
	StageDefined  Stage = iota // NewLife: there is a definition
	StageSet                   // Life.Set: the sensor was made of its attributes
	StageAttached              // Life.SetOwner: it knows what it rides on
	StageBegun                 // Life.Begin: it ticks
	StageEnded                 // Life.End, or a step that failed
)

var stageNames = [...]string{StageDefined: "defined", StageSet: "set", StageAttached: "attached", StageBegun: "begun", StageEnded: "ended"}

// String returns the stage's name in messages.
func (s Stage) String() string { return stageNames[s] }

// Life takes one sensor through its life: Set, SetOwner, Begin, then at each firing
// PreTick before the scene moved and Tick after, and End. A step out of turn does
// nothing and returns an error that wraps ErrOrder. End may come at any stage, and
// again; it ends what was begun.
//
// Set, SetOwner, Begin and End may be called from any goroutine, one at a time each. PreTick,
// Tick, Capture, Poll and Process are called from where Sensor, PreTicker and Capturer say. Who
// calls End sees to it that none of those is under way.
type Life struct {
	definition *Definition

	mu    sync.Mutex    // serialises the steps that change the stage
	stage atomic.Uint32 // a Stage
	// armed is the firing that PreTick announced and Tick hasn't had, plus 1; 0 for
	// none.
	armed atomic.Uint64

	sensor    Sensor // from Set on, as are those below; nil where it is not of that kind
	capturer  Capturer
	preTicker PreTicker
}

// NewLife begins the life of a sensor of a type: nothing is made yet.
func NewLife(d *Definition) *Life { return &Life{definition: d} }

// Stage returns where the sensor is. Any goroutine may ask.
func (l *Life) Stage() Stage { return Stage(l.stage.Load()) }

// Sensor returns what Set made, nil before.
func (l *Life) Sensor() Sensor { return l.sensor }

// Capturer returns what Set made if it is a Capturer, else nil. Its Capture, Poll
// and Process are called through the Life.
func (l *Life) Capturer() Capturer { return l.capturer }

// outOfOrder is the error of a step at the wrong stage.
func (l *Life) outOfOrder(step string, need Stage) error {
	return fmt.Errorf("%w: %s of a %s that is %s, it has to be %s", ErrOrder, step, l.definition.ID, l.Stage(), need)
}

// Set makes the sensor of its attributes and place. Without spec.Settings every
// attribute has its default; spec.Definition is set. Errors in the settings wrap
// ErrValue and leave the life where it was: Set may be called with better ones.
func (l *Life) Set(spec Spec) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.Stage() != StageDefined {
		return l.outOfOrder("Set", StageDefined)
	}
	spec.Definition = l.definition
	if spec.Settings == nil {
		spec.Settings = l.definition.NewSettings()
	}
	sensor, err := l.definition.New(spec)
	if err != nil {
		return err
	}
	l.sensor = sensor
	l.capturer, _ = sensor.(Capturer)
	l.preTicker, _ = sensor.(PreTicker)
	l.stage.Store(uint32(StageSet))
	return nil
}

// SetOwner says what the sensor rides on. A sensor that refuses its owner has ended.
func (l *Life) SetOwner(owner Owner) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.Stage() != StageSet {
		return l.outOfOrder("SetOwner", StageSet)
	}
	if owned, ok := l.sensor.(Owned); ok {
		if err := owned.SetOwner(owner); err != nil {
			l.stage.Store(uint32(StageEnded))
			return err
		}
	}
	l.stage.Store(uint32(StageAttached))
	return nil
}

// Begin makes what the sensor needs. A sensor that can't begin has ended, and holds
// nothing.
func (l *Life) Begin(ctx context.Context, env *Env) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.Stage() != StageAttached {
		return l.outOfOrder("Begin", StageAttached)
	}
	if err := l.sensor.Begin(ctx, env); err != nil {
		l.stage.Store(uint32(StageEnded))
		return err
	}
	l.stage.Store(uint32(StageBegun))
	return nil
}

// PreTick is the first half of a firing, before the scene moves; it does nothing for
// a sensor that is not a PreTicker. A firing that is given up after it needs no Tick.
func (l *Life) PreTick(at Tick) error {
	if l.Stage() != StageBegun {
		return l.outOfOrder("PreTick", StageBegun)
	}
	if l.preTicker == nil {
		return nil
	}
	l.armed.Store(at.Seq + 1)
	return l.preTicker.PreTick(at)
}

// Tick is the second half of a firing, after the scene has moved. That of a PreTicker
// comes after PreTick of the same firing.
func (l *Life) Tick(at Tick) error {
	if l.Stage() != StageBegun {
		return l.outOfOrder("Tick", StageBegun)
	}
	if l.preTicker != nil && !l.armed.CompareAndSwap(at.Seq+1, 0) {
		return fmt.Errorf("%w: Tick of a %s without PreTick of firing %d", ErrOrder, l.definition.ID, at.Seq)
	}
	return l.sensor.Tick(at)
}

// Tune is Tuner.Tune; it does nothing for a sensor that is not a Tuner.
func (l *Life) Tune(fresh Sensor) error {
	if l.Stage() != StageBegun {
		return l.outOfOrder("Tune", StageBegun)
	}
	if tuner, ok := l.sensor.(Tuner); ok {
		return tuner.Tune(fresh)
	}
	return nil
}

// Capture is Capturer.Capture. GL thread.
func (l *Life) Capture(c *gpu.Ctx, at Tick) (issued bool, err error) {
	if l.Stage() != StageBegun {
		return false, l.outOfOrder("Capture", StageBegun)
	}
	if l.capturer == nil {
		return false, fmt.Errorf("%w: Capture of a %s, which needs no GPU", ErrOrder, l.definition.ID)
	}
	return l.capturer.Capture(c, at)
}

// Poll is Capturer.Poll; it does nothing for what isn't begun. GL thread.
func (l *Life) Poll(c *gpu.Ctx) {
	if l.Stage() == StageBegun && l.capturer != nil {
		l.capturer.Poll(c)
	}
}

// Process is Capturer.Process; what isn't begun has nothing to publish.
func (l *Life) Process(through simtime.Stamp) int {
	if l.Stage() != StageBegun || l.capturer == nil {
		return 0
	}
	return l.capturer.Process(through)
}

// Pending is Capturer.Pending, 0 for what isn't begun. Any goroutine.
func (l *Life) Pending() int {
	if l.Stage() != StageBegun || l.capturer == nil {
		return 0
	}
	return l.capturer.Pending()
}

// End releases what Begin made and ends the life wherever it is; again it does
// nothing and returns nil.
func (l *Life) End() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	was := l.Stage()
	l.stage.Store(uint32(StageEnded))
	if was != StageBegun {
		return nil
	}
	return l.sensor.End()
}
