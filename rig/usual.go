package rig

import (
	"fmt"
	"strings"

	"github.com/raybridge/raybridge/sensors"
)

// Note adds notices of what a rig may not mean. These are attributes that change nothing,
// topics that get another name, and values that are allowed and far from usual. The
// registry has the types.
func (r *Rig) Note(registry *sensors.Registry) {
	r.noteInert(registry)
	r.noteTopics()
	for i := range r.Sensors {
		if d, err := registry.Get(r.Sensors[i].ID); err == nil { // else Resolve says so
			r.noteAttributes(&r.Sensors[i], d)
		}
	}
	if list, err := r.Resolve(registry); err == nil {
		for i := range list {
			r.noteMount(&list[i])
		}
	}
}

// noteAttributes notes values outside their usual range.
func (r *Rig) noteAttributes(e *Entry, d *sensors.Definition) {
	for _, a := range e.Attributes {
		for k := range d.Attributes {
			if d.Attributes[k].Name != a.Name {
				continue
			}
			if err := d.Attributes[k].Unusual(a.Value); err != nil {
				r.Notices = append(r.Notices, noticeOf(e.misplaced(a, err), false))
			}
		}
	}
}

// How far from base_link, which is on the ground, sensors are usually mounted, metres.
const (
	usualReach  = 30.0
	usualDepth  = 0.5
	usualHeight = 30.0
)

// noteMount notes a sensor that is far from the vehicle, or in the ground below it.
func (r *Rig) noteMount(s *Sensor) {
	at := s.Spec.Mount.Position
	var unusual []string
	if max(at.X(), -at.X()) > usualReach || max(at.Y(), -at.Y()) > usualReach {
		unusual = append(unusual, fmt.Sprintf("x %.4g m, y %.4g m from base_link: up to %v m are usual", at.X(), at.Y(), usualReach))
	}
	switch {
	case at.Z() < -usualDepth:
		unusual = append(unusual, fmt.Sprintf("%.4g m under the ground: 0 to %v m above it are usual", -at.Z(), usualHeight))
	case at.Z() > usualHeight:
		unusual = append(unusual, fmt.Sprintf("%.4g m above the ground: 0 to %v m are usual", at.Z(), usualHeight))
	}
	if unusual != nil {
		r.Notices = append(r.Notices, noticeOf(s.entry.fault("pose", fmt.Errorf("sensor %s is mounted %s", s.Spec.Name, strings.Join(unusual, ", and "))), false))
	}
}
