package control

// Routes are the API's, as METHOD /path.
func Routes() []string {
	var list []string
	for _, r := range (&handler{}).routes() {
		list = append(list, r.method+" "+r.path)
	}
	return list
}

// Schemas are a value of each type that requests and answers have, by its name in
// openapi.yaml.
var Schemas = map[string]any{
	"Error": failure{},
	"Time":  Time{}, "Instant": instant{}, "TimeRequest": timeRequest{}, "SourceRequest": sourceRequest{}, "ScaleRequest": scaleRequest{},
	"TuneRequest": tuneRequest{}, "ResetRequest": resetRequest{}, "StepRequest": stepRequest{}, "Spawn": spawnRequest{}, "Move": moveRequest{}, "State": state{}, "Signal": signal{},
	"StepAnswer": stepAnswer{}, "Delivery": delivery{}, "Model": modelAnswer{}, "Joint": jointAnswer{}, "ModelList": modelList{}, "SpawnPoint": placeAnswer{}, "SpawnPointList": placeList{}, "Actor": actorAnswer{},
	"ActorList": actorList{}, "DriveRequest": driveRequest{}, "Sensor": sensorAnswer{}, "SensorList": sensorList{},
	"SensorRequest": sensorRequest{}, "Pose": poseRequest{}, "Health": health{},
}
