package kitti

import (
	"encoding/binary"
	"math"
	"strings"

	"github.com/raybridge/raybridge/bridges/dataset"
	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/sensors/sample"
)

// appendPoints writes a cloud's points as float32, little endian: x forward, y left, z up in metres, and the reflectance,
// 0 to 1. Misses are left out.
func appendPoints(dst []byte, cloud *sample.PointCloud) []byte {
	brightest := float32(255)
	if cloud.UnitIntensity {
		brightest = 1
	}
	for i := range cloud.Points {
		if p := &cloud.Points[i]; returned(p) {
			for _, v := range [...]float32{p.X, p.Y, p.Z, min(p.Intensity/brightest, 1)} {
				dst = binary.LittleEndian.AppendUint32(dst, math.Float32bits(v))
			}
		}
	}
	return dst
}

// returned reports whether a ray hit something: a miss of an organized cloud has no place.
func returned(p *sample.Point) bool { return p.X == p.X }

// A class is SemanticKITTI's number of what stands still and of what moves.
type class struct{ still, moving uint16 }

// classes are by semantic tag. SemanticKITTI has no class of its own for walls, traffic lights, water or rails. A wall
// and a bridge are other-structure, water and rails other-ground, a traffic light is other-object.
var classes = [scene.TagCount]class{
	scene.TagRoads: {40, 40}, scene.TagSidewalks: {48, 48}, scene.TagBuilding: {50, 50}, scene.TagWall: {52, 52}, scene.TagFence: {51, 51},
	scene.TagPole: {80, 80}, scene.TagTrafficLight: {99, 99}, scene.TagTrafficSign: {81, 81}, scene.TagVegetation: {70, 70},
	scene.TagTerrain: {72, 72}, scene.TagPedestrian: {30, 254}, scene.TagRider: bicyclist, scene.TagCar: {10, 252},
	scene.TagTruck: {18, 258}, scene.TagBus: {13, 257}, scene.TagTrain: {16, 256}, scene.TagMotorcycle: {15, 255},
	scene.TagBicycle: {11, 253}, scene.TagStatic: {99, 99}, scene.TagDynamic: {99, 99}, scene.TagOther: {99, 99}, scene.TagWater: {49, 49},
	scene.TagRoadLine: {60, 60}, scene.TagGround: {49, 49}, scene.TagBridge: {52, 52}, scene.TagRailTrack: {49, 49}, scene.TagGuardRail: {51, 51},
}

// A two-wheeler and its rider are one thing.
var bicyclist, motorcyclist = class{31, 253}, class{32, 255}

// classOfTag returns the class of what has a tag, 0 (unlabeled) for one that has none.
func classOfTag(tag uint8) class {
	if int(tag) < len(classes) {
		return classes[tag]
	}
	return class{}
}

// classOf returns the class of all points of an object, so that it is one thing even if its parts have several tags.
func classOf(o *dataset.Object) class {
	switch {
	case strings.HasPrefix(o.TypeID, "vehicle.bicycle"):
		return bicyclist
	case strings.HasPrefix(o.TypeID, "vehicle.motorcycle"):
		return motorcyclist
	}
	return classOfTag(o.Tag)
}

// stillBelow is the speed from which an object moves, m/s.
const stillBelow = 0.1

// A numbering gives the objects of a sequence SemanticKITTI's instances, from 1 in the order in which they appear: 16 bits
// are too few for an actor's id.
type numbering map[uint32]uint16

// of returns an actor's number, 0 once there are no more.
func (n numbering) of(actor uint32) uint16 {
	number, ok := n[actor]
	if !ok && len(n) < math.MaxUint16 {
		number = uint16(len(n) + 1)
		n[actor] = number
	}
	return number
}

// appendLabels writes SemanticKITTI's label of each point that appendPoints writes: its class in the low 16 bits and its
// instance in the high ones. Points of other things have no instance.
func (n numbering) appendLabels(dst []byte, cloud *sample.PointCloud, objects ...[]dataset.Object) []byte {
	things := map[uint32]*dataset.Object{}
	for _, list := range objects {
		for i := range list {
			things[list[i].ID] = &list[i]
		}
	}
	for i := range cloud.Points {
		p := &cloud.Points[i]
		if !returned(p) {
			continue
		}
		value := uint32(classOfTag(p.Tag).still)
		if o := things[p.Instance]; o != nil {
			c := classOf(o)
			value = uint32(c.still)
			if o.Twist.Linear.Len() >= stillBelow {
				value = uint32(c.moving)
			}
			value |= uint32(n.of(o.ID)) << 16
		}
		dst = binary.LittleEndian.AppendUint32(dst, value)
	}
	return dst
}
