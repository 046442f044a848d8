package osi

import (
	"bytes"
	"fmt"
	"strconv"

	"github.com/raybridge/raybridge/world"
	"github.com/raybridge/raybridge/world/snapshot"
)

// lights are the traffic lights of the scene that the messages tell of. A TrafficLight is one bulb of
// one. A message may leave out those that are as before.
type lights struct {
	ask    func() []string   // the scene's names; nil for none
	known  map[string]string // those, once they were asked for
	bulbs  map[uint64]bulb   // by their ids: those of lights that the scene has
	shown  []world.Signal    // in the order in which they were told first
	place  map[string]int    // of a light in shown
	warned bool
}

// bulb is one that is lit, or not.
type bulb struct {
	light string
	color uint64
	lit   bool
}

// learn asks for the scene's lights.
func (l *lights) learn() {
	l.known, l.bulbs, l.place = map[string]string{}, map[uint64]bulb{}, map[string]int{}
	if l.ask == nil {
		return
	}
	for _, name := range l.ask() {
		l.known[name] = name
	}
}

// take takes in the TrafficLights of a message. It tells of an id that the scene doesn't have, once.
func (l *lights) take(messages [][]byte, warn func(string, ...any)) error {
	if len(messages) > 0 && l.known == nil {
		l.learn()
	}
	for i, message := range messages {
		id, b, err := l.read(message)
		switch {
		case err != nil:
			return fmt.Errorf("traffic light %d: %w", i+1, err)
		case b.light != "":
			l.bulbs[id] = b
			if _, told := l.place[b.light]; !told {
				l.place[b.light] = len(l.shown)
				l.shown = append(l.shown, world.Signal{Ref: world.Ref{Name: b.light}})
			}
		case !l.warned:
			l.warned = true
			warn("the scene doesn't have a traffic light of the OSI messages: those like it are left out", "id", id)
		}
	}
	for i := range l.shown {
		l.shown[i].State = world.SignalOff
	}
	for _, b := range l.bulbs {
		if state, ok := bulbStates[b.color]; ok && b.lit { // of several red counts, then yellow
			shown := &l.shown[l.place[b.light]]
			shown.State = min(shown.State, state)
		}
	}
	return nil
}

// bulbStates are the states that colours stand for.
var bulbStates = map[uint64]world.SignalState{2: world.SignalRed, 3: world.SignalYellow, 4: world.SignalGreen}

// modeOff is the mode of a bulb that is off. What flashes is lit.
const modeOff = 2

// read reads a TrafficLight. Its bulb has no light where the scene has none of its names.
func (l *lights) read(message []byte) (id uint64, b bulb, err error) {
	named := false
	c := over(message)
	for c.Next() {
		switch c.Field {
		case 1:
			id, named = c.identifier()
		case 3:
			in := over(c.Message())
			for in.Next() {
				switch in.Field {
				case 1:
					b.color = in.Varint()
				case 3:
					b.lit = in.Varint() > modeOff
				}
			}
			c.Within("classification", in.Err)
		case 5:
			in := over(c.Message())
			for in.Next() {
				if in.Field == 3 && b.light == "" {
					b.light = l.nameOf(in.Message())
				}
			}
			c.Within("source reference", in.Err)
		}
	}
	switch {
	case c.Err != nil:
		return id, b, c.Err
	case !named:
		return id, b, fmt.Errorf("%w: it has no id", world.ErrValue)
	}
	if b.light == "" {
		b.light = l.bulbs[id].light // it may have been told before
	}
	if b.light == "" {
		var digits [20]byte
		b.light = l.known[string(strconv.AppendUint(digits[:0], id, 10))]
	}
	if _, told := l.bulbs[id]; !told && len(l.bulbs) == snapshot.Most {
		return id, b, fmt.Errorf("%w: there are more than %d", world.ErrValue, snapshot.Most)
	}
	return id, b, nil
}

// nameOf returns the light that an identifier of a source is, with or without a kind before it as
// in traffic_light_id:12; "" for none.
func (l *lights) nameOf(identifier []byte) string {
	if name := l.known[string(identifier)]; name != "" {
		return name
	}
	return l.known[string(identifier[bytes.LastIndexByte(identifier, ':')+1:])]
}
