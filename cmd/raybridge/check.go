package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	bridgesall "github.com/raybridge/raybridge/bridges/all"
	"github.com/raybridge/raybridge/flow"
	sensorsall "github.com/raybridge/raybridge/sensors/all"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/config"
	"github.com/raybridge/raybridge/internal/closest"
	"github.com/raybridge/raybridge/internal/yamldoc"
	"github.com/raybridge/raybridge/pipeline"
	"github.com/raybridge/raybridge/rig"
	"github.com/raybridge/raybridge/sensors/transform"
	"github.com/raybridge/raybridge/simtime"
)

// checkConfig checks what config.Read can't know, before anything is opened:
// sensors and their topics, the clock, and bridges, which would write below out.
func checkConfig(c *config.Config, out string) error {
	if err := checkTime(&c.Time); err != nil {
		return err
	}
	topics, err := publishedTopics(c)
	if err != nil {
		return err
	}
	registry := bridgesall.Registry()
	for i := range c.Bridges {
		if key, err := checkBridge(registry, &c.Bridges[i], topics, out); err != nil {
			return c.InBridge(i, key, err)
		}
	}
	return nil
}

// checkTwice refuses bridges that are given twice, and those that would write the same
// file.
func checkTwice(list []config.Bridge) error {
	registry, seen := bridgesall.Registry(), map[string]string{}
	for i := range list {
		b := &list[i]
		spec := b.Type + ":" + b.Connection
		key := spec
		if plugin, err := registry.Plugin(b.Type); err == nil && plugin.Info().Kind == bridges.KindFile {
			path, _, _ := strings.Cut(b.Connection, "?")
			key = b.Type + ":" + filepath.Clean(path)
		}
		switch before, twice := seen[key]; {
		case twice && before == spec:
			return fmt.Errorf("bridge %s is given twice", spec)
		case twice:
			return fmt.Errorf("bridges %s and %s would write to the same place", before, spec)
		}
		seen[key] = spec
	}
	return nil
}

// publishedTopics lists the topics of the sensors and those of every run.
func publishedTopics(c *config.Config) ([]string, error) {
	topics, err := pipeline.CheckRig(&rig.Rig{Sensors: c.Sensors}, sensorsall.Registry())
	if err != nil {
		return nil, err
	}
	for _, out := range transform.Definition.Outputs {
		topics = append(topics, out.Suffix[1:])
	}
	return append(topics, "/clock"), nil
}

// checkBridge returns the key of a bridge that has a fault, and the fault.
func checkBridge(registry *bridges.Registry, b *config.Bridge, topics []string, out string) (key string, err error) {
	if _, err := registry.Plugin(b.Type); err != nil {
		return "type", err
	}
	if err := registry.Check(b.Type+":"+b.Connection, bridges.Env{OutDir: out}); err != nil {
		return "connection", err
	}
	if b.Policy != "" {
		if _, err := flow.ParsePolicy(b.Policy); err != nil {
			return "policy", fmt.Errorf("bridge %s: %w", b.Type, err)
		}
	}
	for _, q := range b.QoS {
		if !slices.Contains(topics, q.Topic) {
			return "qos", fmt.Errorf("bridge %s: qos: no sensor publishes %q, %s", b.Type, q.Topic, closest.Hint(q.Topic, topics))
		}
	}
	return "", nil
}

func checkTime(t *config.Time) error {
	if _, err := simtime.ParseSource(t.Source); err != nil {
		return fmt.Errorf("time.source: %w", unknownSource(t.Source))
	}
	if _, err := simtime.ScaleOf(t.Scale); err != nil {
		return fmt.Errorf("time.scale: %w", err)
	}
	if t.ClockHz > 0 {
		if _, err := simtime.RateOf(t.ClockHz); err != nil {
			return fmt.Errorf("time.clock_hz: %w", err)
		}
	}
	return nil
}

// inFile names the configuration file in an error that has no place in one.
func inFile(file string, err error) error {
	var placed *yamldoc.Error
	if err == nil || file == "" || errors.As(err, &placed) {
		return err
	}
	return fmt.Errorf("%s: %w", file, err)
}
