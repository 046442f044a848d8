package nuscenes

import (
	"slices"
	"strings"

	"github.com/raybridge/raybridge/bridges/dataset"
	"github.com/raybridge/raybridge/scene"
)

// categoryNames are nuScenes's categories by their index, which lidarseg's bytes are.
var categoryNames = [...]string{
	"noise", "animal", "human.pedestrian.adult", "human.pedestrian.child", "human.pedestrian.construction_worker",
	"human.pedestrian.personal_mobility", "human.pedestrian.police_officer", "human.pedestrian.stroller", "human.pedestrian.wheelchair",
	"movable_object.barrier", "movable_object.debris", "movable_object.pushable_pullable", "movable_object.trafficcone",
	"static_object.bicycle_rack", "vehicle.bicycle", "vehicle.bus.bendy", "vehicle.bus.rigid", "vehicle.car", "vehicle.construction",
	"vehicle.emergency.ambulance", "vehicle.emergency.police", "vehicle.motorcycle", "vehicle.trailer", "vehicle.truck",
	"flat.driveable_surface", "flat.other", "flat.sidewalk", "flat.terrain", "static.manmade", "static.other", "static.vegetation",
	"vehicle.ego",
}

// indices are those of categoryNames.
var indices = func() map[string]uint8 {
	m := map[string]uint8{}
	for i, name := range categoryNames {
		m[name] = uint8(i)
	}
	return m
}()

// surfaces are the categories of what isn't an actor, by tag; other tags are static.other.
var surfaces = map[scene.Tag]string{
	scene.TagSky: "noise", scene.TagRoads: "flat.driveable_surface", scene.TagRoadLine: "flat.driveable_surface", scene.TagSidewalks: "flat.sidewalk",
	scene.TagTerrain: "flat.terrain", scene.TagGround: "flat.other", scene.TagRailTrack: "flat.other", scene.TagBuilding: "static.manmade",
	scene.TagWall: "static.manmade", scene.TagFence: "static.manmade", scene.TagPole: "static.manmade", scene.TagTrafficLight: "static.manmade",
	scene.TagTrafficSign: "static.manmade", scene.TagGuardRail: "static.manmade", scene.TagBridge: "static.manmade",
	scene.TagVegetation: "static.vegetation", scene.TagPedestrian: "human.pedestrian.adult", scene.TagRider: "human.pedestrian.adult",
	scene.TagCar: "vehicle.car", scene.TagTruck: "vehicle.truck", scene.TagBus: "vehicle.bus.rigid", scene.TagMotorcycle: "vehicle.motorcycle",
	scene.TagBicycle: "vehicle.bicycle",
}

// ofTag is the index of a tag's category.
var ofTag = func() (table [256]uint8) {
	for tag := range table {
		table[tag] = indices["static.other"]
		if name, ok := surfaces[scene.Tag(tag)]; ok {
			table[tag] = indices[name]
		}
	}
	return table
}()

// Categories are nuScenes's of actors, by CARLA's and raybridge's type ids, and then by tags.
func (format) Categories() dataset.Categories {
	var list dataset.Categories
	for _, r := range [][2]string{
		{"vehicle.train*", ""}, {"vehicle.tram*", ""},
		{"*ambulance*", "vehicle.emergency.ambulance"}, {"vehicle.*police*", "vehicle.emergency.police"},
		{"vehicle.bus*", "vehicle.bus.rigid"}, {"vehicle.*fusorosa*", "vehicle.bus.rigid"},
		{"vehicle.truck*", "vehicle.truck"}, {"vehicle.carlamotors*", "vehicle.truck"}, {"vehicle.*cybertruck*", "vehicle.truck"},
		{"vehicle.trailer*", "vehicle.trailer"}, {"vehicle.construction*", "vehicle.construction"},
		{"vehicle.motorcycle*", "vehicle.motorcycle"}, {"vehicle.harley*", "vehicle.motorcycle"}, {"vehicle.yamaha*", "vehicle.motorcycle"},
		{"vehicle.kawasaki*", "vehicle.motorcycle"}, {"vehicle.vespa*", "vehicle.motorcycle"},
		{"vehicle.bicycle*", "vehicle.bicycle"}, {"vehicle.bh.*", "vehicle.bicycle"}, {"vehicle.diamondback*", "vehicle.bicycle"}, {"vehicle.gazelle*", "vehicle.bicycle"},
		{"walker.*child*", "human.pedestrian.child"}, {"walker.*police*", "human.pedestrian.police_officer"}, {"walker.*", "human.pedestrian.adult"},
		{"static.prop.trafficcone*", "movable_object.trafficcone"}, {"static.prop.*barrier*", "movable_object.barrier"},
	} {
		list = append(list, dataset.Rule{Type: r[0], Category: r[1]})
	}
	for _, tag := range []scene.Tag{scene.TagBus, scene.TagTruck, scene.TagMotorcycle, scene.TagBicycle, scene.TagPedestrian, scene.TagRider, scene.TagCar} {
		list = append(list, dataset.Rule{Tag: tag.String(), Category: surfaces[tag]})
	}
	return append(list, dataset.Rule{Type: "vehicle.*", Category: "vehicle.car"})
}

// attributeNames are nuScenes's attributes.
var attributeNames = []string{
	"cycle.with_rider", "cycle.without_rider", "pedestrian.moving", "pedestrian.sitting_lying_down", "pedestrian.standing",
	"vehicle.moving", "vehicle.parked", "vehicle.stopped",
}

// walking is from which speed on something moves, m/s.
const walking = 0.2

// attributeOf is an object's attribute, "" where its category has none. Cycles have riders unless a rule of the map says otherwise.
func attributeOf(o *dataset.Object) string {
	moves := o.Twist.Linear.Len() > walking
	pick := func(moving, standing string) string {
		if moves {
			return moving
		}
		return standing
	}
	switch {
	case o.Attribute != "":
		return o.Attribute
	case slices.Contains([]string{"vehicle.bicycle", "vehicle.motorcycle"}, o.Category):
		return "cycle.with_rider"
	case strings.HasPrefix(o.Category, "vehicle."):
		return pick("vehicle.moving", "vehicle.stopped")
	case strings.HasPrefix(o.Category, "human.pedestrian."):
		return pick("pedestrian.moving", "pedestrian.standing")
	}
	return ""
}
