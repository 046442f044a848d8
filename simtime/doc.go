// Package simtime is raybridge's time. It has one simulation clock in int64 nanoseconds, whose
// source, scale and pause can change while it runs. It also has the clock's publisher and the
// schedules by which sensors are due.
//
// # Usage
//
// A [Clock] shows the time of one of five sources, named as in the
// configuration, or of one that the user wrote:
//
//	name        alias              driven by        starts at    scaled
//	engine      unity              the frame loop   0            yes
//	ss2         external           Clock.Set        0            no
//	system      dotnet_system      the host         UNIX epoch   yes
//	simulation  dotnet_simulation  the host         0            yes
//	ros2                           a ROS clock      UNIX epoch   no
//
// A loop asks its schedules which instant is next, waits for it, and advances
// the clock to it, so that stamps lie on the grid:
//
//	t := min(camera.Next(), lidar.Next())
//	if err := clock.WaitUntil(ctx, t); err != nil { ... }
//	if err := clock.Advance(t); err != nil { ... }
//	if at, due := camera.Due(t); due { ... }
//
// With Config.Stepped the same loop runs as fast as the machine goes: then Advance alone makes
// the time. A [ClockPublisher] publishes the clock by the host's time in real time, and by its
// Publish method in a stepped loop. A loop in real time that asks Lag continues from where the
// clock is when it is late. One that has to stand at times, whatever the user's pauses are, has
// its own Hold.
//
// # Concurrency
//
// Clock, Schedule and ClockPublisher may be used from any goroutine; a FixedLoop's
// steps belong to its loop. The package starts no goroutines: ClockPublisher.Run
// has its caller's, WaitUntil and Run end with their context. Subscribers are
// called on the goroutine that makes a change, without locks held.
//
// The publisher depends on no frame loop. With OwnThread it has an OS thread, named Clock, that
// the system schedules first as far as it allows. On Linux with the privilege it is a real-time
// thread, else one of a lower nice value or at least a short time slice. ReserveProcs keeps
// room for it in Go's scheduler.
//
// # Ordering
//
// There is one true timeline. A change of scale, a pause and a step hold from
// their own instant, not from the next reading. Readers never see time go back
// or leap except across a [Change] for which Jump reports true. Subscribers see
// all changes in the order in which they were made. A source that follows
// another clock is checked whenever it is read: its jump is found then.
//
// The clock is published in the order of its stamps. Samples are held back until their tick is
// out (law T4) by dispatch, not here: the function that publishes the clock tells it the stamp.
//
// # Failure
//
// Host time is monotonic: a correction of the host's clock doesn't move simulation time. A loop
// that can't keep up falls behind. Schedules and the publisher skip and count what was missed,
// and never catch up in a burst. Bad values are errors that wrap ErrRate, ErrScale,
// ErrUnknownSource, ErrBadSource, ErrDuration and the like. A failing or panicking publish
// function is counted, logged now and then ([flow.Journal]), and does not end Run. A panic of a user's
// Source is that of the call that reads it, and leaves no lock held.
//
// # Testing
//
// All waiting is done with the time package, so in a testing/synctest bubble
// hours pass in microseconds and every reading is exact.
//
// # Laws
//
// The code cites these by their labels:
//
//	T1 simulation time is int64 nanoseconds, from one clock
//	T2 a change of scale or a pause takes effect at its instant
//	T3 schedules are phase-locked to an integer-nanosecond grid: no drift, no burst
//	T4 no sample is published with a stamp later than the last published clock
package simtime
