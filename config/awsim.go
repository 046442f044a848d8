package config

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/raybridge/raybridge/internal/doc"
	"github.com/raybridge/raybridge/rig"
)

// awsimTime are the keys of AWSIM's configurations that we have in time; they may be written
// in any case. AWSIM 2 has TimeSourceType in place of TimeSource.
var awsimTime = map[string]string{"timesource": "source", "timesourcetype": "source", "timescale": "scale"}

// awsimSources are AWSIM 2's time sources in the order of their numbers, by our names.
var awsimSources = []string{"unity", "external", "dotnet_system", "dotnet_simulation", "ros2"}

// awsimSimulation is the key under which AWSIM Labs has its time scale.
const awsimSimulation = "simulationConfiguration"

// awsimOther are the other keys of AWSIM's configurations: those of versions 1 and 2, and of
// AWSIM Labs. Each has why it does nothing here.
var awsimOther = map[string]string{
	"RandomTrafficSeed":   "it is the seed of AWSIM's traffic: seed is that of ours",
	"MaxVehicleCount":     "the scene has its own traffic: actors adds to it",
	"useTraffic":          "the scene has its own traffic",
	"Ego":                 awsimPlace,
	"EgoPose":             awsimPlace,
	"egoConfiguration":    awsimPlace,
	"mapConfiguration":    "AWSIM's maps are not read: scene says what the sensors see",
	"EgoVehicleSettings":  "the limits of AWSIM's vehicle model are not ours: docs/commands.md has those",
	"LogitechG29Settings": awsimWheel,
	"G29DevicePath":       awsimWheel,
}

const (
	awsimPlace = "it is a place in AWSIM's map: ego.pose is one in ours"
	awsimWheel = "no steering wheel is read: ego.driver says who drives"
)

// decodeAWSIM reads an entry that only AWSIM's configurations have, and notes what has no
// counterpart. all are the file's entries. known is false for other entries.
func (c *Config) decodeAWSIM(e doc.Entry, all []doc.Entry) (known bool, err error) {
	if key, ok := awsimTime[strings.ToLower(e.Key)]; ok {
		return true, c.decodeAWSIMTime(key, e, all)
	}
	if e.Key == awsimSimulation {
		return true, c.decodeAWSIMSimulation(e, all)
	}
	why, known := awsimOther[e.Key]
	if known {
		c.notices = append(c.notices, rig.NoCounterpart(e.Place, why))
	}
	return known, nil
}

// decodeAWSIMSimulation reads what AWSIM Labs has of the simulation.
func (c *Config) decodeAWSIMSimulation(e doc.Entry, all []doc.Entry) error {
	inner, err := e.Value.Entries()
	if err != nil {
		return err
	}
	for _, i := range inner {
		known, err := c.decodeAWSIM(i, all)
		if err == nil && !known {
			err = c.unknownKey(i, all, []string{"timeScale", "useTraffic"})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// unknownKey refuses a key that isn't among the known. A lenient reader notes it where the file
// is AWSIM's, whose later versions have more keys.
func (c *Config) unknownKey(e doc.Entry, all []doc.Entry, known []string) error {
	if slices.ContainsFunc(all, isAWSIM) {
		if c.lenient {
			c.notices = append(c.notices, rig.NoCounterpart(e.Place, "the key is unknown"))
			return nil
		}
		known = slices.Concat(known, slices.Sorted(maps.Keys(awsimOther)))
	}
	return e.UnknownKey(known)
}

// isAWSIM tells that only AWSIM's configurations have an entry.
func isAWSIM(e doc.Entry) bool {
	_, ofTime := awsimTime[strings.ToLower(e.Key)]
	_, other := awsimOther[e.Key]
	return ofTime || other || e.Key == awsimSimulation
}

// decodeAWSIMTime reads a key of time by AWSIM's name. AWSIM takes an empty source for none,
// and a number for one of awsimSources.
func (c *Config) decodeAWSIMTime(key string, e doc.Entry, all []doc.Entry) error {
	if timesGiven(all, key) > 1 {
		return e.Place.Errorf("time.%s is given twice: %s is another name of it", key, e.Key)
	}
	if key == "source" {
		v, err := e.Value.Value()
		if err != nil || v == "" {
			return err
		}
		if i, err := strconv.Atoi(fmt.Sprint(v)); err == nil {
			if i < 0 || i >= len(awsimSources) {
				return e.Value.Errorf("%w: %d, the range is 0 to %d", doc.ErrRange, i, len(awsimSources)-1)
			}
			c.Time.Source = awsimSources[i]
			return nil
		}
	}
	_, err := doc.DecodeKey(&c.Time, doc.Entry{Key: key, Value: e.Value, Place: e.Place})
	return err
}

// timesGiven counts how often a file's entries give a key of time, by any name.
func timesGiven(all []doc.Entry, key string) int {
	n := 0
	for _, e := range all {
		if awsimTime[strings.ToLower(e.Key)] == key {
			n++
		}
		if e.Key != "time" && e.Key != awsimSimulation {
			continue
		}
		inner, _ := e.Value.Entries() // what is wrong there is told when it is decoded
		for _, i := range inner {
			if i.Key == key || e.Key == awsimSimulation && awsimTime[strings.ToLower(i.Key)] == key {
				n++
			}
		}
	}
	return n
}
