package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	bridgesall "github.com/raybridge/raybridge/bridges/all"
	"github.com/raybridge/raybridge/cmd/raybridge/internal/save"
	"github.com/raybridge/raybridge/internal/closest"
	"github.com/raybridge/raybridge/sensors/stream"
)

// listenFlags are the flags of `raybridge listen`.
type listenFlags struct {
	save, format string
	duration     time.Duration
	count        int
	list         bool
	json         bool
	zstd         bool
}

func newListen() *cobra.Command {
	var f listenFlags
	cmd := &cobra.Command{
		Use:   "listen ADDR [SENSOR]",
		Short: "Show or save what a stream bridge serves",
		Long: "Show or save what a stream bridge serves.\n\n" +
			"ADDR is where `raybridge run --bridge stream:ADDR` listens: [HOST:]PORT, or stream: for the usual port.\n" +
			"SENSOR is a sensor's name, a topic, or a pattern of either or of the sensor's type, such as '/front/*' or\n" +
			"'sensor.lidar.*'; without it everything is received.\n\n" +
			"Without --save a table is printed each second: messages a second of this machine's time over the last " +
			windowText + ", messages that\n" +
			"are missing, messages that the server dropped for this receiver, simulated time from capture to publication.\n" +
			"A connection that breaks is made again. Ctrl-C ends it.",
		Example: "  raybridge listen 127.0.0.1:7740\n" +
			"  raybridge listen 7740 --list\n" +
			"  raybridge listen 7740 front --save out/front --count 10\n" +
			"  raybridge listen 7740 '*/points' --save out/clouds --format ply --duration 5s",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usage(errors.New("give the address of a stream bridge, such as " + stream.DefaultAddress))
			}
			return upToArgs(2)(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error { return listen(cmd, args, &f) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.save, "save", "", "write messages into `DIR`, a file each; those without a picture or points as lines of JSON")
	flags.StringVar(&f.format, "format", "auto", "`FORMAT` of saved files: "+strings.Join(save.Formats(), ", "))
	flags.DurationVar(&f.duration, "duration", 0, "end after this time; 0 is until Ctrl-C")
	flags.IntVar(&f.count, "count", 0, "end when so many messages of each stream have come; 0 is until Ctrl-C")
	flags.BoolVar(&f.list, "list", false, "list the streams and end")
	flags.BoolVar(&f.json, "json", false, "print what was received, or the list, as JSON at the end instead of tables")
	flags.BoolVar(&f.zstd, "zstd", false, "ask the server to compress")
	return cmd
}

// listen receives until it is told to end.
func listen(cmd *cobra.Command, args []string, f *listenFlags) error {
	s, err := newListenSession(cmd, args, f)
	if err != nil {
		return usage(err)
	}
	if f.list {
		return s.list(cmd.Context())
	}
	if f.save != "" {
		format, err := save.ParseFormat(f.format)
		if err != nil {
			return usage(fmt.Errorf("--format: %w", err))
		}
		if s.folder, err = save.NewFolder(f.save, format); err != nil {
			return usage(err)
		}
		defer s.folder.Close()
		if err := proveWritable(f.save); err != nil {
			return usage(fmt.Errorf("--save: %w", err))
		}
	}
	return s.conclude(s.run(cmd.Context()))
}

// newListenSession checks the command line.
func newListenSession(cmd *cobra.Command, args []string, f *listenFlags) (*listenSession, error) {
	switch {
	case f.duration < 0:
		return nil, fmt.Errorf("--duration %v is negative", f.duration)
	case f.count < 0:
		return nil, fmt.Errorf("--count %d is negative", f.count)
	case f.list && (f.save != "" || f.count > 0 || f.duration > 0):
		return nil, errors.New("--list ends at once: give it without --save, --count and --duration")
	case cmd.Flags().Changed("format") && f.save == "":
		return nil, errors.New("--format says how to save: give --save DIR too")
	}
	address, err := parseStreamAddress(args[0])
	if err != nil {
		return nil, err
	}
	s := &listenSession{
		flags: f, address: address, screen: newScreen(cmd.OutOrStdout(), cmd.ErrOrStderr()),
		ready: make(chan struct{}), ended: make(chan error, 1), rows: map[string]*listenRow{},
	}
	if len(args) == 2 {
		s.wanted, err = parseSelection(args[1])
	}
	return s, err
}

// parseStreamAddress reads [HOST:]PORT, after stream: or not; stream: alone is where the
// bridge listens without an address.
func parseStreamAddress(text string) (string, error) {
	connection, bridge := strings.CutPrefix(text, "stream:")
	switch {
	case bridge && connection == "":
		return stream.DefaultAddress, nil
	case strings.HasPrefix(text, "carla:"):
		return "", fmt.Errorf("bad address %q: CARLA's own client code reads what a carla bridge serves; give that of a stream bridge", text)
	}
	host, port := "", connection
	if _, err := strconv.ParseUint(connection, 10, 64); err != nil {
		if host, port, err = net.SplitHostPort(connection); err != nil {
			return "", fmt.Errorf("bad address %q: need PORT or HOST:PORT, such as %s%s", text, stream.DefaultAddress, meantBridge(text))
		}
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return "", fmt.Errorf("bad address %q: the port is a number from 1 to 65535%s", text, meantBridge(text))
	}
	if host == "" {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, port), nil
}

// meantBridge says, of an address that is wrong, what may be meant if it begins as a bridge's
// connection string does.
func meantBridge(text string) string {
	kind, _, _ := strings.Cut(text, ":")
	switch {
	case kind == "stream":
		return ""
	case slices.Contains(bridgesall.Registry().Names(), kind):
		return "; listen reads what a stream bridge serves, and a bridge " + kind + " has receivers of its own"
	case closest.Name(kind, []string{"stream"}) != "":
		return "; did you mean stream:?"
	}
	return ""
}

// selection says which streams are wanted; the zero value all.
type selection string

// pathless takes the slashes' meaning from patterns and names.
func pathless(s string) string { return strings.ReplaceAll(strings.TrimPrefix(s, "/"), "/", "\x1f") }

// parseSelection checks a sensor's name, topic or pattern.
func parseSelection(text string) (selection, error) {
	if text == "" {
		return "", errors.New("the sensor is empty: leave it out to receive everything")
	}
	if _, err := path.Match(pathless(text), ""); err != nil {
		return "", fmt.Errorf("bad pattern %q: %w", text, err)
	}
	return selection(text), nil
}

// matches reports whether a stream is wanted. Patterns are path.Match's, where * also
// goes over slashes; the first slash may be left out.
func (s selection) matches(i *stream.Info) bool {
	if s == "" {
		return true
	}
	for _, name := range []string{i.Name, i.Sensor, i.SensorType} {
		// The pattern was checked.
		if ok, _ := path.Match(pathless(string(s)), pathless(name)); ok && name != "" {
			return true
		}
	}
	return false
}

// list prints the server's streams.
func (s *listenSession) list(ctx context.Context) error {
	client, err := stream.Dial(ctx, s.address, stream.Options{})
	if err != nil {
		return &exitError{exitIncomplete, err}
	}
	defer client.Close()
	var found []stream.Info
	streams := client.Streams()
	for i := range streams {
		if s.wanted.matches(&streams[i]) {
			found = append(found, streams[i])
		}
	}
	if len(found) == 0 && s.wanted != "" {
		return usage(s.unknown(streams))
	}
	return printStreams(s.screen.out, found, s.flags.json)
}
