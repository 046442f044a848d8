package gpu_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/gpu/gputest"
)

func TestDoRunsOnOneThreadAndReturnsTheError(t *testing.T) {
	thread := gputest.NewFake().Start(t)
	boom := errors.New("boom")
	require.ErrorIs(t, thread.Do(t.Context(), func(*gpu.Ctx) error { return boom }), boom)
	require.NoError(t, thread.Do(t.Context(), func(*gpu.Ctx) error { return nil }))
	err := thread.Do(t.Context(), func(*gpu.Ctx) error {
		return thread.Do(context.Background(), func(*gpu.Ctx) error { return nil })
	})
	require.ErrorIs(t, err, gpu.ErrOnThread)
	require.ErrorIs(t, thread.Do(t.Context(), func(*gpu.Ctx) error { return thread.Close() }), gpu.ErrOnThread)
}

func TestFunctionsThatDontReturn(t *testing.T) {
	cause := errors.New("index out of range")
	tests := map[string]struct {
		f    func(*gpu.Ctx) error
		want error
	}{
		"panic":        {func(*gpu.Ctx) error { panic(cause) }, cause},
		"goexit":       {func(*gpu.Ctx) error { runtime.Goexit(); return nil }, gpu.ErrGoexit},
		"nil program":  {func(c *gpu.Ctx) error { return c.Dispatch(&gpu.Dispatch{}) }, nil},
		"goexit twice": {func(*gpu.Ctx) error { defer runtime.Goexit(); runtime.Goexit(); return nil }, gpu.ErrGoexit},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			thread := gputest.NewFake().Start(t)
			err := thread.Do(t.Context(), tt.f)
			require.Error(t, err)
			if tt.want != nil {
				require.ErrorIs(t, err, tt.want)
			}
			// The context survives, on the same OS thread.
			require.NoError(t, thread.Do(t.Context(), func(c *gpu.Ctx) error {
				assert.ErrorIs(t, thread.Do(t.Context(), nil), gpu.ErrOnThread)
				return c.Flush()
			}))
		})
	}
}

func TestPanicErrorNamesItsPlace(t *testing.T) {
	thread := gputest.NewFake().Start(t)
	var panicked *flow.PanicError
	require.ErrorAs(t, thread.Do(t.Context(), func(*gpu.Ctx) error { panic("sensor misread its config") }), &panicked)
	assert.Equal(t, "sensor misread its config", panicked.Value)
	assert.Contains(t, string(panicked.Stack), "thread_test.go")
}

func TestCtxIsDeadAfterItsFunction(t *testing.T) {
	thread := gputest.NewFake().Start(t)
	var kept *gpu.Ctx
	require.NoError(t, thread.Do(t.Context(), func(c *gpu.Ctx) error { kept = c; return c.Err() }))
	require.NoError(t, thread.Do(t.Context(), func(c *gpu.Ctx) error {
		assert.NotSame(t, kept, c)
		assert.ErrorIs(t, kept.Flush(), gpu.ErrDeadCtx)
		_, err := kept.NewFence()
		assert.ErrorIs(t, err, gpu.ErrDeadCtx)
		return nil
	}))
	require.ErrorIs(t, kept.Err(), gpu.ErrDeadCtx)
}

// blocked occupies the GL thread until release is closed.
func blocked(t *testing.T, thread *gpu.Thread) (release chan struct{}) {
	release = make(chan struct{})
	running := make(chan struct{})
	require.NoError(t, thread.Go(func(*gpu.Ctx) error {
		close(running)
		<-release
		return nil
	}))
	<-running
	return release
}

func TestGoNeverBlocks(t *testing.T) {
	thread, err := gpu.Config{Queue: 3}.Start(gputest.NewFake().Open)
	require.NoError(t, err)
	release := blocked(t, thread)
	var ran []int
	for i := range 3 {
		require.NoError(t, thread.Go(func(*gpu.Ctx) error { ran = append(ran, i); return nil }))
	}
	require.ErrorIs(t, thread.Go(func(*gpu.Ctx) error { return nil }), gpu.ErrBusy)
	close(release)
	// Do comes after what was queued, and Close runs the rest.
	require.NoError(t, thread.Do(t.Context(), func(*gpu.Ctx) error { ran = append(ran, 3); return nil }))
	require.NoError(t, thread.Go(func(*gpu.Ctx) error { ran = append(ran, 4); return nil }))
	require.NoError(t, thread.Close())
	assert.Equal(t, []int{0, 1, 2, 3, 4}, ran)
	require.ErrorIs(t, thread.Go(func(*gpu.Ctx) error { return nil }), gpu.ErrClosed)
	require.ErrorIs(t, thread.Do(t.Context(), func(*gpu.Ctx) error { return nil }), gpu.ErrClosed)
	require.NoError(t, thread.Close())
}

func TestDoEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		thread, err := gpu.Start(gputest.NewFake().Open)
		require.NoError(t, err)
		release := blocked(t, thread)
		ctx, cancel := context.WithCancel(context.Background())
		var ran atomic.Bool
		result := make(chan error, 1)
		go func() {
			result <- thread.Do(ctx, func(*gpu.Ctx) error { ran.Store(true); return nil })
		}()
		synctest.Wait() // Do waits behind the blocked function
		cancel()
		require.ErrorIs(t, <-result, context.Canceled)
		close(release)
		require.NoError(t, thread.Close())
		assert.False(t, ran.Load(), "a function whose caller has gone must not run")
		require.ErrorIs(t, thread.Do(ctx, nil), context.Canceled)
	})
}

func TestErrorsOfGoAreReportedInOrderOffTheThread(t *testing.T) {
	var mu sync.Mutex
	var got []string
	var thread *gpu.Thread
	thread, err := gpu.Config{OnError: func(err error) {
		mu.Lock()
		defer mu.Unlock()
		got = append(got, err.Error())
	}}.Start(gputest.NewFake().Open)
	require.NoError(t, err)
	for i := range 3 {
		require.NoError(t, thread.Go(func(*gpu.Ctx) error { return fmt.Errorf("tick %d", i) }))
	}
	require.NoError(t, thread.Close())
	assert.Equal(t, []string{"tick 0", "tick 1", "tick 2"}, got)
}

func TestErrorsThatASlowOnErrorMissesAreCounted(t *testing.T) {
	const failures = 200
	release, told := make(chan struct{}), 0
	var missed int
	thread, err := gpu.Config{Queue: failures + 1, OnError: func(err error) {
		<-release
		if _, scanErr := fmt.Sscanf(err.Error(), "%d more errors", &missed); scanErr != nil {
			told++
		}
	}}.Start(gputest.NewFake().Open)
	require.NoError(t, err)
	for range failures {
		require.NoError(t, thread.Go(func(*gpu.Ctx) error { return errors.New("dispatch failed") }))
	}
	require.NoError(t, thread.Do(t.Context(), func(*gpu.Ctx) error { return nil }))
	close(release)
	require.NoError(t, thread.Close())
	assert.Equal(t, failures, told+missed)
	assert.Positive(t, missed)
}

func TestLostContextFailsEveryLaterCall(t *testing.T) {
	fake := gputest.NewFake()
	reported := make(chan error, 16)
	thread, err := gpu.Config{OnError: func(err error) { reported <- err }}.Start(fake.Open)
	require.NoError(t, err)
	select {
	case <-thread.Lost():
		t.Fatal("lost before the loss")
	default:
	}
	var fence *gpu.Fence
	require.NoError(t, thread.Do(t.Context(), func(c *gpu.Ctx) (err error) {
		fence, err = c.NewFence()
		return err
	}))
	fake.Lose()
	for range 3 {
		require.NoError(t, thread.Go(func(c *gpu.Ctx) error {
			assert.Equal(t, gpu.FenceFailed, c.PollFence(fence))
			return c.Flush()
		}))
	}
	<-thread.Lost()
	require.ErrorIs(t, thread.Do(t.Context(), func(*gpu.Ctx) error { return nil }), gpu.ErrContextLost)
	require.NoError(t, thread.Close())
	require.ErrorIs(t, <-reported, gpu.ErrContextLost)
	assert.Empty(t, reported, "one report of the loss is enough")
	fence.Close() // after the end: harmless
}

func TestAFailingCommandTellsOfALoss(t *testing.T) {
	fake := gputest.NewFake()
	thread := fake.Start(t)
	require.ErrorIs(t, thread.Do(t.Context(), func(*gpu.Ctx) error {
		fake.Report(fmt.Errorf("%w: GL_CONTEXT_LOST", gpu.ErrContextLost))
		return nil
	}), gpu.ErrContextLost)
	<-thread.Lost()
	require.ErrorIs(t, thread.Do(t.Context(), func(*gpu.Ctx) error { return nil }), gpu.ErrContextLost)
}

func TestDebugErrorsFailTheFunctionAndAreKept(t *testing.T) {
	fake := gputest.NewFake()
	thread := fake.Start(t)
	invalid := errors.New("GL_INVALID_OPERATION in glDispatchCompute")
	err := thread.Do(t.Context(), func(*gpu.Ctx) error {
		fake.Report(invalid)
		return nil
	})
	require.ErrorIs(t, err, invalid)
	assert.Equal(t, []error{invalid}, thread.DebugErrors())
	assert.Empty(t, thread.DebugErrors())
	for range 40 {
		_ = thread.Do(t.Context(), func(*gpu.Ctx) error {
			fake.Report(invalid)
			fake.Report(invalid)
			return nil
		})
	}
	assert.Len(t, thread.DebugErrors(), 64)
}

func TestClosedObjectsAreDeletedAtTheNextEntry(t *testing.T) {
	fake := gputest.NewFake()
	thread := fake.Start(t)
	var b *gpu.Buffer
	require.NoError(t, thread.Do(t.Context(), func(c *gpu.Ctx) (err error) {
		b, err = c.NewBuffer(gpu.BufferDesc{Label: "points", Size: 16})
		return err
	}))
	assert.Equal(t, []string{`buffer "points"`}, thread.Live())
	fake.ClearLog()
	var closers sync.WaitGroup
	for range 8 {
		closers.Go(b.Close)
	}
	closers.Wait()
	assert.Empty(t, fake.Log(), "only the GL thread deletes")
	assert.Empty(t, thread.Live())
	require.NoError(t, thread.Do(t.Context(), func(c *gpu.Ctx) error {
		assert.ErrorIs(t, c.WriteBuffer(b, 0, []byte{1}), gpu.ErrObjectClosed)
		return nil
	}))
	assert.Equal(t, []string{`Delete buffer "points"`}, fake.Log())
}

func TestCloseDeletesWhatIsLeft(t *testing.T) {
	fake := gputest.NewFake()
	thread, err := gpu.Start(fake.Open)
	require.NoError(t, err)
	require.NoError(t, thread.Do(t.Context(), func(c *gpu.Ctx) error {
		_, err := c.NewBuffer(gpu.BufferDesc{Label: "forgotten", Size: 16})
		return err
	}))
	fake.ClearLog()
	require.NoError(t, thread.Close())
	assert.Equal(t, []string{`Delete buffer "forgotten"`}, fake.Log())
	assert.Empty(t, fake.Faults())
}

func TestStartReportsTheOpener(t *testing.T) {
	missing := &gpu.UnsupportedError{Feature: "OpenGL 4.5 core", Need: "install Mesa 18", Err: errors.New("libEGL says no")}
	tests := map[string]struct {
		open gpu.Opener
		want string
	}{
		"unsupported": {func() (*gpu.Context, error) { return nil, missing }, "no OpenGL 4.5 core: install Mesa 18 (libEGL says no)"},
		"nothing":     {func() (*gpu.Context, error) { return nil, nil }, "open opengl context: the opener returned none"},
		"panic":       {func() (*gpu.Context, error) { panic("driver bug") }, "panic: driver bug"},
		"goexit":      {func() (*gpu.Context, error) { runtime.Goexit(); return nil, nil }, "open opengl context: function on the gl thread called runtime.Goexit"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			thread, err := gpu.Start(tt.open)
			require.Error(t, err)
			assert.Nil(t, thread)
			first, _, _ := strings.Cut(err.Error(), "\n")
			assert.Equal(t, tt.want, first)
			assert.Equal(t, name == "unsupported", errors.Is(err, gpu.ErrNotSupported))
		})
	}
}

func TestCloseReportsTheContext(t *testing.T) {
	broken := errors.New("eglDestroyContext: EGL_BAD_CONTEXT")
	thread, err := gpu.Start(func() (*gpu.Context, error) {
		return &gpu.Context{Driver: gputest.NewFake(), Close: func() error { return broken }}, nil
	})
	require.NoError(t, err)
	require.ErrorIs(t, thread.Close(), broken)
	require.ErrorIs(t, thread.Close(), broken)
}

func TestCloseSurvivesTheContextsEnd(t *testing.T) {
	for name, end := range map[string]func() error{
		"panic":  func() error { panic("driver bug") },
		"goexit": func() error { runtime.Goexit(); return nil },
	} {
		t.Run(name, func(t *testing.T) {
			thread, err := gpu.Start(func() (*gpu.Context, error) {
				return &gpu.Context{Driver: gputest.NewFake(), Close: end}, nil
			})
			require.NoError(t, err)
			require.Error(t, thread.Close())
			require.Error(t, thread.Close())
		})
	}
}

// An OnError that ends its goroutine is told of what comes after.
func TestOnErrorMayGoexit(t *testing.T) {
	told := make(chan error, 3)
	thread, err := gpu.Config{OnError: func(err error) {
		told <- err
		runtime.Goexit()
	}}.Start(gputest.NewFake().Open)
	require.NoError(t, err)
	for range 3 {
		require.NoError(t, thread.Go(func(*gpu.Ctx) error { return errors.New("tick failed") }))
	}
	require.NoError(t, thread.Close())
	assert.Len(t, told, 3)
}

// Many goroutines use both doors, close objects and give up waiting at random;
// every Do must be answered and Close must end all.
func TestThreadUnderLoad(t *testing.T) {
	thread, err := gpu.Config{Queue: 8, OnError: func(error) {}}.Start(gputest.NewFake().Open)
	require.NoError(t, err)
	var users sync.WaitGroup
	for user := range 8 {
		users.Go(func() {
			for i := range 100 {
				ctx, cancel := context.WithCancel(context.Background())
				if (user+i)%5 == 0 {
					go cancel()
				}
				_ = thread.Do(ctx, func(c *gpu.Ctx) error {
					b, err := c.NewBuffer(gpu.BufferDesc{Label: "scratch", Size: 8})
					if err == nil {
						go b.Close()
					}
					if i%10 == 0 {
						panic("now and then")
					}
					return err
				})
				cancel()
				_ = thread.Go(func(c *gpu.Ctx) error { return c.Flush() })
			}
		})
	}
	users.Wait()
	require.NoError(t, thread.Close())
}

func BenchmarkDo(b *testing.B) {
	fake := gputest.NewFake()
	fake.StopLog()
	thread := fake.Start(b)
	b.ReportAllocs()
	for b.Loop() {
		if err := thread.Do(context.Background(), func(*gpu.Ctx) error { return nil }); err != nil {
			b.Fatal(err)
		}
	}
}

func TestGoAllocatesNothingInSteadyState(t *testing.T) {
	fake := gputest.NewFake()
	fake.StopLog()
	thread := fake.Start(t)
	ran := make(chan struct{}, 1)
	f := func(*gpu.Ctx) error { ran <- struct{}{}; return nil }
	allocs := testing.AllocsPerRun(500, func() {
		if err := thread.Go(f); err != nil {
			t.Error(err)
		}
		<-ran
	})
	// A batch of 64 tokens now and then rounds to none.
	assert.Zero(t, allocs)
}

// slowCompiler is a driver that compiles one shader for a minute.
type slowCompiler struct{ *gputest.Fake }

func (d slowCompiler) CreateProgram(desc gpu.ProgramDesc) (gpu.Handle, error) {
	if desc.Label == "camera.shade" {
		time.Sleep(time.Minute)
	}
	return d.Fake.CreateProgram(desc)
}

// TestALongCompilationIsTold: the log says which shader it is, and that others came before it.
func TestALongCompilationIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told bytes.Buffer
		thread, err := gpu.Config{Log: slog.New(slog.NewTextHandler(&told, nil))}.Start(func() (*gpu.Context, error) {
			return &gpu.Context{Driver: slowCompiler{gputest.NewFake()}}, nil
		})
		require.NoError(t, err)
		require.NoError(t, thread.Do(t.Context(), func(c *gpu.Ctx) error {
			for _, label := range []string{"camera.ids", "camera.shade"} {
				if _, err := c.NewProgram(gpu.ProgramDesc{Label: label, Compute: "void main() {}"}); err != nil {
					return err
				}
			}
			return nil
		}))
		require.NoError(t, thread.Close())
		synctest.Wait()
		assert.Contains(t, told.String(), `msg="still compiling shader camera.shade, number 2 of this run ..."`)
		assert.Equal(t, 1, strings.Count(told.String(), "\n"), "of the quick one nothing is told")
	})
}

// TestWhyTheContextIsLost: the owner learns the driver's reason.
func TestWhyTheContextIsLost(t *testing.T) {
	fake := gputest.NewFake()
	thread := fake.Start(t)
	require.NoError(t, thread.Err())
	fake.Lose()
	require.ErrorIs(t, thread.Do(t.Context(), func(*gpu.Ctx) error { return nil }), gpu.ErrContextLost)
	<-thread.Lost()
	require.EqualError(t, thread.Err(), "opengl context lost: the fake's script says so")
}

// TestAFunctionIsOneSubmission: a fence is flushed once, when its function returns or polls it. A function
// without one leaves its commands to the next.
func TestAFunctionIsOneSubmission(t *testing.T) {
	fences := func(n int) func(c *gpu.Ctx) error {
		return func(c *gpu.Ctx) error {
			for range n {
				f, err := c.NewFence()
				if err != nil {
					return err
				}
				defer f.Close()
			}
			return nil
		}
	}
	polled := func(c *gpu.Ctx) error {
		first, err := c.NewFence()
		require.NoError(t, err)
		defer first.Close()
		second, err := c.NewFence()
		require.NoError(t, err)
		defer second.Close()
		assert.Equal(t, gpu.FenceSignaled, c.PollFence(second))
		assert.Equal(t, gpu.FenceSignaled, c.PollFence(first))
		require.NoError(t, c.ResetFence(first))
		assert.Equal(t, gpu.FenceSignaled, c.PollFence(first))
		return nil
	}
	for name, test := range map[string]struct {
		f    func(*gpu.Ctx) error
		want []string
	}{
		"without a fence": {func(c *gpu.Ctx) error { return c.Err() }, []string{}},
		"three fences":    {fences(3), []string{"CreateFence 0", "CreateFence 1", "CreateFence 2", "Flush"}},
		"polled": {polled, []string{"CreateFence 0", "CreateFence 1", "Flush", "PollFence 1 = signaled", "PollFence 0 = signaled",
			"CreateFence 2", "Delete fence fence", "Flush", "PollFence 2 = signaled"}},
	} {
		t.Run(name, func(t *testing.T) {
			fake := gputest.NewFake()
			thread := fake.Start(t)
			require.NoError(t, thread.Do(t.Context(), test.f))
			require.Equal(t, test.want, append([]string{}, fake.Log()...))
		})
	}
	t.Run("that fails", func(t *testing.T) {
		fake, broken := gputest.NewFake(), errors.New("broken")
		thread := fake.Start(t)
		fake.Fail("Flush", broken)
		require.ErrorIs(t, thread.Do(t.Context(), fences(1)), broken)
	})
}
