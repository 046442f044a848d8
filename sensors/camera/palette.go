package camera

import "github.com/raybridge/raybridge/scene"

// The classes of SVL Simulator's segmentation cameras, by their colours. Its
// Curb and Player have no counterpart among CARLA's tags.
var (
	svlBlack        = [3]uint8{0x00, 0x00, 0x00}
	svlCar          = [3]uint8{0x12, 0x0e, 0x97}
	svlRoad         = [3]uint8{0x7a, 0x3f, 0x83}
	svlSidewalk     = [3]uint8{0xba, 0x83, 0x50}
	svlVegetation   = [3]uint8{0x71, 0xc0, 0x2f}
	svlObstacle     = [3]uint8{0xff, 0xff, 0xff}
	svlTrafficLight = [3]uint8{0xff, 0xff, 0x00}
	svlBuilding     = [3]uint8{0x23, 0x86, 0x88}
	svlSign         = [3]uint8{0xc0, 0xc0, 0x00}
	svlShoulder     = [3]uint8{0xff, 0x00, 0xff}
	svlPedestrian   = [3]uint8{0xff, 0x00, 0x00}
	svlLaneLine     = [3]uint8{0x4e, 0x80, 0xff}
	svlSky          = [3]uint8{0xb5, 0xc2, 0xd9}
)

// svlColors are the colours of CARLA's tags: those of the class of SVL that such
// things belong to. What stands in the way and has no class of its own is an Obstacle;
// ground beside the road is its Shoulder.
var svlColors = [scene.TagCount][3]uint8{
	scene.TagUnlabeled: svlBlack,
	scene.TagRoads:     svlRoad, scene.TagRoadLine: svlLaneLine, scene.TagSidewalks: svlSidewalk,
	scene.TagGround: svlShoulder, scene.TagRailTrack: svlShoulder,
	scene.TagTerrain: svlVegetation, scene.TagVegetation: svlVegetation,
	scene.TagBuilding: svlBuilding, scene.TagBridge: svlBuilding,
	scene.TagWall: svlObstacle, scene.TagFence: svlObstacle, scene.TagPole: svlObstacle, scene.TagGuardRail: svlObstacle,
	scene.TagStatic: svlObstacle, scene.TagDynamic: svlObstacle, scene.TagOther: svlObstacle, scene.TagWater: svlObstacle,
	scene.TagTrafficLight: svlTrafficLight, scene.TagTrafficSign: svlSign,
	scene.TagPedestrian: svlPedestrian, scene.TagRider: svlPedestrian,
	scene.TagCar: svlCar, scene.TagTruck: svlCar, scene.TagBus: svlCar, scene.TagTrain: svlCar,
	scene.TagMotorcycle: svlCar, scene.TagBicycle: svlCar,
	scene.TagSky: svlSky,
}

// svlColor returns a tag's colour, as Tag.Color does for CARLA's palette.
func svlColor(t scene.Tag) [3]uint8 { return svlColors[t%scene.TagCount] }
