// Package sample holds the data that sensors publish. It has plain structures in SI units and
// REP-103 axes, with the deep copies that the dispatcher's cache needs, and no behaviour.
//
// # Ownership
//
// The receiver of a sample may read it until its callback or publisher returns. To keep it
// longer, copy it with CopyToCache. Nobody changes a sample that came from elsewhere (law S4):
// several bridges read the same one.
//
// # Time
//
// Every stamp is simulation time in integer nanoseconds (law T1): the moment
// the data describes, not the moment it was sent.
package sample

import (
	"log/slog"

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

// CopyToCache makes dst an independent copy.
func (c *Clock) CopyToCache(dst *Clock) { *dst = *c }

// CacheKey groups all clocks in one pool.
func (c *Clock) CacheKey() uint64 { return 0 }

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

// CopyToCache makes dst an independent copy.
func (m *Log) CopyToCache(dst *Log) { *dst = *m }

// CacheKey groups all lines in one pool.
func (m *Log) CacheKey() uint64 { return 0 }

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
