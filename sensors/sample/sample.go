// Package sample holds the data that sensors publish. It has plain structures in SI units and
// REP-103 axes, with the deep copies that the dispatcher's cache needs, and no behaviour.
//
// # Ownership
//
// The receiver of a sample may read it until its callback or publisher returns. To keep it
// longer, copy it with [Copy]. A receiver must not change it (law S4): several bridges read the
// same one.
//
// # Time
//
// Every stamp is simulation time in integer nanoseconds (law T1): the moment
// the data describes, not the moment it was sent.
package sample

import (
	"fmt"
	"log/slog"
	"reflect"
	"sync"

	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/spatial"
)

// Header says when, where and by which sensor a sample was made.
type Header struct {
	// Stamp is the capture time, simulation nanoseconds. For a rolling lidar
	// scan it is the first firing's time.
	Stamp simtime.Stamp
	// Seq counts the sensor's captures from 0; a gap means that captures were
	// dropped on the way.
	Seq uint64
	// Frame is the number of the world's frame that the sample shows: all samples
	// of one instant, of whatever sensor, have the same. It rises with time; frames
	// in which nothing was due are counted too.
	Frame uint64
	// FrameID names the coordinate frame of the data, without a leading slash.
	FrameID string
	// Pose is where the sensor was at Stamp, in the map frame.
	Pose spatial.Pose
}

// Captured returns the capture time.
func (h *Header) Captured() simtime.Stamp { return h.Stamp }

// SampleHeader returns the header itself: types that embed one are told by having it.
func (h *Header) SampleHeader() *Header { return h }

// Clock is the simulation time as published on /clock.
type Clock struct {
	Stamp simtime.Stamp
}

// Captured returns the time that the clock shows.
func (c *Clock) Captured() simtime.Stamp { return c.Stamp }

// Log is a line of the run's log.
type Log struct {
	Stamp simtime.Stamp
	Level slog.Level
	// Message is the text, Name the part of the program that says it, File and Line the place
	// in its source. All but the message may be empty.
	Message, Name, File string
	Line                int
}

// Captured returns the simulation time of the line.
func (m *Log) Captured() simtime.Stamp { return m.Stamp }

// EmptyRequest tells a service to do what it does (std_srvs/Empty).
type EmptyRequest struct{}

// EmptyResponse says that it is done.
type EmptyResponse struct{}

// SetBoolRequest switches something on or off (std_srvs/SetBool).
type SetBoolRequest struct{ Data bool }

// SetBoolResponse says whether that was done, and what there is to say.
type SetBoolResponse struct {
	Success bool
	Message string
}

// TriggerRequest starts something (std_srvs/Trigger).
type TriggerRequest struct{}

// TriggerResponse says whether that was done, and what there is to say.
type TriggerResponse struct {
	Success bool
	Message string
}

// Copy makes dst a deep copy of src, which shares no memory with it. It reuses the memory of
// dst's slices where that is large enough, and then allocates nothing. E is a type that
// [Copyable] allows. dst is the caller's alone; src is only read.
func Copy[E any](dst, src *E) { copyValue(reflect.ValueOf(dst).Elem(), reflect.ValueOf(src).Elem()) }

func copyValue(dst, src reflect.Value) {
	switch t := dst.Type(); {
	case flat(t):
		dst.Set(src)
	case t.Kind() == reflect.Struct:
		for i := range dst.NumField() {
			copyValue(dst.Field(i), src.Field(i))
		}
	case t.Kind() == reflect.Slice:
		dst.SetLen(0)
		dst.Grow(src.Len())
		dst.SetLen(src.Len())
		if flat(t.Elem()) {
			reflect.Copy(dst, src)
			return
		}
		fallthrough
	default: // an array of slices
		for i := range src.Len() {
			copyValue(dst.Index(i), src.Index(i))
		}
	}
}

// flats remembers which structures are flat.
var flats sync.Map // of bool, by reflect.Type

// flat reports whether an assignment copies all: the type has no slices.
func flat(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Slice:
		return false
	case reflect.Array:
		return flat(t.Elem())
	case reflect.Struct:
		if known, ok := flats.Load(t); ok {
			return known.(bool)
		}
		all := true
		for i := range t.NumField() {
			all = all && flat(t.Field(i).Type)
		}
		flats.Store(t, all)
		return all
	}
	return true
}

// Copyable returns an error for a type that Copy can't copy. It names the field that is a
// pointer, a map, an interface, a channel or a function, or isn't exported beside a slice.
func Copyable(t reflect.Type) error { return copyable(t, map[reflect.Type]bool{}) }

func copyable(t reflect.Type, within map[reflect.Type]bool) error {
	switch t.Kind() {
	case reflect.Pointer, reflect.UnsafePointer, reflect.Map, reflect.Interface, reflect.Chan, reflect.Func:
		return fmt.Errorf("a copy would share the memory of a %v", t)
	case reflect.Slice, reflect.Array:
		return copyable(t.Elem(), within)
	case reflect.Struct:
		if within[t] { // a tree
			return nil
		}
		within[t] = true
		for i := range t.NumField() {
			f := t.Field(i)
			if !f.IsExported() && !flat(t) {
				return fmt.Errorf("field %s of %v isn't exported, so that it can't be copied", f.Name, t)
			}
			if err := copyable(f.Type, within); err != nil {
				return fmt.Errorf("field %s of %v: %w", f.Name, t, err)
			}
		}
	}
	return nil
}
