package control

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/go-gl/mathgl/mgl64"

	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/internal/guard"
	"github.com/raybridge/raybridge/pipeline"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/spatial"
	"github.com/raybridge/raybridge/weather"
	"github.com/raybridge/raybridge/world"
)

// Bounds of one step.
const (
	// stepLimit is how large its body may be, in bytes, and largeBodies how many bodies beyond
	// bodyLimit are read at a time.
	stepLimit   = 4 << 20
	largeBodies = 4
	// maxEntries bounds the JSON objects of a frame, and valuesEach the values for each.
	maxEntries = 8192
	valuesEach = 32
	maxSteps   = pipeline.MostSteps
	// maxWait is how long its answer may be waited for, in seconds.
	maxWait = 1e6
)

// stepExample is a step as it is sent.
const stepExample = `{"steps": 10} or {"until": {"sec": 1, "nanosec": 0}, "actors": [{"name": "a", "position": [1, 2, 0], "yaw": 90}]}`

// stepRequest is a number of steps, or a frame of a world. That ends at a time, at the next firing of a
// sensor, or after a number of steps.
type stepRequest struct {
	Steps    *int64           `json:"steps"`
	Timeout  *float64         `json:"timeout"`
	Until    *timeRequest     `json:"until"`
	To       string           `json:"to"`
	Spawn    []spawnRequest   `json:"spawn"`
	Remove   []actorRef       `json:"remove"`
	Actors   []moveRequest    `json:"actors"`
	Complete bool             `json:"complete"`
	Signals  []signal         `json:"signals"`
	Ego      *state           `json:"ego"`
	Weather  *weather.Setting `json:"weather"`
	Wait     string           `json:"wait"`
}

// isFrame reports whether more is asked for than steps.
func (r *stepRequest) isFrame() bool {
	return r.Until != nil || r.To != "" || r.Spawn != nil || r.Remove != nil || r.Actors != nil || r.Complete || r.Signals != nil || r.Ego != nil || r.Weather != nil || r.Wait != ""
}

// spawnRequest is an actor that comes.
type spawnRequest struct {
	Name      string    `json:"name"`
	Model     string    `json:"model"`
	Size      []float64 `json:"size"`
	Reference string    `json:"reference"`
	OnGround  bool      `json:"on_ground"`
	Color     string    `json:"color"`
	state
}

// moveRequest is where an actor is at the step's end.
type moveRequest struct {
	Handle uint32 `json:"handle"`
	Name   string `json:"name"`
	state
}

// state is where something is and how it moves, in metres, radians a second and, for the yaw
// alone, degrees. An orientation is x, y, z, w. Joints are values by their names.
type state struct {
	Position        []float64          `json:"position"`
	Yaw             *float64           `json:"yaw,omitempty"`
	Orientation     []float64          `json:"orientation,omitempty"`
	Velocity        []float64          `json:"velocity,omitempty"`
	AngularVelocity []float64          `json:"angular_velocity,omitempty"`
	Jump            bool               `json:"jump,omitempty"`
	Lights          []string           `json:"lights,omitempty"`
	Joints          map[string]float64 `json:"joints,omitempty"`
}

// actorRef names an actor: a handle, or a text that is its name.
type actorRef world.Ref

// UnmarshalJSON reads either.
func (r *actorRef) UnmarshalJSON(text []byte) error {
	if text[0] == '"' {
		return json.Unmarshal(text, &r.Name)
	}
	if err := json.Unmarshal(text, &r.Handle); err != nil || r.Handle == 0 {
		return errors.New("an actor to remove is given by a handle, a whole number from 1, or a name")
	}
	return nil
}

// signal is what a traffic light shows, by its id or its name.
type signal struct {
	ID    uint32 `json:"id"`
	Name  string `json:"name"`
	State string `json:"state"`
}

// world returns it as the pipeline takes it.
func (r *signal) world() (s world.Signal, err error) {
	s.Ref = world.Ref{Handle: r.ID, Name: r.Name}
	if (r.ID == 0) == (r.Name == "") {
		return s, fmt.Errorf("%w: give either id or name", world.ErrValue)
	}
	s.State, err = world.ParseSignal(r.State)
	return s, err
}

// stepAnswer is what became of a frame.
type stepAnswer struct {
	Time
	Frame      uint64     `json:"frame"`
	Spawned    []uint32   `json:"spawned"`
	Boxed      []string   `json:"boxed,omitempty"`
	Deliveries []delivery `json:"deliveries"`
	Ego        state      `json:"ego"`
}

// delivery is what became of one firing of a sensor, and of more where the step has too many to tell of each.
type delivery struct {
	Sensor   string     `json:"sensor"`
	Seq      uint64     `json:"seq"`
	Stamp    instant    `json:"stamp"`
	Messages int        `json:"messages"`
	Missing  flow.Cause `json:"missing,omitempty"`
	More     int        `json:"more,omitempty"`
	Lost     int        `json:"lost,omitempty"`
}

// instant is a point of simulation time.
type instant struct {
	Sec     int64  `json:"sec"`
	Nanosec uint32 `json:"nanosec"`
}

// instantOf splits a stamp; the nanoseconds count upwards.
func instantOf(s simtime.Stamp) instant {
	sec, rest := int64(s)/int64(time.Second), int64(s)%int64(time.Second)
	if rest < 0 {
		sec, rest = sec-1, rest+int64(time.Second)
	}
	return instant{sec, uint32(rest)}
}

// step makes steps, or a frame's.
func (h *handler) step(w http.ResponseWriter, r *http.Request) (any, error) {
	request, err := h.readStep(w, r)
	if err != nil {
		return nil, advise(err, stepExample)
	}
	if request.isFrame() {
		return h.frame(w, r, request)
	}
	n, err := request.count()
	if err != nil {
		return nil, advise(err, stepExample)
	}
	wait, err := h.waitOf(request)
	if err != nil {
		return nil, advise(err, stepExample)
	}
	defer noDeadline(w)()
	done, err := h.stepOn(r.Context(), n, wait)
	if err == nil && !done {
		return underWay{timeOf(h.run.Clock)}, nil
	}
	return timeOf(h.run.Clock), err
}

// waitOf is how long the answer to a number of steps may take.
func (h *handler) waitOf(r *stepRequest) (time.Duration, error) {
	switch t := r.Timeout; {
	case t == nil:
		return h.run.StepWait, nil
	case !(*t >= 0 && *t <= maxWait):
		return 0, refuse(http.StatusBadRequest, "timeout is %v, the range is 0 to %v seconds", *t, maxWait)
	default:
		return time.Duration(*t * float64(time.Second)), nil
	}
}

// readStep reads a step. Few large bodies are read at a time, and one is decoded: that bounds
// what all clients together can have the server keep.
func (h *handler) readStep(w http.ResponseWriter, r *http.Request) (*stepRequest, error) {
	if r.ContentLength < 0 || r.ContentLength > bodyLimit {
		select {
		case h.large <- struct{}{}:
			defer func() { <-h.large }()
		case <-r.Context().Done():
			return nil, context.Cause(r.Context())
		}
	}
	text, err := body(w, r, stepLimit)
	switch {
	case err != nil:
		return nil, err
	case bytes.Count(text, []byte("{")) > maxEntries, bytes.Count(text, []byte(",")) > maxEntries*valuesEach:
		return nil, refuse(http.StatusBadRequest, "the frame has more than %d entries", maxEntries)
	}
	h.decoding.Lock()
	defer h.decoding.Unlock()
	request := &stepRequest{}
	return request, decode(text, request)
}

// count is how many steps are asked for.
func (r *stepRequest) count() (int64, error) {
	if r.Steps == nil {
		return 1, nil
	}
	if n := *r.Steps; n < 1 || n > maxSteps {
		return 0, refuse(http.StatusBadRequest, "steps is %d, the range is 1 to %d", n, maxSteps)
	}
	return *r.Steps, nil
}

// stepOn moves a paused run on to the end of the n-th step from where it is told to go already.
// So time lies on the grid of steps, and each of several requests counts. A run that has much to
// do is there later than the answer, which is not done then.
func (h *handler) stepOn(ctx context.Context, n int64, wait time.Duration) (done bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	select {
	case h.stepping <- struct{}{}:
		defer func() { <-h.stepping }()
	case <-ctx.Done():
		return false, fmt.Errorf("step: %w", world.ErrBusy)
	}
	if err := h.standing(); err != nil {
		return false, err
	}
	h.awaitBegin(ctx)
	if err := h.checkOwner(); err != nil {
		return false, err
	}
	to := h.gridAfter(n)
	result, err := h.run.StepTo(ctx, &world.Frame{Until: to})
	switch {
	case err == nil:
		return true, nil
	case ctx.Err() != nil && h.run.Clock.Pace() >= to: // it was told
		return false, nil
	case errors.Is(err, world.ErrUnfinished):
		return false, &unfinishedError{err, nil, result.Stamp}
	case errors.Is(err, pipeline.ErrUndelivered):
		return false, nil // a bridge has the rest
	case ctx.Err() == nil:
		return false, err
	default:
		return false, fmt.Errorf("step: %w", world.ErrBusy)
	}
}

// standing refuses a step while the clock runs: by the time the step starts, the time it starts from has passed.
func (h *handler) standing() error {
	if h.run.Clock.Paused() {
		return nil
	}
	return fmt.Errorf("step: %w: %w: pause it first", world.ErrMode, simtime.ErrNotPaused)
}

// gridAfter is the end of the n-th step from where the run is told to go already.
func (h *handler) gridAfter(n int64) simtime.Stamp {
	length := simtime.Stamp(h.run.Step)
	return (h.run.Clock.Pace()/length + simtime.Stamp(n)) * length
}

// glance is how often awaitBegin looks.
const glance = 2 * time.Millisecond

// awaitBegin waits until somebody runs the pipeline, or ctx ends, for StepWait at most: a client may be there first.
func (h *handler) awaitBegin(ctx context.Context) {
	if h.run.Pipeline == nil || h.run.Pipeline.Running() {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, h.run.StepWait)
	defer cancel()
	ticker := time.NewTicker(glance)
	defer ticker.Stop()
	for !h.run.Pipeline.Running() {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

// frame makes the step of a frame. Its answer waits for as long as the client does.
func (h *handler) frame(w http.ResponseWriter, r *http.Request, request *stepRequest) (any, error) {
	if err := h.standing(); err != nil {
		return nil, err
	}
	f, err := h.frameOf(request)
	if err == nil && request.Timeout != nil {
		err = refuse(http.StatusBadRequest, "timeout is only for a number of steps: the answer to a frame waits for the frame")
	}
	if err != nil {
		return nil, advise(err, stepExample)
	}
	defer noDeadline(w)()
	h.awaitBegin(r.Context())
	if err := h.checkOwner(); err != nil {
		return nil, err
	}
	result, err := h.stepTo(r.Context(), f)
	switch {
	case errors.Is(err, world.ErrUnfinished):
		return nil, &unfinishedError{err, result.Spawned, result.Stamp}
	case err != nil:
		return nil, err
	}
	return h.answerOf(&result), nil
}

// unfinishedError is of a step that wraps world.ErrUnfinished, with the handles of those who came, and where time
// stands.
type unfinishedError struct {
	error
	spawned []uint32
	stamp   simtime.Stamp
}

func (e *unfinishedError) Unwrap() error { return e.error }

// reset takes the run back to its beginning, with the seed that it has or another.
func (h *handler) reset(w http.ResponseWriter, r *http.Request, request resetRequest) (any, error) {
	defer noDeadline(w)()
	h.awaitBegin(r.Context())
	if err := h.checkOwner(); err != nil {
		return nil, fmt.Errorf("reset: %w", err)
	}
	seed := h.run.Pipeline.Seed()
	if request.Seed != nil {
		seed = *request.Seed
	}
	if _, err := h.takeBack(r.Context(), seed); err != nil {
		return nil, err
	}
	return timeOf(h.run.Clock), nil
}

// takeBack takes the run back to its beginning. The live page forgets its last messages, which are of later times.
func (h *handler) takeBack(ctx context.Context, seed uint64) (world.StepResult, error) {
	result, err := h.run.Pipeline.Reset(ctx, seed)
	if err == nil && h.run.View != nil {
		h.run.View.Port.Forget()
	}
	return result, err
}

// noDeadline lets a request take its time up to the call of restore, from which on its answer has
// the usual. A client that leaves ends the request all the same.
func noDeadline(w http.ResponseWriter) (restore func()) {
	c := http.NewResponseController(w)
	_ = errors.Join(c.SetReadDeadline(time.Time{}), c.SetWriteDeadline(time.Time{})) // without deadlines there is nothing to lift
	return func() { _ = c.SetWriteDeadline(time.Now().Add(guard.RequestTime)) }
}

// answerOf tells what became of a frame.
func (h *handler) answerOf(result *world.StepResult) *stepAnswer {
	answer := &stepAnswer{Time: timeOf(h.run.Clock), Frame: result.Frame, Spawned: result.Spawned, Boxed: result.Boxed, Ego: stateOf(result.Ego)}
	if answer.Spawned == nil {
		answer.Spawned = []uint32{}
	}
	if result.Deliveries != nil {
		answer.Deliveries = make([]delivery, len(result.Deliveries))
	}
	for i, d := range result.Deliveries {
		answer.Deliveries[i] = delivery{Sensor: d.Sensor, Seq: d.Seq, Stamp: instantOf(d.Due), Messages: d.Messages, Missing: d.Missing, More: d.More, Lost: d.Lost}
	}
	return answer
}

// stateOf returns a state as it is sent.
func stateOf(s world.State) state {
	p, q := s.Pose.Position, s.Pose.Orientation
	return state{
		Position: p[:], Orientation: []float64{q.V[0], q.V[1], q.V[2], q.W},
		Velocity: s.Velocity[:], AngularVelocity: s.AngularVelocity[:],
	}
}

// frameOf returns the frame of a request. Errors about an actor are *world.ActorError, as those
// of StepTo.
func (h *handler) frameOf(r *stepRequest) (*world.Frame, error) {
	f := &world.Frame{To: r.To, Complete: r.Complete, Spawn: make([]world.Spawn, len(r.Spawn)), Actors: make([]world.Actor, len(r.Actors))}
	var err error
	if f.Until, err = h.end(r); err != nil {
		return nil, err
	}
	if f.Wait, err = world.ParseWait(r.Wait); err != nil {
		return nil, err
	}
	for i := range r.Spawn {
		if f.Spawn[i], err = r.Spawn[i].spawn(); err != nil {
			return nil, &world.ActorError{List: "spawn", Index: i, Actor: world.Ref{Name: r.Spawn[i].Name}, Err: err}
		}
	}
	for _, ref := range r.Remove {
		f.Remove = append(f.Remove, world.Ref(ref))
	}
	for i := range r.Actors {
		if f.Actors[i], err = r.Actors[i].actor(); err != nil {
			return nil, &world.ActorError{List: "actors", Index: i, Actor: world.Ref{Handle: r.Actors[i].Handle, Name: r.Actors[i].Name}, Err: err}
		}
	}
	f.Signals = make([]world.Signal, len(r.Signals))
	for i := range r.Signals {
		if f.Signals[i], err = r.Signals[i].world(); err != nil {
			return nil, &world.ActorError{List: world.ListSignals, Index: i, Actor: f.Signals[i].Ref, Err: err}
		}
	}
	if r.Ego != nil {
		s, err := r.Ego.world()
		if err != nil {
			return nil, &world.ActorError{List: "ego", Err: err}
		}
		f.Ego = &s
	}
	if r.Weather != nil {
		if f.Weather, err = world.WeatherOf(r.Weather); err != nil {
			return nil, err
		}
	}
	return f, h.within(f)
}

// end is the time at which a frame ends.
func (h *handler) end(r *stepRequest) (simtime.Stamp, error) {
	u := r.Until
	switch {
	case r.To != "" && (u != nil || r.Steps != nil):
		return 0, refuse(http.StatusBadRequest, "give one of steps, until and to")
	case r.To != "":
		return 0, nil
	case u == nil:
		n, err := r.count()
		return h.gridAfter(n), err
	case r.Steps != nil:
		return 0, refuse(http.StatusBadRequest, "give either steps or until, not both")
	case u.Sec == nil:
		return 0, missing("until.sec")
	case u.Nanosec == nil:
		return 0, missing("until.nanosec")
	}
	at, err := simtime.StampOf(*u.Sec, *u.Nanosec)
	if err != nil {
		return 0, fmt.Errorf("until: %w", err)
	}
	return at, nil
}

// within checks what a client may ask for, by whatever way its frame came: the time ahead, models and the
// lengths of names.
func (h *handler) within(f *world.Frame) error {
	if ahead := (f.Until - h.run.Clock.Pace()) / simtime.Stamp(h.run.Step); ahead > maxSteps {
		return fmt.Errorf("%w: until is %d steps ahead, the most is %d", world.ErrValue, ahead, maxSteps)
	}
	if err := short(f.To); err != nil {
		return fmt.Errorf("to: %w", err)
	}
	for i := range f.Spawn {
		s := &f.Spawn[i]
		err := cmp.Or(short(s.Model, s.Name), short(s.State.JointNames...))
		if s.Model == "" {
			err = fmt.Errorf("%w: model is missing", world.ErrValue)
		}
		if err != nil {
			return &world.ActorError{List: "spawn", Index: i, Actor: world.Ref{Name: s.Name}, Err: err}
		}
	}
	for i := range f.Actors {
		if err := short(f.Actors[i].JointNames...); err != nil {
			return &world.ActorError{List: "actors", Index: i, Actor: f.Actors[i].Ref, Err: err}
		}
	}
	return nil
}

// short refuses long names, which errors would tell again.
func short(names ...string) error {
	for _, name := range names {
		if len(name) > guard.NameBytes {
			return fmt.Errorf("%w: a name has more than %d bytes", world.ErrValue, guard.NameBytes)
		}
	}
	return nil
}

func (r *spawnRequest) spawn() (world.Spawn, error) {
	s := world.Spawn{Name: r.Name, Model: r.Model, OnGround: r.OnGround}
	var err error
	if s.Reference, err = world.ParseReference(r.Reference); err != nil {
		return s, err
	}
	if s.Color, err = world.ParseColor(r.Color); err != nil {
		return s, err
	}
	if r.Size != nil {
		if s.Size, err = vector("size", r.Size); err != nil {
			return s, err
		}
	}
	s.State, err = r.world()
	return s, err
}

func (r *moveRequest) actor() (world.Actor, error) {
	a := world.Actor{Ref: world.Ref{Handle: r.Handle, Name: r.Name}}
	if (r.Handle == 0) == (r.Name == "") {
		return a, fmt.Errorf("%w: give either handle or name", world.ErrValue)
	}
	var err error
	a.State, err = r.world()
	return a, err
}

// world returns the state as the pipeline takes it.
func (r *state) world() (s world.State, err error) {
	if r.Position == nil {
		return s, fmt.Errorf("%w: position is missing", world.ErrValue)
	}
	if s.Pose.Position, err = vector("position", r.Position); err != nil {
		return s, err
	}
	switch q := r.Orientation; {
	case (r.Yaw == nil) == (q == nil):
		return s, fmt.Errorf("%w: give either yaw or orientation", world.ErrValue)
	case r.Yaw != nil:
		s.Pose = spatial.FromRPY(s.Pose.Position, 0, 0, *r.Yaw)
	case len(q) != 4:
		return s, fmt.Errorf("%w: orientation has %d numbers, need 4: x, y, z, w", world.ErrValue, len(q))
	default:
		s.Pose.Orientation = mgl64.Quat{V: mgl64.Vec3{q[0], q[1], q[2]}, W: q[3]}
	}
	s.Jump, s.JointNames = r.Jump, slices.Sorted(maps.Keys(r.Joints))
	for _, name := range s.JointNames {
		s.Joints = append(s.Joints, r.Joints[name])
	}
	if s.Lights, err = world.ParseLights(r.Lights); err != nil {
		return s, err
	}
	if s.VelocityKnown = r.Velocity != nil; s.VelocityKnown {
		if s.Velocity, err = vector("velocity", r.Velocity); err != nil {
			return s, err
		}
	}
	if s.AngularVelocityKnown = r.AngularVelocity != nil; s.AngularVelocityKnown {
		s.AngularVelocity, err = vector("angular_velocity", r.AngularVelocity)
	}
	return s, err
}

// vector returns three numbers.
func vector(what string, v []float64) (mgl64.Vec3, error) {
	if len(v) != 3 {
		return mgl64.Vec3{}, fmt.Errorf("%w: %s has %d numbers, need 3", world.ErrValue, what, len(v))
	}
	return mgl64.Vec3{v[0], v[1], v[2]}, nil
}
