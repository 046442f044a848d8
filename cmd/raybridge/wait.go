package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	bridgesall "github.com/raybridge/raybridge/bridges/all"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/config"
	"github.com/raybridge/raybridge/internal/closest"
	"github.com/raybridge/raybridge/pipeline"
)

// audience is what --wait-for names: so many receivers of a topic, or of a bridge.
type audience struct {
	name string
	n    int
}

func (a audience) String() string { return count(a.n, "receiver") + " of " + a.name }

// parseAudience reads NAME[=N].
func parseAudience(text string) (audience, error) {
	name, number, given := strings.Cut(text, "=")
	a := audience{name: name, n: 1}
	if given {
		n, err := strconv.Atoi(number)
		if err != nil || n < 1 {
			return a, fmt.Errorf("--wait-for %s: %q: want a number of receivers, 1 or more", text, number)
		}
		a.n = n
	}
	if name == "" {
		return a, fmt.Errorf("--wait-for %q: want the name of a topic or of a bridge, such as /lidar/points or foxglove=2", text)
	}
	return a, nil
}

// readAudience reads --wait-for, whose names are those of the run's network bridges and
// topics.
func readAudience(texts []string, c *config.Config) (list []audience, err error) {
	if len(texts) == 0 {
		return nil, nil
	}
	registry := bridgesall.Registry()
	var known []string
	for _, b := range c.Bridges {
		if plugin, err := registry.Plugin(b.Type); err == nil && plugin.Info().Kind == bridges.KindNetwork {
			known = append(known, b.Type)
		}
	}
	if known == nil {
		return nil, errors.New("--wait-for: files have no receivers: give --bridge with one to a network (foxglove:, stream:, rosbridge:)")
	}
	topics, err := publishedTopics(c)
	if err != nil {
		return nil, err
	}
	known = append(known, topics...)
	for _, text := range texts {
		a, err := parseAudience(text)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(known, a.name) {
			return nil, fmt.Errorf("--wait-for %s: the run has no such topic or network bridge, %s", text, closest.Hint(a.name, known))
		}
		list = append(list, a)
	}
	return list, nil
}

// audiencePoll is how often a run looks whether its receivers are there: bridges tell
// nobody when they come.
const audiencePoll = 20 * time.Millisecond

// await waits until all receivers of --wait-for are there at once, or ctx ends, and says
// whom it waits for.
func (pl *plan) await(ctx context.Context, p *pipeline.Pipeline) error {
	poll := time.NewTicker(audiencePoll)
	defer poll.Stop()
	told := ""
	for ctx.Err() == nil {
		missing, err := missingOf(pl.audience, p.Receivers)
		if err != nil {
			return usage(fmt.Errorf("--wait-for: %w", err))
		}
		if missing != told && missing != "" && !pl.flags.quiet {
			fmt.Fprintln(pl.progress.out, "waiting for", missing)
		}
		if told = missing; missing == "" {
			return nil
		}
		select {
		case <-ctx.Done():
		case <-poll.C:
		}
	}
	return nil // the run ends before it begins
}

// missingOf says which receivers aren't there, "" for none.
func missingOf(list []audience, receivers func(name string) (int, error)) (string, error) {
	var missing []string
	for _, a := range list {
		n, err := receivers(a.name)
		if err != nil {
			return "", err
		}
		if n < a.n {
			missing = append(missing, fmt.Sprintf("%v, %d there", a, n))
		}
	}
	return strings.Join(missing, "; "), nil
}

// pause lets a run begin with its clock paused, as --paused asks for, and says how to
// resume it. It comes before anybody can resume it.
func (pl *plan) pause(p *pipeline.Pipeline, server *controlServer) {
	if !pl.flags.paused {
		return
	}
	p.Clock().Pause()
	var ways []string
	if server != nil {
		ways = append(ways, fmt.Sprintf("curl -X POST http://%s/v1/resume", server.Addr()))
	}
	if pl.window {
		ways = append(ways, "the space key in the window")
	}
	if !pl.flags.quiet {
		fmt.Fprintln(pl.progress.out, "paused: resume with", strings.Join(ways, " or "))
	}
}
