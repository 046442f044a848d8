// Package nuscenes reads and checks data sets of nuScenes' format, version 1.0, by its description and by what the devkit asserts and what
// it doesn't notice. It doesn't read the vector maps and the CAN bus.
package nuscenes

import (
	"io/fs"
	"slices"

	"github.com/raybridge/raybridge/cmd/raybridge/internal/dataset/check"
)

// tables are the 13 that a version's folder must have.
var tables = []string{
	"category", "attribute", "visibility", "sensor", "calibrated_sensor", "ego_pose", "log", "map", "scene", "sample", "sample_data", "instance",
	"sample_annotation",
}

// Ids of the rules.
const (
	ruleTable  = "structure.table"
	ruleLabels = "structure.labels"
	ruleSplits = "structure.splits"

	ruleJSON            = "record.json"
	ruleNumber          = "record.number"
	ruleField           = "record.field"
	ruleQuaternion      = "record.quaternion"
	ruleQuaternionOrder = "record.quaternion_order"
	ruleSize            = "record.size"
	ruleTime            = "record.time"
	ruleDate            = "record.date"
	ruleVisibility      = "record.visibility"
	ruleModality        = "record.modality"
	ruleIntrinsic       = "record.intrinsic"
	ruleAttribute       = "record.attribute"
	ruleCategory        = "record.category"
	ruleFileFormat      = "record.fileformat"

	ruleToken      = "reference.token"
	ruleKey        = "reference.key"
	ruleMap        = "reference.map"
	ruleChain      = "reference.chain"
	ruleOrder      = "reference.order"
	ruleCount      = "reference.count"
	ruleScene      = "reference.scene"
	ruleChannel    = "reference.channel"
	ruleLidarTop   = "reference.lidar_top"
	ruleKeyRate    = "reference.key_rate"
	ruleKeyTime    = "reference.key_time"
	rulePoseTime   = "reference.pose_time"
	ruleSweep      = "reference.sweep"
	ruleLabelToken = "reference.label"

	ruleFile       = "format.file"
	rulePicture    = "format.picture"
	ruleLidar      = "format.lidar"
	ruleRadar      = "format.radar"
	ruleRadarEnd   = "format.radar_end"
	ruleRadarState = "format.radar_state"
	ruleLidarseg   = "format.lidarseg"
	rulePanoptic   = "format.panoptic"
	ruleMapMask    = "format.map"

	ruleUpright       = "geometry.upright"
	ruleLidarAxes     = "geometry.lidar_axes"
	ruleCameraAxes    = "geometry.camera_axes"
	ruleDirection     = "geometry.direction"
	ruleMapPlace      = "geometry.map_place"
	ruleSizeOrder     = "geometry.size_order"
	ruleHeading       = "geometry.heading"
	ruleBoxCentre     = "geometry.box_centre"
	ruleLidarPose     = "geometry.lidar_pose"
	rulePointsInBox   = "geometry.points_in_box"
	ruleLidarPoints   = "geometry.lidar_points"
	ruleRadarPoints   = "geometry.radar_points"
	ruleRadarVelocity = "geometry.radar_velocity"
	ruleStatic        = "geometry.static"
	ruleSpeed         = "geometry.speed"
	ruleBoxOnPicture  = "geometry.box_on_picture"
	ruleCameraTime    = "geometry.camera_time"
	ruleLidarOnCamera = "geometry.lidar_on_camera"

	ruleSelf = "evaluation.self"
)

// Format is nuScenes. A set's name is that of its version's folder.
var Format = check.Format{Name: "nuscenes", Detect: detect, Open: open, Rules: []check.Rule{
	{ID: ruleTable, Severity: check.Error, Holds: "the version's folder has the 13 tables"},
	{ID: ruleLabels, Severity: check.Error, Holds: "the folders of lidarseg and panoptic have one file for each row"},
	{ID: ruleSplits, Severity: check.Error, Holds: "splits.json names scenes of the set, each in one split"},

	{ID: ruleJSON, Severity: check.Error, Holds: "a table is a list of objects in JSON"},
	{ID: ruleNumber, Severity: check.Error, Holds: "no number is NaN or infinite"},
	{ID: ruleField, Severity: check.Error, Holds: "a row has all fields, each of its type"},
	{ID: ruleQuaternion, Severity: check.Error, Holds: "a rotation's length is 1 within 1e-6"},
	{ID: ruleQuaternionOrder, Severity: check.Error, Holds: "a rotation is w, x, y, z"},
	{ID: ruleSize, Severity: check.Error, Holds: "a box's sizes are positive"},
	{ID: ruleTime, Severity: check.Error, Holds: "times are microseconds since 1970"},
	{ID: ruleDate, Severity: check.Error, Holds: "date_captured is YYYY-MM-DD"},
	{ID: ruleVisibility, Severity: check.Error, Holds: "visibility has the tokens 1 to 4 with their levels"},
	{ID: ruleModality, Severity: check.Error, Holds: "a sensor is a camera, a lidar or a radar, as its channel says"},
	{ID: ruleIntrinsic, Severity: check.Error, Holds: "cameras have a camera_intrinsic of a pinhole in pixels, others have none"},
	{ID: ruleAttribute, Severity: check.Error, Holds: "a box has one attribute at most, one of its category"},
	{ID: ruleCategory, Severity: check.Error, Holds: "with lidarseg or panoptic, categories have the released names and indices"},
	{ID: ruleFileFormat, Severity: check.Error, Holds: "fileformat and the file's ending are those of the sensor"},

	{ID: ruleToken, Severity: check.Error, Holds: "tokens are unique in their table"},
	{ID: ruleKey, Severity: check.Error, Holds: "a token of another row leads to one"},
	{ID: ruleMap, Severity: check.Error, Holds: "a row of map lists each log"},
	{ID: ruleChain, Severity: check.Error, Holds: "prev and next are symmetric, with one start and one end in each scene, channel or instance"},
	{ID: ruleOrder, Severity: check.Error, Holds: "times rise from each row to its next"},
	{ID: ruleCount, Severity: check.Error, Holds: "nbr_samples, nbr_annotations and the first and last tokens are those of the chains"},
	{ID: ruleScene, Severity: check.Error, Holds: "an instance is in one scene, and once in a sample"},
	{ID: ruleChannel, Severity: check.Error, Holds: "each sample has one key frame of each channel of its scene"},
	{ID: ruleLidarTop, Severity: check.Warning, Holds: "each sample has LIDAR_TOP, which evaluations ask for"},
	{ID: ruleKeyRate, Severity: check.Warning, Holds: "samples are at most 1.5 s apart"},
	{ID: ruleKeyTime, Severity: check.Error, Holds: "a key frame is within half its sensor's period of its sample, a lidar's at its very time"},
	{ID: rulePoseTime, Severity: check.Error, Holds: "an ego_pose has the time of its sample_data"},
	{ID: ruleSweep, Severity: check.Error, Holds: "a sweep belongs to the sample that follows it"},
	{ID: ruleLabelToken, Severity: check.Error, Holds: "labels of points have the token of a lidar's key frame"},

	{ID: ruleFile, Severity: check.Error, Holds: "the files of all rows exist within the set"},
	{ID: rulePicture, Severity: check.Error, Holds: "a picture is a whole JPEG of its row's width and height"},
	{ID: ruleLidar, Severity: check.Error, Holds: "a cloud has 20 bytes a point: finite x, y, z, an intensity from 0 to 255, a whole ring"},
	{ID: ruleRadar, Severity: check.Error, Holds: "a radar's file has the header that the devkit reads, and its points"},
	{ID: ruleRadarEnd, Severity: check.Error, Holds: "a byte follows a radar's last point"},
	{ID: ruleRadarState, Severity: check.Error, Holds: "radars have returns whose states readers keep: invalid_state 0, ambig_state 3, dyn_prop 0 to 6"},
	{ID: ruleLidarseg, Severity: check.Error, Holds: "lidarseg has a byte a point, each the index of a category"},
	{ID: rulePanoptic, Severity: check.Error, Holds: "panoptic has an uint16 a point: 1000 times the index, and the instance"},
	{ID: ruleMapMask, Severity: check.Error, Holds: "a map's picture is an 8-bit grey PNG of 0 and 255"},

	{ID: ruleUpright, Severity: check.Error, Holds: "the ego, boxes, lidars and radars stand upright"},
	{ID: ruleLidarAxes, Severity: check.Error, Holds: "LIDAR_TOP's x points to the right"},
	{ID: ruleCameraAxes, Severity: check.Error, Holds: "a camera's x points right, its y down"},
	{ID: ruleDirection, Severity: check.Error, Holds: "cameras and radars look where their channel says"},
	{ID: ruleMapPlace, Severity: check.Error, Holds: "the ego drives within the map's picture, where it is drivable"},
	{ID: ruleSizeOrder, Severity: check.Error, Holds: "size is width, length, height"},
	{ID: ruleHeading, Severity: check.Error, Holds: "boxes of vehicles point where these drive"},
	{ID: ruleBoxCentre, Severity: check.Error, Holds: "translation is the middle of a box"},
	{ID: ruleLidarPose, Severity: check.Error, Holds: "a lidar's points, calibration and ego pose put objects where their boxes are"},
	{ID: rulePointsInBox, Severity: check.Error, Holds: "boxes hold the points of their category that lie around them"},
	{ID: ruleLidarPoints, Severity: check.Error, Holds: "num_lidar_pts is the number of lidar points in a box"},
	{ID: ruleRadarPoints, Severity: check.Error, Holds: "num_radar_pts is the number of radar returns in a box"},
	{ID: ruleRadarVelocity, Severity: check.Warning, Holds: "radar returns in moving boxes have these boxes' velocity"},
	{ID: ruleStatic, Severity: check.Error, Holds: "what is parked or can't move stays where it is"},
	{ID: ruleSpeed, Severity: check.Warning, Holds: "nothing moves faster than 100 m/s"},
	{ID: ruleCameraTime, Severity: check.Error, Holds: "a picture shows what was there at its time"},
	{ID: ruleBoxOnPicture, Severity: check.Error, Holds: "boxes, projected, hold the pixels that show their objects"},
	{ID: ruleLidarOnCamera, Severity: check.Error, Holds: "the lidar points of an object land within its bounds in the picture, within a pixel"},

	{ID: ruleSelf, Severity: check.Error, Holds: "the labels, taken for detections, have AP 1 and no errors"},
}}

// detect returns the folders that have tables: three tell a damaged set from another folder with JSON.
func detect(root fs.FS) (versions []string) {
	entries, _ := fs.ReadDir(root, ".") // a folder that can't be read has none
	for _, e := range entries {
		n := 0
		for _, table := range tables {
			if exists(root, e.Name()+"/"+table+".json") {
				n++
			}
		}
		if n >= 3 {
			versions = append(versions, e.Name())
		}
	}
	slices.Sort(versions)
	return versions
}
