package apollo

import (
	"strconv"

	"github.com/raybridge/raybridge/bridges/internal/apollo/apollopb"
	"github.com/raybridge/raybridge/sensors/sample"
)

// colors are Apollo's names of what a traffic light shows.
var colors = map[sample.SignalState]apollopb.TrafficLight_Color{
	sample.SignalRed:     apollopb.TrafficLight_RED,
	sample.SignalYellow:  apollopb.TrafficLight_YELLOW,
	sample.SignalGreen:   apollopb.TrafficLight_GREEN,
	sample.SignalOff:     apollopb.TrafficLight_BLACK,
	sample.SignalUnknown: apollopb.TrafficLight_UNKNOWN,
}

// trafficLights names each light by its number in the scene.
func trafficLights(dst *apollopb.TrafficLightDetection, src *sample.Signals, _ *Map) error {
	h, err := setHeader(&dst.Header, &src.Header)
	if err != nil {
		return err
	}
	set(&h.ModuleName, "traffic_light")
	set(&h.CameraTimestamp, uint64(src.StampNs))
	set(&dst.ContainLights, len(src.Signals) > 0)
	resize(&dst.TrafficLight, len(src.Signals))
	for i := range src.Signals {
		light, d := &src.Signals[i], dst.TrafficLight[i]
		set(&d.Color, colors[light.State])
		setNumber(&d.Id, light.ID)
		set(&d.Confidence, float64(light.Score))
	}
	return nil
}

// setNumber sets a field to a number as text, if it isn't that already.
func setNumber(field **string, number uint32) {
	var digits [10]byte
	text := strconv.AppendUint(digits[:0], uint64(number), 10)
	if *field == nil || **field != string(text) {
		set(field, string(text))
	}
}
