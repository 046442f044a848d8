// Data sets are measured here, beside recordings of the same rig.

package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/raybridge/raybridge/internal/fault"
)

// Simulated times of runs that write data sets.
const (
	setTime        = "20s"
	quickSetTime   = "2s"
	shortSet       = "60s"
	longSet        = "600s"
	quickShortSet  = "5s"
	quickLongerSet = "20s"
)

// setRig has a camera and a lidar. In a recording the camera's pictures are JPEG, as they are in a set.
const setRig = `sensors:
  - {id: sensor.camera.rgb, name: front, rate: 10, image_size_x: 640, image_size_y: 480, fov: 80, pose: {x: 1.4, z: 1.55}%s}
  - {id: sensor.lidar.ray_cast, name: lidar, rate: 10, preset: VelodyneVLP16, rolling: false, pose: {x: 0.9, z: 1.9}}
`

var datasetMethod = strings.TrimSpace(`
dataset: whole runs of the program with one camera of 640x480 and one VLP-16, 10 Hz each, in the city. wall_s is from the first tick to
the process's end, so that the tables that are written at the end count. mcap_wall_s is that of the same rig into an MCAP file, with the
pictures as JPEG; the two take turns. speed is the second over the first, run by run. rss_bytes is the most resident memory of a run of
60 simulated seconds, and growth_bytes how much more one of 600 needs.`)

// setCase is a format of data sets, by speed or by memory.
type setCase struct {
	named
	bridge string
	memory bool
}

// Dataset measures runs that write data sets. It appends to the report.
func Dataset(ctx context.Context, config Config, report *Report) error {
	cases := []setCase{{named{"nuscenes"}, "nuscenes:set", false}, {named{"nuscenes_memory"}, "nuscenes:set", true}}
	b := caseBench[setCase]{"dataset", cases, func(cfg *Config, k setCase) (rows []Result, err error) {
		dir, err := os.MkdirTemp("", "raybridge-bench-")
		if err != nil {
			return nil, fmt.Errorf("make a folder for the rigs: %w", err)
		}
		defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
		if k.memory {
			rows, report.Machine.Device, err = k.measureMemory(ctx, cfg, dir)
		} else {
			rows, report.Machine.Device, err = k.measureSpeed(ctx, cfg, dir)
		}
		return rows, err
	}, datasetMethod}
	return b.run(config, report)
}

// drive returns a run of the rig, which it writes into dir.
func (k *setCase) drive(dir, length, bridge, camera string) (*drive, error) {
	rig := filepath.Join(dir, "rig.yaml")
	if err := os.WriteFile(rig, fmt.Appendf(nil, setRig, camera), 0o600); err != nil {
		return nil, fault.File(err)
	}
	return &drive{k.named, length, []string{"--rig", rig, "--bridge", bridge}}, nil
}

// measureSpeed has the set and a recording take turns, after a run of each that is thrown away.
func (k *setCase) measureSpeed(ctx context.Context, cfg *Config, dir string) (rows []Result, device string, err error) {
	length := ifQuick(cfg.Quick, quickSetTime, setTime)
	note := length + " simulated"
	walls := make([][]float64, 2)
	for run := range cfg.Runs + 1 {
		for i, way := range []struct{ bridge, camera string }{{k.bridge, ""}, {"mcap:drive.mcap", ", compressed: jpeg, publish_raw: false"}} {
			d, err := k.drive(dir, length, way.bridge, way.camera)
			if err != nil {
				return nil, "", err
			}
			r, err := d.once(ctx, cfg)
			if err != nil {
				return nil, "", err
			}
			if device = deviceOf(r.summary); run > 0 {
				walls[i] = append(walls[i], r.wall.Seconds()-r.summary.StartupS)
			}
		}
	}
	return []Result{
		{Name: "dataset.wall_s", Case: k.name, Unit: "s", Note: note, Runs: walls[0]},
		{Name: "dataset.mcap_wall_s", Case: k.name, Unit: "s", Note: note, Runs: walls[1]},
		{Name: "dataset.speed", Case: k.name, Unit: "times the recording's", Runs: ratios(walls[1], walls[0])},
	}, device, nil
}

// measureMemory makes one short and one long run.
func (k *setCase) measureMemory(ctx context.Context, cfg *Config, dir string) (rows []Result, device string, err error) {
	lengths := ifQuick(cfg.Quick, []string{quickShortSet, quickLongerSet}, []string{shortSet, longSet})
	var memory []float64
	for _, length := range lengths {
		d, err := k.drive(dir, length, k.bridge, "")
		if err != nil {
			return nil, "", err
		}
		r, err := d.once(ctx, cfg)
		if err != nil {
			return nil, "", err
		}
		memory, device = append(memory, r.memory), deviceOf(r.summary)
	}
	return []Result{
		{Name: "dataset.rss_bytes", Case: k.name, Unit: "bytes", Note: lengths[0] + " simulated", Runs: memory[:1]},
		{Name: "dataset.growth_bytes", Case: k.name, Unit: "bytes", Note: "from " + lengths[0] + " to " + lengths[1], Runs: []float64{memory[1] - memory[0]}},
	}, device, nil
}
