// Package coco is the bridge named "coco": it writes what all cameras of a run see as a set for detection, instance segmentation
// and panoptic segmentation, in COCO's format.
//
// # Files
//
//	images/RUN-SCENE-FRAME-CAMERA.jpg    pictures
//	panoptic/RUN-SCENE-FRAME-CAMERA.png  the segment of each pixel: red + 256 green + 65536 blue
//	annotations/instances.json           boxes and masks
//	annotations/panoptic.json            segments
//
// A set that was merged with splits has instances_NAME.json and panoptic_NAME.json for each of them. The files of annotations are
// made of the journal's rows (package dataset): images and annotations are numbered from 1 in the order of the rows.
//
// # Masks
//
// All masks of a picture come from one walk over the picture of its actors. They are run lengths down the columns, compressed as
// pycocotools reads them.
//
// Reference: cocodataset.org, format of data and of results; panopticapi, CONVERTERS.md.
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

// leastPixels is the default of min_pixels: of less nobody can tell what it is.
const leastPixels = 10

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
		Wants:   []bridges.Want{dataset.Instances, dataset.Boxes, dataset.Semantics},
	}
}

// Options returns the options at their defaults.
func (format) Options() (all any, common *dataset.Options) {
	o := &options{Options: dataset.DefaultOptions(), Masks: "rle", Panoptic: "on"}
	o.MinPixels = leastPixels
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

// Folders has those of the data files.
func (format) Folders() []string { return []string{"images", "panoptic"} }

// NewWriter begins to write.
func (format) NewWriter(set *dataset.Set, all any) dataset.Writer {
	return newWriter(set, all.(*options))
}
