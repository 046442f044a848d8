package readback

import (
	"fmt"
	"time"
)

// CopyMode says when the copy of a capture is issued.
type CopyMode uint8

const (
	// CopyAuto takes what Probe finds on the GL thread of the first capture.
	CopyAuto CopyMode = iota
	// CopyBeforeFence issues the copy in Start: one fence, and the source may be
	// written again at once. The way of GPUs, which copy in their own time.
	CopyBeforeFence
	// CopyAfterFence issues the copy in Poll, once the source's fence has
	// signalled: for drivers that would wait for the source inside the copy
	// call, as software ones do. The source is held (Pool.Holds) until then.
	CopyAfterFence
)

func (m CopyMode) String() string {
	switch m {
	case CopyAuto:
		return "auto"
	case CopyBeforeFence:
		return "before fence"
	case CopyAfterFence:
		return "after fence"
	default:
		return fmt.Sprintf("CopyMode(%d)", uint8(m))
	}
}

// Defaults of Config.
const (
	// DefaultSlots lets one capture be made, one be copied and one be read at a time.
	DefaultSlots = 3
	// DefaultTimeout is longer than any frame, shorter than a user's patience.
	DefaultTimeout = 5 * time.Second
	// MaxSlots bounds the memory that a mistyped Config asks for.
	MaxSlots = 1024
)

// Config holds what a Pool is made with. MaxElements is required; the zero
// value of the others is usable.
type Config struct {
	// Label names the pool in errors, in OpenGL debug output and in leak
	// reports. (optional)
	Label string
	// Slots is how many captures may be in flight, ready or lent at a time
	// (law R4), 1 to MaxSlots. (optional; default DefaultSlots)
	Slots int
	// MaxElements is how many elements a slot holds, > 0; see Resize.
	MaxElements int
	// Timeout is how long the GPU may take to reach a fence; Poll checks it.
	// (optional; default DefaultTimeout)
	Timeout time.Duration
	// CopyMode is when copies are issued. (optional; default CopyAuto)
	CopyMode CopyMode
	// NoTimers leaves out the GPU timestamps of captures, where the driver has them.
	NoTimers bool
	// Tick returns the tick's time in simulation nanoseconds, the stamp of
	// captures begun by StartTick; called on the GL thread. (optional)
	Tick func() int64
	// Notify is called by Poll, on the GL thread and with no lock held, after
	// captures became ready. It must neither wait nor call the pool. (optional)
	Notify func()
	// OnError is given each *PanicError of a completion, on the goroutine that
	// ran it. (optional; nil logs them)
	OnError func(error)
}

func (cfg *Config) complete() error {
	if cfg.Slots == 0 {
		cfg.Slots = DefaultSlots
	}
	if cfg.Timeout == 0 {
		cfg.Timeout = DefaultTimeout
	}
	switch {
	case cfg.Slots < 0 || cfg.Slots > MaxSlots:
		return fmt.Errorf("%w: %d slots, want 1 to %d", ErrConfig, cfg.Slots, MaxSlots)
	case cfg.Timeout < 0:
		return fmt.Errorf("%w: timeout %v is negative", ErrConfig, cfg.Timeout)
	case cfg.CopyMode > CopyAfterFence:
		return fmt.Errorf("%w: unknown %v", ErrConfig, cfg.CopyMode)
	}
	return nil
}
