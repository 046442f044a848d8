package control

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/internal/fault"
	"github.com/raybridge/raybridge/internal/picture"
	"github.com/raybridge/raybridge/memory"
	"github.com/raybridge/raybridge/pipeline"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/simtime"
)

// How long a request waits for a camera's first picture, and how long the camera continues after the last.
const (
	pictureWait = 3 * time.Second
	pictureKept = 10 * time.Second
)

// stampHeader has the time of a picture: seconds of the simulation with nine decimals.
const stampHeader = "Raybridge-Stamp"

// pngFile is an answer that is a picture.
type pngFile []byte

// newestPicture answers with a camera's newest picture.
func (h *handler) newestPicture(w http.ResponseWriter, r *http.Request) (any, error) {
	s, err := h.run.Pipeline.Sensor(r.PathValue("sensor"))
	if err != nil {
		return nil, err
	}
	k, err := h.pictures.of(s)
	if err != nil {
		return nil, err
	}
	if !h.run.Clock.Paused() { // else nothing comes by waiting
		k.await(r.Context())
	}
	m, give, err := k.newest()
	if err != nil {
		return nil, err
	}
	defer give()
	if m == nil || m.Stamp > h.run.Clock.Pace() { // it is of before a reset
		return nil, h.noPicture(s)
	}
	file, err := (&picture.PNGEncoder{}).Append(nil, m, s.TypeID())
	if err != nil {
		return nil, err
	}
	w.Header().Set(stampHeader, fault.NineDecimals(int64(m.Stamp)))
	return pngFile(file), nil
}

// noPicture says when there will be one.
func (h *handler) noPicture(s *pipeline.Sensor) error {
	when := "ask again"
	switch {
	case h.run.Clock.Paused():
		when = "time stands: move it on by POST /v1/step or /v1/resume, then ask again"
	case !h.run.Pipeline.Running():
		when = "the run has not begun, or has ended"
	case !s.Rate().IsZero():
		when = fmt.Sprintf("its rate is %v Hz of simulated time: ask again", s.Rate())
	}
	return refuse(http.StatusNotFound, "%s has no picture yet; from now on it takes some. %s%s", s.Name(), strings.ToUpper(when[:1]), when[1:])
}

// pictures has the newest picture of each camera that somebody asks for. A camera that nobody else listens to
// computes from the first question on, until a while after the last. Its methods may be called from any goroutine.
type pictures struct {
	run  *Run
	mu   sync.Mutex
	kept map[*pipeline.Sensor]*kept // guarded by mu
}

// of returns what is kept of a camera, and listens to it from now on.
func (p *pictures) of(s *pipeline.Sensor) (*kept, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if k := p.kept[s]; k != nil {
		k.asked = time.Now()
		return k, nil
	}
	output := pictureOf(s)
	if output == nil {
		return nil, p.noCamera(s)
	}
	k := &kept{budget: p.run.Memory, came: make(chan struct{}), asked: time.Now()}
	if err := k.listen(s, output); err != nil {
		return nil, err
	}
	p.kept[s] = k
	k.idle = time.AfterFunc(pictureKept, func() { p.rest(s, k) })
	return k, nil
}

// rest ends the listening to a camera that nobody asks for any more. While time stands its picture stays the newest.
// A step or two don't end that: in a paused run, time has to move before two looks in a row.
func (p *pictures) rest(s *pipeline.Sensor, k *kept) {
	p.mu.Lock()
	defer p.mu.Unlock()
	left := pictureKept - time.Since(k.asked)
	before, now := k.moved, p.run.Clock.Pace()
	k.moved, k.looked = now != k.looked, now
	if left <= 0 && p.run.Clock.Paused() && !(before && k.moved) && slices.Contains(p.run.Pipeline.Sensors(), s) {
		left = pictureKept
	}
	if left > 0 {
		k.idle.Reset(left)
		return
	}
	delete(p.kept, s)
	k.end()
}

// pictureOf returns the output of a sensor that has its pictures: nil for none.
func pictureOf(s *pipeline.Sensor) (found *sensors.OutputSpec) {
	for _, o := range s.Outputs() {
		switch o.New().(type) {
		case *sample.Image:
			return &o
		case *sample.CompressedImage: // it counts where the camera publishes no other
			found = &o
		}
	}
	return found
}

// noCamera says where a sensor's data is, and who takes pictures.
func (p *pictures) noCamera(s *pipeline.Sensor) error {
	var cameras []string
	for _, other := range p.run.Pipeline.Sensors() {
		if pictureOf(other) != nil {
			cameras = append(cameras, other.Name())
		}
	}
	who := "the run has no camera"
	if cameras != nil {
		who = "cameras are " + strings.Join(cameras, ", ")
	}
	return refuse(http.StatusNotFound, "%s (%s) takes no pictures, %s; bridges and /v1/stream have its data", s.Name(), s.TypeID(), who)
}

// kept is the newest picture of one camera.
type kept struct {
	budget   *memory.Budget
	came     chan struct{} // closed when there is a picture, or an error
	idle     *time.Timer
	listener *pipeline.Listener

	// Guarded by pictures.mu.
	asked  time.Time
	looked simtime.Stamp // where time was when rest looked
	moved  bool          // it wasn't where it had been at the look before

	mu     sync.Mutex
	raw    sample.Image           // guarded by mu
	packed sample.CompressedImage // guarded by mu: of a camera that publishes no other
	held   int64                  // guarded by mu: their bytes, from the budget
	seen   bool                   // guarded by mu: came is closed
	err    error                  // guarded by mu: why the newest isn't kept
}

// listen takes each picture that the camera makes.
func (k *kept) listen(s *pipeline.Sensor, output *sensors.OutputSpec) (err error) {
	switch output.New().(type) {
	case *sample.Image:
		k.listener, err = pipeline.Listen(s, output.Name, func(_ sensors.Tick, m *sample.Image) {
			k.take(len(m.Data)-cap(k.raw.Data), func() { sample.Copy(&k.raw, m) })
		})
	default:
		k.listener, err = pipeline.Listen(s, output.Name, func(_ sensors.Tick, m *sample.CompressedImage) {
			k.take(len(m.Data)-cap(k.packed.Data), func() { sample.Copy(&k.packed, m) })
		})
	}
	return err
}

// take keeps a picture that needs so many bytes more.
func (k *kept) take(more int, keep func()) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if more > 0 {
		if k.err = k.budget.Take("the newest picture of a camera", int64(more)); k.err == nil {
			k.held += int64(more)
		}
	}
	if k.err == nil {
		keep()
	}
	if !k.seen {
		k.seen = true
		close(k.came)
	}
}

// await waits for the camera's first picture, as long as a client likes to.
func (k *kept) await(ctx context.Context) {
	ctx, cancel := flow.WithPatience(ctx, pictureWait)
	defer cancel()
	select {
	case <-k.came:
	case <-ctx.Done():
	}
}

// newest returns a copy of the newest picture, nil for none, and what gives back the memory that showing it takes.
func (k *kept) newest() (m *sample.Image, give func(), err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	give = func() {}
	switch {
	case k.err != nil:
		return nil, give, k.err
	case k.raw.Width == 0 && k.packed.Data != nil:
		m, err = picture.Decode(&k.packed)
		return m, give, err
	case k.raw.Width == 0:
		return nil, give, nil
	}
	needs := int64(len(k.raw.Data)) + 2*4*int64(k.raw.Width)*int64(k.raw.Height) // the copy, its colours and the file
	if err := k.budget.Take("a picture that is shown", needs); err != nil {
		return nil, give, err
	}
	m = &sample.Image{}
	sample.Copy(m, &k.raw)
	return m, func() { k.budget.Give(needs) }, nil
}

// end stops listening, and waits for what is being taken.
func (k *kept) end() {
	k.listener.Stop()
	k.listener.Wait()
	k.mu.Lock()
	defer k.mu.Unlock()
	k.budget.Give(k.held)
	k.held = 0
}
