package carla

// Type ids of CARLA 0.9.15: a sensor's place in its registry.
const (
	typeCollision = iota
	typeDepth
	typeNormals
	typeDVS
	typeGNSS
	typeIMU
	typeLaneInvasion
	typeObstacle
	typeOpticalFlow
	typeRadar
	typeSemanticLidar
	typeLidar
	typeRSS
	typeRGB
	typeSemantic
	typeInstance
	typeWorld
)

// typeIDs has CARLA's number of each of our sensor types that it has too.
var typeIDs = map[string]uint64{
	"sensor.other.collision":              typeCollision,
	"sensor.camera.depth":                 typeDepth,
	"sensor.camera.normals":               typeNormals,
	"sensor.camera.dvs":                   typeDVS,
	"sensor.other.gnss":                   typeGNSS,
	"sensor.other.imu":                    typeIMU,
	"sensor.other.obstacle":               typeObstacle,
	"sensor.camera.optical_flow":          typeOpticalFlow,
	"sensor.other.radar":                  typeRadar,
	"sensor.lidar.ray_cast_semantic":      typeSemanticLidar,
	"sensor.lidar.ray_cast":               typeLidar,
	"sensor.camera.rgb":                   typeRGB,
	"sensor.camera.semantic_segmentation": typeSemantic,
	"sensor.camera.instance_segmentation": typeInstance,
	"sensor.other.snapshot":               typeWorld,
}

// EgoID is the ego's actor id in CARLA's frames: above all those of the scene's, since
// 0 is nobody there.
const EgoID = 1 << 16

// actorID returns an actor's id in CARLA's frames.
func actorID(id uint32) uint32 {
	if id == 0 {
		return EgoID
	}
	return id
}
