package main

import (
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/config"
	"github.com/raybridge/raybridge/internal/doc"
	"github.com/raybridge/raybridge/internal/fault"
	"github.com/raybridge/raybridge/pipeline"
	"github.com/raybridge/raybridge/rig"
	"github.com/raybridge/raybridge/sensors"
	sensorsall "github.com/raybridge/raybridge/sensors/all"
)

// askedBridge is a bridge that a rig asks for.
type askedBridge struct {
	rig.Bridge
	instead string // the run's own bridge that takes the same sensor's data; "" for none
}

// bridgesAsked are those that the rig of a configuration asks for. Errors have their places in the rig.
func bridgesAsked(c *config.Config) (list []askedBridge, err error) {
	if len(c.RigBridges) == 0 {
		return nil, nil
	}
	r := &rig.Rig{Sensors: c.Sensors}
	specs, err := r.Resolve(sensorsall.Registry())
	if err != nil {
		return nil, err
	}
	topics, err := pipeline.RigTopics(r, sensorsall.Registry())
	if err != nil {
		return nil, err
	}
	var faults doc.Faults
	for i, b := range c.RigBridges {
		err := checkAsked(b)
		if err == nil && slices.ContainsFunc(c.RigBridges[:i], func(before rig.Bridge) bool { return before.String() == b.String() }) {
			err = fmt.Errorf("bridge %s is given twice", b)
		}
		names := []string{""}
		if sensor := sensorOf(b.Connection); sensor != "" && err == nil {
			var of []string
			if of, err = sensorNames(specs, topics, sensor); err != nil {
				err = fmt.Errorf("bridge %s: %w", b, err)
			}
			names = append(names, of...)
		}
		if err != nil {
			faults.Add(b.Fault(err))
			continue
		}
		list = append(list, askedBridge{b, takerOf(c, b.Type, names)})
	}
	return list, faults.Err()
}

// sensorNames are all by which a bridge may name a sensor that it names by one of them: its name, and its topics.
func sensorNames(specs []sensors.Spec, topics [][]string, sensor string) ([]string, error) {
	var known []string
	for i := range specs {
		names := append([]string{specs[i].Name}, topics[i]...)
		if slices.Contains(names, sensor) {
			return names, nil
		}
		known = append(known, names[0])
	}
	return nil, fmt.Errorf("%w: sensor=%s: the rig has no sensor of that name; %s", bridges.ErrConnectionString, sensor, fault.Hint(sensor, known))
}

// checkAsked refuses what isn't a bridge, and recordings: a rig says nothing of a run's files.
func checkAsked(b rig.Bridge) error {
	registry := bridgeRegistry()
	if err := registry.Check(b.String(), bridges.Env{}); err != nil {
		return err
	}
	if isFile(registry, b.Type, b.Connection) {
		return fmt.Errorf("bridge %s: %w: a rig's bridge writes no file: name it with --bridge, or among the bridges of a configuration", b, bridges.ErrConnectionString)
	}
	return nil
}

// takerOf returns the run's own bridge of a type that takes the data of a sensor by one of its names, "" for none.
func takerOf(c *config.Config, kind string, names []string) string {
	for _, b := range c.Bridges {
		if b.Type == kind && slices.Contains(names, sensorOf(b.Connection)) {
			return b.Type + ":" + b.Connection
		}
	}
	return ""
}

// sensorOf is the option sensor of a connection, "" without.
func sensorOf(connection string) string {
	_, options, _ := strings.Cut(connection, "?")
	values, err := url.ParseQuery(options)
	if err != nil {
		return "" // its bridge says so
	}
	return values.Get("sensor")
}

// openRigBridges adds the bridges that the rig asks for to those of a run that follows the host's clock: a stepped one would wait
// for what they send at the device's pace.
func (pl *plan) openRigBridges() (err error) {
	c := pl.config
	if !c.OpenRigBridges {
		return nil
	}
	if pl.asked, err = bridgesAsked(c); err != nil || !pl.followsHost() {
		return err
	}
	own := slices.Clip(c.Bridges)
	for _, b := range pl.asked {
		if b.instead == "" {
			own = append(own, config.Bridge{Type: b.Type, Connection: b.Connection, Policy: pl.flags.policy})
		}
	}
	c.Bridges = own
	return nil
}

// followsHost reports whether simulation time goes as the host's does.
func (pl *plan) followsHost() bool { return pl.mode == pipeline.Realtime || pl.pace > 0 }

// tellRigBridges says which of the rig's bridges were opened, and why others weren't.
func (pl *plan) tellRigBridges() {
	for _, b := range pl.asked {
		switch {
		case b.instead != "":
			pl.log.Info("the rig's bridge stays closed: another one takes the sensor's data", "bridge", b.String(), "other", b.instead)
		case pl.followsHost():
			pl.log.Info("the rig opens a bridge, unless rig_bridges: false", "bridge", b.String())
		default:
			pl.log.Warn("the rig's bridge stays closed: a stepped run would wait for what it sends at the device's pace: give --realtime, or name it with --bridge",
				"bridge", b.String())
		}
	}
}

// listAsked prints a line for each bridge that a rig asks for.
func listAsked(out io.Writer, list []askedBridge) {
	for _, b := range list {
		if b.instead == "" {
			fmt.Fprintf(out, "with the host's clock a run opens %s\n", b)
		}
	}
}
