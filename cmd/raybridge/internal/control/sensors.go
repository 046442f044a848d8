package control

import (
	"fmt"
	"math"
	"net/http"

	"github.com/raybridge/raybridge/internal/guard"
	"github.com/raybridge/raybridge/pipeline"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/simtime"
)

// sensorAnswer is a sensor. Outputs are the names of what is on its Topics, in their order. AttachedTo is the handle of the actor that it rides on, 0 for the
// ego. Live are the attributes that may change while it runs. Its Pose is in the frame Parent, and FOV is what it sees.
type sensorAnswer struct {
	Name       string         `json:"name"`
	Type       string         `json:"type"`
	Rate       string         `json:"rate,omitempty"`
	Topics     []string       `json:"topics"`
	Outputs    []string       `json:"outputs"`
	AttachedTo uint32         `json:"attached_to"`
	Live       map[string]any `json:"live"`
	Parent     string         `json:"parent"`
	Frame      string         `json:"frame"`
	Pose       poseRequest    `json:"pose"`
	FOV        *fieldOfView   `json:"fov,omitempty"`
	Attributes []attribute    `json:"attributes"`
}

// fieldOfView is what a sensor sees, in degrees and metres. A picture and a cone have a height, other sensors elevations.
type fieldOfView struct {
	Horizontal float64  `json:"horizontal"`
	Vertical   float64  `json:"vertical,omitempty"`
	Lower      *float64 `json:"lower,omitempty"`
	Upper      *float64 `json:"upper,omitempty"`
	Range      float64  `json:"range,omitempty"`
}

func viewOf(s *pipeline.Sensor) *fieldOfView {
	v, ok := s.FieldOfView()
	if !ok {
		return nil
	}
	f := &fieldOfView{Horizontal: v.Horizontal, Vertical: v.Vertical, Range: v.Range}
	if v.Vertical == 0 {
		f.Lower, f.Upper = &v.Lower, &v.Upper
	}
	return f
}

// attribute is a sensor's parameter with its value.
type attribute struct {
	Name    string   `json:"name"`
	Type    string   `json:"type"`
	Value   any      `json:"value"`
	Unit    string   `json:"unit,omitempty"`
	Min     *float64 `json:"min,omitempty"`
	Max     *float64 `json:"max,omitempty"`
	Choices []string `json:"choices,omitempty"`
	Live    bool     `json:"live"`
	Inert   string   `json:"inert,omitempty"`
	Doc     string   `json:"doc"`
}

func attributesOf(s *pipeline.Sensor) []attribute {
	list, values, live := []attribute{}, s.Values(), s.Live()
	for i := range s.Definition().Attributes {
		d := &s.Definition().Attributes[i]
		a := attribute{Name: d.Name, Type: d.Type.String(), Value: values[d.Name], Unit: d.Unit, Inert: d.Inert, Doc: d.Doc}
		_, a.Live = live[d.Name]
		if color, ok := a.Value.([3]uint8); ok {
			a.Value = fmt.Sprintf("#%02x%02x%02x", color[0], color[1], color[2])
		}
		if d.Min < d.Max {
			a.Min, a.Max = &d.Min, &d.Max
		}
		if d.Restricted {
			a.Choices = d.Recommended
		}
		list = append(list, a)
	}
	return list
}

type sensorList struct {
	Sensors []sensorAnswer `json:"sensors"`
}

func sensorOf(s *pipeline.Sensor) sensorAnswer {
	parent, frame, at := s.Mounting()
	answer := sensorAnswer{
		Name: s.Name(), Type: s.TypeID(), Topics: s.Topics(), AttachedTo: s.Owner(), Live: s.Live(),
		Parent: parent, Frame: frame, Pose: poseRequest(at), FOV: viewOf(s), Attributes: attributesOf(s),
	}
	if rate := s.Rate(); !rate.IsZero() {
		answer.Rate = rate.String()
	}
	answer.Outputs = []string{}
	for _, output := range s.Outputs() {
		answer.Outputs = append(answer.Outputs, output.Name)
	}
	if answer.Topics == nil {
		answer.Topics = []string{}
	}
	return answer
}

// sensors lists the run's sensors.
func (h *handler) sensors(http.ResponseWriter, *http.Request) (any, error) {
	list := sensorList{Sensors: []sensorAnswer{}}
	for _, s := range h.run.Pipeline.Sensors() {
		list.Sensors = append(list.Sensors, sensorOf(s))
	}
	return list, nil
}

// sensorRequest is a sensor that comes.
type sensorRequest struct {
	Type       string         `json:"type"`
	Name       string         `json:"name"`
	Parent     string         `json:"parent"`
	Pose       poseRequest    `json:"pose"`
	Rate       any            `json:"rate"`
	Attributes map[string]any `json:"attributes"`
	AttachTo   uint32         `json:"attach_to"`
}

// poseRequest is a sensors.Pose: where a sensor is in its parent's frame.
type poseRequest struct {
	X     float64 `json:"x"`
	Y     float64 `json:"y"`
	Z     float64 `json:"z"`
	Roll  float64 `json:"roll"`
	Pitch float64 `json:"pitch"`
	Yaw   float64 `json:"yaw"`
}

// maxSensors is how many sensors a run may have for the API to add another.
const maxSensors = 256

// farthest is how far a sensor may be mounted from its frame's origin, along each axis, in metres.
const farthest = 1e7

// addSensor adds a sensor to the run.
func (h *handler) addSensor(_ http.ResponseWriter, _ *http.Request, r sensorRequest) (any, error) {
	switch {
	case r.Type == "":
		return nil, missing("type")
	case r.Name == "":
		return nil, missing("name")
	case len(r.Name) > guard.NameBytes:
		return nil, refuse(http.StatusBadRequest, "name has %d bytes, the most is %d", len(r.Name), guard.NameBytes)
	case math.Max(math.Abs(r.Pose.X), math.Max(math.Abs(r.Pose.Y), math.Abs(r.Pose.Z))) > farthest:
		return nil, refuse(http.StatusBadRequest, "pose is beyond %v m", farthest)
	case len(h.run.Pipeline.Sensors()) >= maxSensors:
		return nil, refuse(http.StatusConflict, "the run has %d sensors, and no room for another: remove one", maxSensors)
	}
	c := sensors.Config{
		ID: r.Type, Name: r.Name, Parent: r.Parent, Pose: sensors.Pose(r.Pose), Attributes: r.Attributes, AttachTo: r.AttachTo, NoFiles: true,
	}
	rate, err := rateOf(r.Rate)
	if err == nil && rate != "" {
		c.Rate, err = simtime.ParseRate(rate)
	}
	if err != nil {
		return nil, err
	}
	added, err := h.run.Pipeline.AddSensor(c)
	if err != nil {
		return nil, fmt.Errorf("add sensor %s: %w", r.Name, err)
	}
	return sensorOf(added), nil
}

// endSensor ends a sensor, and answers when it is gone.
func (h *handler) endSensor(w http.ResponseWriter, r *http.Request, _ nothing) (any, error) {
	s, err := h.run.Pipeline.Sensor(r.PathValue("sensor"))
	if err != nil {
		return nil, err
	}
	defer noDeadline(w)()
	if err := s.Destroy(); err != nil {
		return nil, err
	}
	if err := s.Wait(r.Context()); err != nil {
		return nil, err
	}
	return timeOf(h.run.Clock), nil
}
