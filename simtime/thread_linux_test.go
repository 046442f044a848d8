package simtime_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"runtime"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/simtime"
)

// threadState is what a publisher with OwnThread changes of its thread.
type threadState struct {
	name   string
	slack  uintptr
	policy uintptr
	nice   int
}

// thread describes the calling thread, by other system calls than those under
// test where there are some.
func thread(t *testing.T) threadState {
	t.Helper()
	tid := syscall.Gettid()
	comm, err := os.ReadFile(fmt.Sprintf("/proc/self/task/%d/comm", tid))
	require.NoError(t, err)
	slack, _, errno := syscall.RawSyscall(syscall.SYS_PRCTL, 30, 0, 0) // PR_GET_TIMERSLACK
	require.Zero(t, errno)
	policy, _, errno := syscall.RawSyscall(syscall.SYS_SCHED_GETSCHEDULER, 0, 0, 0)
	require.Zero(t, errno)
	raw, err := syscall.Getpriority(syscall.PRIO_PROCESS, tid)
	require.NoError(t, err)
	const resetOnFork = 0x40000000 // may stay
	return threadState{string(bytes.TrimSpace(comm)), slack, policy &^ resetOnFork, 20 - raw}
}

// The thread is called Clock, as in the original, wakes on time, and is given
// back as it was, whatever the system granted.
func TestOwnThreadIsGivenBackAsItWas(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before := thread(t)
	var during threadState
	ctx, cancel := context.WithCancel(context.Background())
	p, err := simtime.NewClockPublisher(newClock(t, simtime.Config{}), simtime.ClockPublisherConfig{
		OwnThread: true,
		Publish: func(context.Context, simtime.Stamp) error {
			during = thread(t)
			cancel()
			return nil
		},
	})
	require.NoError(t, err)
	require.NoError(t, p.Run(ctx))
	assert.Equal(t, "Clock", during.name)
	const realTime = 2 // SCHED_RR
	if during.policy != realTime {
		assert.EqualValues(t, 1, during.slack)
		assert.LessOrEqual(t, during.nice, before.nice)
	}
	t.Logf("the system granted %+v", during)
	assert.Equal(t, before, thread(t))
}
