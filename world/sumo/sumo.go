// Package sumo brings the traffic of Eclipse SUMO into a scene, over TraCI. Vehicles and
// persons come, move and leave as SUMO has them, and SUMO's cars see our ego. Each frame is
// one step of SUMO, which waits for the next.
//
// A traffic light of the scene with the name of one of SUMO's shows the state of its first link.
// One named ID:LINK shows that of another.
package sumo

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-gl/mathgl/mgl64"

	"github.com/raybridge/raybridge/internal/fault"
	"github.com/raybridge/raybridge/world"
	"github.com/raybridge/raybridge/world/snapshot"
)

// What SUMO may do wrong. An error ends the source, which is to be closed then.
var (
	// ErrVersion: SUMO's TraCI is older than what we speak. The text has both versions.
	ErrVersion = errors.New("version of TraCI is too old")
	// ErrRefused: SUMO answered a command by an error. The text has its words.
	ErrRefused = errors.New("refused by SUMO")
	// ErrMalformed: what came isn't TraCI.
	ErrMalformed = errors.New("not a message of TraCI")
	// ErrEnded: SUMO has ended or has closed the connection. The text has its last words where
	// it was started by us.
	ErrEnded = errors.New("SUMO has ended")
)

// Kind opens the traffic of a SUMO that runs, or of one that it starts. The start waits until
// SUMO listens, up to ctx's end.
var Kind = world.Kind{
	Name: "sumo",
	Form: "HOST:PORT or FILE.sumocfg[?ego=ID|off&offset=X,Y&order=N]",
	Doc: "The traffic of Eclipse SUMO, over TraCI. HOST:PORT is a SUMO that runs with --remote-port. FILE.sumocfg starts one, which ends with the run. " +
		"ego is the id of our vehicle in SUMO. offset is subtracted from the net's coordinates. order is our place among several clients.",
	Open: open,
}

// settings are what an address says.
type settings struct {
	address, config string // one of the two
	ego             string // "" for none
	order           string // "" for a single client
	offset          *mgl64.Vec3
}

// parse reads an address.
func parse(address string) (settings, error) {
	place, options, _ := strings.Cut(address, "?")
	s := settings{ego: "ego"}
	_, port, err := net.SplitHostPort(place)
	_, notNumber := strconv.ParseUint(port, 10, 16)
	switch {
	case filepath.Ext(place) == ".sumocfg":
		s.config = place
	case err == nil && notNumber == nil:
		s.address = place
	default:
		return s, fmt.Errorf("SUMO's address %q: want HOST:PORT or FILE.sumocfg", place)
	}
	given, err := url.ParseQuery(options)
	if err != nil {
		return s, fmt.Errorf("SUMO's options %q: %w", options, err)
	}
	for key := range given {
		if err := s.set(key, given.Get(key)); err != nil {
			return s, fmt.Errorf("SUMO's option %s=%s: %w", key, given.Get(key), err)
		}
	}
	return s, nil
}

func (s *settings) set(key, text string) error {
	switch key {
	case "ego":
		if s.ego = text; text == "off" {
			s.ego = ""
		}
	case "offset":
		offset, err := parseOffset(text)
		s.offset = &offset
		return err
	case "order":
		// SUMO has no place beyond.
		if n, err := strconv.Atoi(text); err != nil || n < 0 || n >= 1<<30 {
			return errors.New("want a number from 0 to 1073741823")
		}
		if s.order = text; s.config != "" {
			return errors.New("a SUMO that is started has one client: start it yourself with --num-clients, and name its HOST:PORT")
		}
	default:
		return fmt.Errorf("no such option: %s", fault.Want(key, "ego", "offset", "order"))
	}
	return nil
}

// open is Kind's.
func open(ctx context.Context, address string, o world.Options) (world.Source, error) {
	at, err := parse(address)
	if err != nil {
		return nil, err
	}
	if o.Warn == nil {
		o.Warn = func(string, ...any) {}
	}
	s := &source{
		ego: at.ego, theirs: o.EgoTheirs, track: snapshot.NewTrack(o.Start), lights: o.Lights, warn: o.Warn,
		actors: map[bool]map[string]*actor{false: {}, true: {}}, colors: map[string]world.Color{},
	}
	s.talk.memory = o.Memory
	if at.config != "" {
		if s.child, err = start(at.config); err != nil {
			return nil, err
		}
		at.address = net.JoinHostPort("127.0.0.1", strconv.Itoa(s.child.port))
		var proj string
		if s.offset, proj, err = location(at.config); err != nil && at.offset == nil {
			o.Warn("the net's offset is not known: its own coordinates are used", "cause", err)
		}
		if proj != "" && at.offset == nil && o.Projected != nil {
			o.Projected(proj)
		}
	}
	if at.offset != nil {
		s.offset = *at.offset
	}
	conn, err := dial(ctx, at.address, s.child, o.Warn)
	if err == nil {
		s.talk.conn = conn
		err = s.greet(ctx, at.order)
	}
	if err != nil {
		err = s.explain(err)
		_ = s.Close()
		return nil, fmt.Errorf("open SUMO at %s: %w", address, err)
	}
	return s, nil
}

// dial tries until SUMO listens.
func dial(ctx context.Context, address string, c *child, warn func(string, ...any)) (net.Conn, error) {
	for try := 0; ; try++ {
		var d net.Dialer
		conn, err := d.DialContext(ctx, "tcp", address)
		switch {
		case err == nil && conn.LocalAddr().String() != conn.RemoteAddr().String():
			return conn, nil
		case err == nil: // A free port can be met by its own caller.
			_ = conn.Close()
		case ctx.Err() != nil:
			return nil, fmt.Errorf("%w (%w)", ctx.Err(), err)
		case c == nil && try == 0:
			var unknown *net.DNSError
			if errors.As(err, &unknown) {
				return nil, err
			}
			warn("SUMO doesn't listen yet", "address", address, "cause", err)
		}
		pause := min(200*time.Millisecond, 10*time.Millisecond<<min(try, 5))
		if c != nil && c.ended(pause) {
			return nil, c.last()
		}
		if c == nil {
			select {
			case <-ctx.Done():
			case <-time.After(pause):
			}
		}
	}
}

// greet learns who SUMO is and subscribes to its traffic.
func (s *source) greet(ctx context.Context, order string) error {
	r, err := s.talk.ask(ctx, cmdVersion, nil)
	if err != nil {
		return err
	}
	_, end := r.enter()
	version, name := r.int(), string(r.text())
	r.leave(end)
	switch {
	case r.err != nil:
		return r.err
	case version < apiVersion:
		return fmt.Errorf("%w: %s has %d, want %d or later", ErrVersion, name, version, apiVersion)
	}
	if n, err := strconv.Atoi(order); err == nil {
		if _, err := s.talk.ask(ctx, cmdOrder, []byte{byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)}); err != nil {
			return err
		}
	}
	length, err := s.talk.get(ctx, query{cmdGetSimulation, varStepLength, ""})
	if err != nil {
		return err
	}
	if s.step = length.number[0]; !(s.step >= 1e-9 && s.step <= 1e6) {
		return fmt.Errorf("%w: steps of %g s", ErrMalformed, s.step)
	}
	junction, err := s.talk.get(ctx, query{cmdGetJunction, varIDs, ""})
	if err != nil {
		return err
	}
	if len(junction.text) == 0 {
		return fmt.Errorf("%w: the net has no junction to see its traffic from", ErrRefused)
	}
	return s.subscribe(ctx, string(junction.text))
}

// findLights finds SUMO's lights that the scene has, asks for their states after each step, and takes
// those of now. It tells of another, once.
func (s *source) findLights(ctx context.Context, names []string) error {
	all, err := s.talk.get(ctx, query{cmdGetLight, varIDs, ""})
	if err != nil {
		return err
	}
	has := map[string]bool{} // by SUMO's ids
	for _, id := range all.list {
		has[string(id)] = false
	}
	for _, name := range names {
		id, link := name, uint64(0)
		if _, ok := has[id]; !ok {
			at := strings.LastIndexByte(name, ':')
			if link, err = strconv.ParseUint(name[at+1:], 10, 16); err != nil {
				continue
			}
			id = name[:max(at, 0)]
		}
		if _, ok := has[id]; ok {
			has[id] = true
			s.now.lights = append(s.now.lights, light{name: name, id: id, link: int(link)})
		}
	}
	told := false
	for _, id := range slices.Sorted(maps.Keys(has)) {
		switch {
		case has[id]:
			if err := s.watch(ctx, cmdWatchLight, append(appendText(always(), id), 1, varState)); err != nil {
				return err
			}
		case !told:
			told = true
			s.warn("the scene doesn't have a traffic light of SUMO's: those like it are left out", "id", id)
		}
	}
	return nil
}

// subscribe asks for time and traffic after each step, and takes those of now.
func (s *source) subscribe(ctx context.Context, junction string) error {
	around := func(domain byte, variables []byte) []byte {
		b := append(appendText(always(), junction), domain)
		return append(append(appendDouble(b, everything), byte(len(variables))), variables...)
	}
	for _, subscription := range []struct {
		command byte
		payload []byte
	}{
		{cmdSubscribe, append(appendText(always(), ""), 2, varTime, varExpected)},
		{cmdContext, around(cmdGetPerson, personVariables)},
		{cmdContext, around(cmdGetVehicle, vehicleVariables)},
	} {
		if err := s.watch(ctx, subscription.command, subscription.payload); err != nil {
			return err
		}
		if err := s.meet(ctx); err != nil {
			return err
		}
	}
	s.begin = s.now.time
	return nil
}

// always begins a subscription without an end.
func always() []byte { return appendDouble(appendDouble(nil, absent), absent) }

// watch subscribes, and takes what comes of it now.
func (s *source) watch(ctx context.Context, command byte, payload []byte) error {
	r, err := s.talk.ask(ctx, command, payload)
	if err != nil {
		return err
	}
	s.now.result(r)
	return r.err
}
