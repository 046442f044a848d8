package stream

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/raybridge/raybridge/internal/guard"
)

// pageAsks is what a page asks for: one of its fields is set, and Credits beside Subscribe.
type pageAsks struct {
	Subscribe   *string     `json:"subscribe"`
	Credits     *int        `json:"credits"`
	Unsubscribe *string     `json:"unsubscribe"`
	Credit      *pageCredit `json:"credit"`
	Thin        *bool       `json:"thin"`
	Pick        *pagePick   `json:"pick"`
}

// pageCredit says that a page has drawn so many messages of a stream.
type pageCredit struct {
	Stream uint16 `json:"stream"`
	N      int    `json:"n"`
}

// pagePick names a point of a cloud that was sent.
type pagePick struct {
	Stream uint16 `json:"stream"`
	Number uint32 `json:"number"`
	Index  int    `json:"index"`
}

// readPageRequest reads what a page asks for. Errors wrap ErrMalformed.
func readPageRequest(data []byte) (r pageAsks, err error) {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&r); err != nil {
		return r, fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return r, fmt.Errorf("%w: something follows the JSON value", ErrMalformed)
	}
	n := 0
	for _, set := range []bool{r.Subscribe != nil, r.Unsubscribe != nil, r.Credit != nil, r.Thin != nil, r.Pick != nil} {
		if set {
			n++
		}
	}
	switch {
	case n != 1:
		return r, fmt.Errorf("%w: want one of subscribe, unsubscribe, credit, thin and pick", ErrMalformed)
	case r.Credits != nil && (r.Subscribe == nil || *r.Credits < 1 || *r.Credits > mostCredits):
		return r, fmt.Errorf("%w: credits goes with subscribe, and is 1 to %d", ErrMalformed, mostCredits)
	case r.Credit != nil && r.Credit.N < 1:
		return r, fmt.Errorf("%w: credit is for %d messages, want 1 or more", ErrMalformed, r.Credit.N)
	case r.Pick != nil && r.Pick.Index < 0:
		return r, fmt.Errorf("%w: point %d, the first is 0", ErrMalformed, r.Pick.Index)
	}
	for _, name := range []*string{r.Subscribe, r.Unsubscribe} {
		if name != nil && len(*name) > guard.NameBytes {
			return r, fmt.Errorf("%w: a name of %d bytes, the most are %d", ErrMalformed, len(*name), guard.NameBytes)
		}
	}
	return r, nil
}

// answer does what a page asks for. An error that isn't the connection's is told to the page.
func (p *pageSession) answer(r pageAsks) error {
	switch {
	case r.Subscribe != nil:
		credits := pageCredits
		if r.Credits != nil {
			credits = *r.Credits
		}
		return p.choose(controlSubscribe, *r.Subscribe, credits)
	case r.Unsubscribe != nil:
		return p.choose(controlUnsubscribe, *r.Unsubscribe, 0)
	case r.Credit != nil:
		p.credit(r.Credit)
		return nil
	case r.Thin != nil:
		p.thin(*r.Thin)
		return nil
	default:
		return p.pick(r.Pick)
	}
}

// choose subscribes or unsubscribes and then tells the page: what is published after the answer arrived is received.
func (p *pageSession) choose(request control, name string, credits int) error {
	server := p.server
	server.mu.Lock()
	defer server.mu.Unlock()
	streams, answer := server.askedLocked(request, name)
	if name == Wildcard {
		p.all, p.credits = request == controlSubscribe, credits
	}
	for _, s := range streams {
		if request == controlSubscribe {
			p.subscribe(s, credits)
		} else {
			p.unsubscribe(s)
		}
	}
	return p.post(controlAnswer, answer)
}

// credit lets more of a stream be sent. One that has ended is passed over: the page can't have known.
func (p *pageSession) credit(c *pageCredit) {
	p.server.mu.Lock()
	s := p.server.ids[c.Stream]
	p.server.mu.Unlock()
	if s != nil {
		p.socket.Grant(s.core, min(c.N, mostCredits))
		s.poke()
	}
}

// thin has clouds thinned or whole from now on.
func (p *pageSession) thin(thin bool) {
	server := p.server
	server.mu.Lock()
	defer server.mu.Unlock()
	if p.whole == !thin {
		return
	}
	p.whole = !thin
	for _, s := range server.streams {
		if s.latest != nil && s.latest.hasPoints() && p.socket.SetForm(s.core, p.cloudForm()) && p.whole {
			s.latest.again()
		}
	}
}

// pick tells the page all that there is to a point.
func (p *pageSession) pick(pick *pagePick) error {
	p.server.mu.Lock()
	s := p.server.ids[pick.Stream]
	p.server.mu.Unlock()
	if s == nil || s.latest == nil || !s.latest.hasPoints() {
		return fmt.Errorf("%w: no cloud has the stream %d", ErrUnknownStream, pick.Stream)
	}
	point, err := s.latest.point(pick.Number, pick.Index)
	if err != nil {
		return err
	}
	p.tell(struct {
		Picked pickedPoint `json:"picked"`
	}{pickedPoint{pagePick: *pick, X: point.X, Y: point.Y, Z: point.Z, Intensity: point.Intensity, Distance: point.Distance,
		Azimuth: point.Azimuth, Elevation: point.Elevation, TimeNs: point.TimeNs, Ring: point.Ring, Return: point.Return,
		Tag: point.Tag, Instance: point.Instance, CosIncidence: point.CosIncidence, Ray: point.Ray}})
	return nil
}

// pickedPoint is a point as a page is told of it: the fields of sample.Point.
type pickedPoint struct {
	pagePick
	X            float32 `json:"x"`
	Y            float32 `json:"y"`
	Z            float32 `json:"z"`
	Intensity    float32 `json:"intensity"`
	Distance     float32 `json:"distance"`
	Azimuth      float32 `json:"azimuth"`
	Elevation    float32 `json:"elevation"`
	TimeNs       uint32  `json:"time_ns"`
	Ring         uint16  `json:"ring"`
	Return       uint8   `json:"return"`
	Tag          uint8   `json:"tag"`
	Instance     uint32  `json:"instance"`
	CosIncidence float32 `json:"cos_incidence"`
	Ray          uint32  `json:"ray"`
}
