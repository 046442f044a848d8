package scene

import (
	"errors"
	"fmt"
	"image/color"
	"strings"

	"github.com/raybridge/raybridge/internal/fault"
)

// TagCount is the number of semantic tags; valid tags are below it.
const TagCount = 29

// ErrUnknownTag is wrapped by ParseTag where a name is not a tag's.
var ErrUnknownTag = errors.New("unknown semantic tag")

// tagInfo is a tag's name and its colour in CARLA's CityScapes palette.
type tagInfo struct {
	name    string
	r, g, b uint8
}

var tagTable = [TagCount]tagInfo{
	TagUnlabeled:    {"unlabeled", 0, 0, 0},
	TagRoads:        {"roads", 128, 64, 128},
	TagSidewalks:    {"sidewalks", 244, 35, 232},
	TagBuilding:     {"building", 70, 70, 70},
	TagWall:         {"wall", 102, 102, 156},
	TagFence:        {"fence", 190, 153, 153},
	TagPole:         {"pole", 153, 153, 153},
	TagTrafficLight: {"traffic_light", 250, 170, 30},
	TagTrafficSign:  {"traffic_sign", 220, 220, 0},
	TagVegetation:   {"vegetation", 107, 142, 35},
	TagTerrain:      {"terrain", 152, 251, 152},
	TagSky:          {"sky", 70, 130, 180},
	TagPedestrian:   {"pedestrian", 220, 20, 60},
	TagRider:        {"rider", 255, 0, 0},
	TagCar:          {"car", 0, 0, 142},
	TagTruck:        {"truck", 0, 0, 70},
	TagBus:          {"bus", 0, 60, 100},
	TagTrain:        {"train", 0, 80, 100},
	TagMotorcycle:   {"motorcycle", 0, 0, 230},
	TagBicycle:      {"bicycle", 119, 11, 32},
	TagStatic:       {"static", 110, 190, 160},
	TagDynamic:      {"dynamic", 170, 120, 50},
	TagOther:        {"other", 55, 90, 80},
	TagWater:        {"water", 45, 60, 150},
	TagRoadLine:     {"road_line", 157, 234, 50},
	TagGround:       {"ground", 81, 0, 81},
	TagBridge:       {"bridge", 150, 100, 100},
	TagRailTrack:    {"rail_track", 230, 150, 140},
	TagGuardRail:    {"guard_rail", 180, 165, 180},
}

// String returns the tag's CARLA name in snake case, such as "traffic_light".
func (t Tag) String() string {
	if t >= TagCount {
		return fmt.Sprintf("tag(%d)", uint8(t))
	}
	return tagTable[t].name
}

// Color returns the tag's opaque colour in CARLA's CityScapes palette. As
// CARLA's converter does, it takes the tag modulo TagCount.
func (t Tag) Color() color.NRGBA {
	info := tagTable[t%TagCount]
	return color.NRGBA{R: info.r, G: info.g, B: info.b, A: 255}
}

// RoadUser reports whether the tag is of what takes part in traffic: walkers,
// riders and vehicles.
func (t Tag) RoadUser() bool {
	switch t {
	case TagPedestrian, TagRider, TagCar, TagTruck, TagBus, TagTrain, TagMotorcycle, TagBicycle:
		return true
	default:
		return false
	}
}

// Ground reports whether the tag is of what is driven and walked on.
func (t Tag) Ground() bool {
	switch t {
	case TagRoads, TagSidewalks, TagTerrain, TagRoadLine, TagGround, TagBridge, TagRailTrack:
		return true
	default:
		return false
	}
}

// ParseTag returns the tag of a CARLA name. Case, underscores, hyphens and
// spaces don't matter: "traffic_light" and "TrafficLight" are one. Any other
// name is an error that wraps ErrUnknownTag and names the tag that may be meant.
func ParseTag(name string) (Tag, error) {
	key := tagKey(name)
	for t := range tagTable {
		if tagKey(tagTable[t].name) == key {
			return Tag(t), nil
		}
	}
	names := make([]string, len(tagTable))
	for t := range tagTable {
		names[t] = tagTable[t].name
	}
	return TagUnlabeled, fmt.Errorf("%w %.64q: %s", ErrUnknownTag, name, fault.Hint(name, names))
}

// tagKey is what is compared of a tag's name.
func tagKey(name string) string {
	return strings.NewReplacer("_", "", "-", "", " ", "").Replace(strings.ToLower(name))
}
