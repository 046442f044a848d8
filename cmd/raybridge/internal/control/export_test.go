package control

import (
	"maps"
	"net/http"
	"time"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/pipeline"
	"github.com/raybridge/raybridge/pipeline/carry"
	"github.com/raybridge/raybridge/weather"
)

// RestPictures looks at the cameras that a handler listens to, as it does when nobody has asked for a picture for long.
func RestPictures(h http.Handler) {
	p := &h.(*handler).pictures
	p.mu.Lock()
	list := maps.Clone(p.kept)
	for _, k := range list {
		k.asked = time.Time{}
	}
	p.mu.Unlock()
	for s, k := range list {
		p.rest(s, k)
	}
}

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
	"Status": RunStatus{}, "Stage": Stage{}, "Load": pipeline.Load{}, "Summary": pipeline.Summary{}, "Device": pipeline.GPUSummary{}, "World": pipeline.WorldSummary{}, "WeatherSummary": pipeline.WeatherSummary{}, "Weather": weather.State{}, "Wind": weather.Wind{}, "WeatherRequest": weather.Setting{},
	"ActorCounts": pipeline.WorldSummary{}.Actors, "TopicSummary": carry.SensorSummary{}, "BridgeSummary": carry.BridgeSummary{}, "ReceivedSummary": carry.ReceivedSummary{},
	"InputSummary": carry.InputSummary{}, "Endpoint": bridges.Endpoint{},
	"FieldOfView": fieldOfView{}, "Attribute": attribute{}, "SensorRequest": sensorRequest{}, "Pose": poseRequest{}, "Health": health{},
}

// TimeOf is a clock as the API tells it.
var TimeOf = timeOf
