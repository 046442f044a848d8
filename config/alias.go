package config

import (
	"reflect"
	"strings"

	"github.com/raybridge/raybridge/internal/yamldoc"
)

// aliases are the keys of an AWSIM configuration's top level that we have in time;
// they may be written in any case.
var aliases = map[string]string{"timesource": "source", "timescale": "scale"}

// DecodeYAML reads the keys of a whole file, aliases included.
func (c *Config) DecodeYAML(n yamldoc.Node) error {
	entries, err := n.Entries()
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := c.decodeKey(e, entries); err != nil {
			return err
		}
	}
	return nil
}

// decodeKey reads one of a file's entries.
func (c *Config) decodeKey(e yamldoc.Entry, all []yamldoc.Entry) error {
	if key, ok := aliases[strings.ToLower(e.Key)]; ok {
		if timesGiven(all, key) > 1 {
			return e.Place.Errorf("time.%s is given twice: %s is another name of it", key, e.Key)
		}
		_, err := yamldoc.DecodeKey(&c.Time, yamldoc.Entry{Key: key, Value: e.Value, Place: e.Place})
		return err
	}
	if e.Key == "ego" {
		inner, _ := e.Value.Entries() // what is wrong there is told when it is decoded
		for _, i := range inner {
			c.driverGiven = c.driverGiven || i.Key == "driver" || i.Key == "waypoints"
		}
	}
	if e.Key == "bridges" {
		c.placeBridges(e.Value)
	}
	known, err := yamldoc.DecodeKey(c, e)
	if !known {
		return e.UnknownKey(topKeys())
	}
	return err
}

// timesGiven counts how often a file's entries give a key of time, by any name.
func timesGiven(all []yamldoc.Entry, key string) int {
	n := 0
	for _, e := range all {
		if aliases[strings.ToLower(e.Key)] == key {
			n++
		}
		if e.Key != "time" {
			continue
		}
		inner, _ := e.Value.Entries() // what is wrong there is told when it is decoded
		for _, i := range inner {
			if i.Key == key {
				n++
			}
		}
	}
	return n
}

// topKeys lists the keys of a file.
func topKeys() []string {
	var keys []string
	for _, f := range yamldoc.Fields(reflect.TypeFor[Config]()) {
		keys = append(keys, f.Tag.Get("yaml"))
	}
	return keys
}
