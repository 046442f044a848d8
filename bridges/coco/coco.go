package coco

import (
	"fmt"
	"strings"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/dataset"
)

// Format is the format of the bridge named "coco".
var Format dataset.Format = format{}

type format struct{}

type options struct {
	dataset.Options
	Masks    string `option:"masks" value:"rle|polygons" default:"rle" doc:"form of masks: polygons lose holes, and are for programs that read no compressed RLE"`
	Panoptic string `option:"panoptic" value:"on|off" default:"on" doc:"write panoptic pictures, too"`

	own []category // of the map
}

// Info describes the bridge.
func (format) Info() bridges.Info {
	return bridges.Info{
		Name:    "coco",
		Summary: "writes COCO's sets for detection, instance and panoptic segmentation: all cameras' pictures with boxes and masks",
	}
}

// Options returns the options at their defaults.
func (format) Options() (all any, common *dataset.Options) {
	o := &options{Options: dataset.DefaultOptions(), Masks: "rle", Panoptic: "on"}
	return o, &o.Options
}

// Categories are COCO's of what takes part in traffic.
func (format) Categories() dataset.Categories { return rules() }

// Channels takes all cameras, each by its name.
func (format) Channels(list []*dataset.Sensor, m *dataset.Map, all any) error {
	all.(*options).own = ownOf(m.Categories)
	names := map[string]string{}
	for _, s := range list {
		if s.Modality != dataset.Camera {
			continue
		}
		channel, named := m.Channel(s.Name)
		if !named && len(m.Sensors) == 0 {
			channel = s.Name
		}
		s.Channel = strings.Map(inFileNames, channel)
		if other, taken := names[s.Channel]; taken && s.Channel != "" {
			return fmt.Errorf("%w: two cameras, %s and %s, have the channel %s", dataset.ErrRig, other, s.Name, s.Channel)
		}
		names[s.Channel] = s.Name
	}
	if delete(names, ""); len(names) == 0 {
		return fmt.Errorf("%w: COCO needs a camera, and the rig has none", dataset.ErrRig)
	}
	return nil
}

// inFileNames replaces what can't stand in a file's name.
func inFileNames(r rune) rune {
	if strings.ContainsRune("-._", r) || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' {
		return r
	}
	return '_'
}

// NewWriter begins to write.
func (format) NewWriter(set *dataset.Set, all any) dataset.Writer {
	return newWriter(set, all.(*options))
}
