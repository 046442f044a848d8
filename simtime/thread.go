package simtime

// TakeThread keeps the calling goroutine on its OS thread and has that scheduled
// before others as far as the system allows: what a [ClockPublisher] with
// OwnThread does, for frame loops that must keep a beat. granted says in a few
// words what the system allowed. A loop that holds such a thread must wait or end
// at times. The caller calls release once, on the same goroutine.
func TakeThread() (granted string, release func()) { return takeThread("") }
