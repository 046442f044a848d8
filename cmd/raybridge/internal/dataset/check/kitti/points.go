package kitti

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

var (
	// errPoints says that a file of points isn't a whole number of points.
	errPoints = errors.New("a point is four float32, 16 bytes")
	// errPointLabels says that a file of labels isn't a whole number of them.
	errPointLabels = errors.New("a point's label is a uint32, 4 bytes")
)

// A point is where a lidar met something: x forward, y left, z up, metres; reflectance from 0 to 1.
type point struct{ x, y, z, reflectance float32 }

func (p point) at() vector { return vector{float64(p.x), float64(p.y), float64(p.z)} }

// parsePoints decodes a velodyne file. Errors wrap errPoints.
func parsePoints(data []byte) ([]point, error) {
	if len(data)%16 != 0 {
		return nil, fmt.Errorf("the file has %d bytes: %w", len(data), errPoints)
	}
	points := make([]point, len(data)/16)
	for i := range points {
		points[i] = point{float(data[16*i:]), float(data[16*i+4:]), float(data[16*i+8:]), float(data[16*i+12:])}
	}
	return points, nil
}

func float(data []byte) float32 { return math.Float32frombits(binary.LittleEndian.Uint32(data)) }

// hasRings reports whether data are points of five floats, as nuScenes has them: the fifth is then a ring's number, a small integer.
func hasRings(data []byte) bool {
	if len(data)%20 != 0 || len(data) < 200 {
		return false
	}
	for i := 0; i < len(data); i += 20 {
		if ring := float64(float(data[i+16:])); ring != math.Trunc(ring) || ring < 0 || ring > 255 {
			return false
		}
	}
	return true
}

// A pointLabel is what a point belongs to, in the words of SemanticKITTI.
type pointLabel struct{ class, instance uint16 }

// parsePointLabels decodes a file of labels: the class in the low half, the instance in the high. Errors wrap errPointLabels.
func parsePointLabels(data []byte) ([]pointLabel, error) {
	if len(data)%4 != 0 {
		return nil, fmt.Errorf("the file has %d bytes: %w", len(data), errPointLabels)
	}
	labels := make([]pointLabel, len(data)/4)
	for i := range labels {
		both := binary.LittleEndian.Uint32(data[4*i:])
		labels[i] = pointLabel{uint16(both), uint16(both >> 16)}
	}
	return labels, nil
}

// pointClasses are SemanticKITTI's.
var pointClasses = map[uint16]string{
	0: "unlabeled", 1: "outlier", 10: "car", 11: "bicycle", 13: "bus", 15: "motorcycle", 16: "on-rails", 18: "truck", 20: "other-vehicle", 30: "person", 31: "bicyclist",
	32: "motorcyclist", 40: "road", 44: "parking", 48: "sidewalk", 49: "other-ground", 50: "building", 51: "fence", 52: "other-structure", 60: "lane-marking", 70: "vegetation",
	71: "trunk", 72: "terrain", 80: "pole", 81: "traffic-sign", 99: "other-object", 252: "moving-car", 253: "moving-bicyclist", 254: "moving-person", 255: "moving-motorcyclist",
	256: "moving-on-rails", 257: "moving-bus", 258: "moving-truck", 259: "moving-other-vehicle",
}

// isThing reports whether the class is one of objects that have boxes, isMoving whether it is one of those that move, and isStatic whether it is of what stands up from the ground and never moves.
func (l pointLabel) isThing() bool  { return l.class >= 10 && l.class <= 32 || l.isMoving() }
func (l pointLabel) isMoving() bool { return l.class >= 252 && l.class <= 259 }
func (l pointLabel) isStatic() bool {
	return l.class >= 50 && l.class <= 52 || l.class == 71 || l.class == 80 || l.class == 81
}
