// Command raybridge generates camera and lidar data of a 3-D scene on the GPU and
// hands it to robot software and recordings. See `raybridge help`.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/raybridge/raybridge/gpu"
)

// Exit codes, as the README's table lists them.
const (
	exitDone        = 0
	exitFailed      = 1
	exitUsage       = 2
	exitNoOpenGL    = 3
	exitIncomplete  = 4
	exitInterrupted = 130
)

// exitError is an error with the exit code it asks for.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string { return e.err.Error() }
func (e *exitError) Unwrap() error { return e.err }

// usage marks an error as wrong use.
func usage(err error) error {
	if err == nil {
		return nil
	}
	return &exitError{exitUsage, err}
}

// exitCode is the process's status for an error.
func exitCode(err error) int {
	var e *exitError
	switch {
	case err == nil:
		return exitDone
	case errors.Is(err, gpu.ErrNotSupported):
		return exitNoOpenGL
	case errors.As(err, &e):
		return e.code
	default:
		return exitFailed
	}
}

func main() {
	ctx, stop := interruptible()
	defer stop()
	os.Exit(program(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// program runs one command line and returns the exit code.
func program(ctx context.Context, args []string, out, errOut io.Writer) int {
	messages := consoleOn(errOut)
	root := newRoot(out, messages)
	root.SetArgs(args)
	err := refused(root.ExecuteContext(ctx))
	if err != nil {
		fmt.Fprintln(messages, messages.colored(red, "raybridge:"), err)
	}
	return exitCode(err)
}

// oneWish is how long after a signal others count as the same wish: timeout(1), for
// one, signals a process and its group.
const oneWish = 200 * time.Millisecond

// interruptible returns a context that ends with the first Ctrl-C, so that
// recordings are completed; the second one ends the process at once.
func interruptible() (context.Context, func()) {
	ctx, cancel := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-signals
		first := time.Now()
		cancel()
		for range signals {
			if time.Since(first) > oneWish {
				os.Exit(exitInterrupted)
			}
		}
	}()
	return ctx, cancel
}
