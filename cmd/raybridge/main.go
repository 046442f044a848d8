// Command raybridge generates camera and lidar data of a 3-D scene on the GPU and
// hands it to robot software and recordings. See `raybridge help`.
package main

//go:generate go run github.com/raybridge/raybridge/internal/gen notice . ../../NOTICE

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/raybridge/raybridge"
	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/internal/fault"
	"github.com/raybridge/raybridge/memory"
	"github.com/raybridge/raybridge/weather"
	"github.com/raybridge/raybridge/window"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Exit codes, as the table in docs/start.md lists them.
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
	if errors.Is(err, context.Canceled) { // by Ctrl-C, while a file was read
		return &exitError{exitInterrupted, fmt.Errorf("interrupted: %w", err)}
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

// The main goroutine keeps the main thread, which a window needs; the program runs on another.
func init() { runtime.LockOSThread() }

func main() {
	window.Main(func() {
		ctx, stop := interruptible()
		defer stop()
		os.Exit(program(ctx, os.Args[1:], os.Stdout, os.Stderr))
	})
}

// program runs one command line and returns the exit code.
func program(ctx context.Context, args []string, out, errOut io.Writer) int {
	messages := consoleOn(errOut)
	root := newRoot(out, messages)
	root.SetArgs(args)
	err := refused(root.ExecuteContext(ctx))
	if err != nil {
		if messages.records == nil && asksForJSON(args) {
			messages.writeJSON()
		}
		messages.fail(err)
	}
	return exitCode(err)
}

// oneWish is how long after a signal others count as the same wish: timeout(1), for
// one, signals a process and its group.
const oneWish = 200 * time.Millisecond

// interruptible returns a context that ends with the first Ctrl-C, so that
// recordings are completed; the second one ends the process at once. A terminal that is
// closed (SIGHUP) counts as Ctrl-C, unless the program was started to outlive it, as by
// nohup.
func interruptible() (context.Context, func()) {
	ctx, cancel := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) {
		signal.Notify(signals, syscall.SIGHUP)
	}
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

// newRoot makes the command tree. Results go to out, messages to errOut.
func newRoot(out, errOut io.Writer) *cobra.Command {
	root := group(&cobra.Command{
		Use:           "raybridge",
		Short:         "Camera and lidar data of a 3-D scene, for robot software",
		Version:       raybridge.Version(),
		SilenceUsage:  true,
		SilenceErrors: true,
	})
	root.SetOut(out)
	root.SetErr(errOut)
	root.SetFlagErrorFunc(flagError)
	root.AddCommand(newRun(), newReplay(), newListen(), newCtl(), newGPU(), newScene(), newConfig(), newRig(), newSensors(), newBridges(), newMCAP(), newSummary(), newSweep(), newDataset(), newDemo(), newBench(), newVersion())
	root.AddCommand(forPackages()...)
	completeCommands(root)
	return root
}

// group makes cmd one that only has commands below it: alone it prints its help,
// and an unknown command is wrong use.
func group(cmd *cobra.Command) *cobra.Command {
	cmd.Args = cobra.ArbitraryArgs
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return cmd.Help()
		}
		return unknownCommand(cmd, args[0])
	}
	return cmd
}

// unknownCommand is the error for a command that isn't below cmd.
func unknownCommand(cmd *cobra.Command, name string) error {
	var names []string
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			names = append(names, c.Name())
		}
	}
	return usage(fmt.Errorf("unknown command %q for %q, %s", name, cmd.CommandPath(), fault.Hint(name, names)))
}

// completeCommands makes wrong use of the commands that cobra adds an error, as it is of the
// others.
func completeCommands(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		switch c.Name() {
		case "completion":
			group(c)
		case "help":
			c.RunE = func(_ *cobra.Command, args []string) error {
				found, rest, err := root.Find(args)
				if err == nil && len(rest) == 0 {
					return found.Help()
				}
				return unknownCommand(found, rest[0])
			}
		}
	}
}

// newVersion is --version as a command, where others look for it.
func newVersion() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version", Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "raybridge version %s\n", raybridge.Version())
			return err
		},
	}
}

// flagError marks an error of the flags as wrong use, and says what is wanted in place of
// what was given.
func flagError(cmd *cobra.Command, err error) error {
	var invalid *pflag.InvalidValueError
	var unknown *pflag.NotExistError
	switch {
	case errors.As(err, &invalid):
		err = fmt.Errorf("--%s %q: %s", invalid.GetFlag().Name, invalid.GetValue(), wantedValue(invalid.GetFlag().Value.Type(), invalid.GetValue()))
	case errors.As(err, &unknown) && unknown.GetSpecifiedShortnames() == "":
		var known []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { known = append(known, f.Name) })
		name, _, _ := strings.Cut(unknown.GetSpecifiedName(), "=")
		advice := "see " + cmd.CommandPath() + " --help"
		if near := fault.Closest(name, known); near != "" {
			advice = "did you mean --" + near + "?"
		}
		err = fmt.Errorf("unknown flag --%s, %s", name, advice)
	}
	return usage(err)
}

// wantedValue says what a flag of a type takes.
func wantedValue(kind, given string) string {
	switch kind {
	case "bool":
		return fault.Want(given, "true", "false")
	case "duration":
		if _, err := strconv.ParseFloat(given, 64); err == nil {
			return fmt.Sprintf("its unit is missing: want %ss, for seconds, or another of ms, m and h", given)
		}
		return "want a time with its unit, such as 1.5s, 200ms or 5m"
	case sizeType:
		return "want a size above 0, such as 500MB or 8GiB"
	case presetType:
		return fault.Want(given, weather.Presets()...)
	case windType:
		return "want X,Y in m/s, such as 3,-1"
	case "float64":
		return "want a number, such as 0.5"
	case "uint64":
		return fmt.Sprintf("want a whole number from 0 to %d", uint64(math.MaxUint64))
	case "int":
		return "want a whole number"
	default:
		return "want a " + kind
	}
}

// oneArg wants one argument, and names it where it is missing.
func oneArg(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) > 1 {
			return usage(fmt.Errorf("give one only: %s", what))
		}
		return someArgs(what)(cmd, args)
	}
}

// someArgs wants arguments of one kind, and names it where there are none.
func someArgs(what string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) == 0 {
			return usage(fmt.Errorf("give %s", what))
		}
		return nil
	}
}

// noArgs wants no arguments.
func noArgs(cmd *cobra.Command, args []string) error {
	switch {
	case len(args) == 0:
		return nil
	case cmd.HasAvailableSubCommands():
		return unknownCommand(cmd, args[0])
	}
	return usage(fmt.Errorf("%s takes only flags: what is %q?", cmd.Name(), args[0]))
}

// upToArgs wants at most n arguments.
func upToArgs(n int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) <= n {
			return nil
		}
		return usage(fmt.Errorf("%s takes at most %s: what is %q?", cmd.Name(), fault.Count(n, "argument"), args[n]))
	}
}

// memoryLimit is the flag --max-memory: how many bytes what files ask for may take.
type memoryLimit int64

// String is empty: help texts show no default. Set and Type make it a flag's value.
func (m *memoryLimit) String() string { return "" }

// Set reads a size.
func (m *memoryLimit) Set(text string) error {
	n, err := memory.ParseSize(text)
	if err != nil {
		return fmt.Errorf("want %w", err)
	}
	*m = memoryLimit(n)
	return nil
}

// Type is the word for the value in help texts.
func (m *memoryLimit) Type() string { return sizeType }

const sizeType = "size"

// heapRoom is how much the heap may have beyond the budget before it is cleared more often. It is
// for messages in queues, and for what is under way.
const heapRoom = 256 << 20

// leastHeap is what a heap may have anywhere: clearing it for less would take all the time.
const leastHeap = 64 << 20

// addMemoryLimit gives a command that has its RunE the flag --max-memory. While the command runs,
// what it has thrown away is cleared before the heap grows far beyond the limit. An environment
// that sets GOMEMLIMIT decides on that itself.
func addMemoryLimit(cmd *cobra.Command, m *memoryLimit) {
	run := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if os.Getenv("GOMEMLIMIT") == "" {
			defer debug.SetMemoryLimit(debug.SetMemoryLimit(m.heap()))
		}
		return run(cmd, args)
	}
	cmd.Flags().Var(m, "max-memory", "refuse models, sensors and recordings that need more than `SIZE`, such as 8GiB. By default, that is half\nof what the machine or the container has beside 128 MiB")
}

// heap is from where on the heap is cleared more often. By default it is the half of a machine that a budget gets: the
// device's memory and copies have the other.
func (m *memoryLimit) heap() int64 {
	if *m == 0 {
		return max(memory.Default(), leastHeap)
	}
	return int64(*m) + heapRoom
}

// budget is a new budget of the limit, or of the machine.
func (m *memoryLimit) budget() *memory.Budget {
	if *m == 0 {
		return memory.OfMachine()
	}
	return memory.New(int64(*m))
}

// refused marks what needs more than the memory or the device has as wrong use, and says what may be
// done. It says that of a lost device, too.
func refused(err error) error {
	switch fault := new(memory.Error); {
	case errors.As(err, &fault) && fault.Whole > 0:
		return usage(fmt.Errorf("%w: give the machine or the container more memory, or raise the limit by --max-memory", err))
	case errors.Is(err, memory.ErrExceeded):
		return usage(fmt.Errorf("%w: --max-memory raises it", err))
	case errors.Is(err, gpu.ErrLimit):
		return usage(fmt.Errorf("%w: ask for less, or take --gpu host, whose limit is the memory", err))
	case errors.Is(err, gpu.ErrContextLost):
		return fmt.Errorf("%w: dmesg may say why; start again, with another --gpu (raybridge gpu lists them) if it is lost again", err)
	default:
		return err
	}
}
