package motion

import (
	"math"

	"github.com/go-gl/mathgl/mgl64"

	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/simtime"
)

// Comfort describes sensor.other.comfort, which tells of a rough ride, as SVL's Comfort sensor
// does. It publishes where the vehicle goes beyond one of its limits; 0 sets none. Lengths of
// vectors count. The vehicle's origin is where it measures; its mount changes only the
// header's pose.
//
// Accelerations are exact where the vehicle's motion knows them. Jerk, braking and the rate of
// steering are differences over the sensor's period. A vehicle that a world moves has one
// acceleration a step, and so its jerk where a step ends.
type Comfort struct {
	MaxAcceleration        *float64 `attribute:"max_acceleration" unit:"m/s²" default:"900" max:"1e6" doc:"greatest acceleration that is comfortable"`
	MaxJerk                *float64 `attribute:"max_jerk" unit:"m/s³" default:"600" max:"1e6" doc:"greatest jerk, the change of acceleration"`
	MaxBraking             float64  `attribute:"max_braking" unit:"m/s²" max:"1e6" doc:"fastest loss of speed"`
	MaxSteeringRate        float64  `attribute:"max_steering_rate" unit:"deg/s" max:"1e6" doc:"fastest turn of the front wheels"`
	MaxAngularVelocity     float64  `attribute:"max_angular_velocity" unit:"deg/s" max:"1e6" doc:"fastest turn of the vehicle"`
	MaxAngularAcceleration float64  `attribute:"max_angular_acceleration" unit:"deg/s²" max:"1e6" doc:"fastest change of that"`
	MaxRoll                float64  `attribute:"max_roll" unit:"deg" max:"180" doc:"greatest roll to either side"`
	MaxSlip                float64  `attribute:"max_slip" unit:"deg" max:"180" doc:"greatest angle between the vehicle's direction of motion and its heading"`
	MinSlipSpeed           float64  `attribute:"min_slip_speed" unit:"m/s" max:"1e3" doc:"speed up to which slip doesn't count"`
	EventInterval          *float64 `attribute:"event_interval" unit:"s" default:"3" max:"1e6" doc:"time from one message to the next at least"`
	Every                  bool     `attribute:"every" doc:"publish at every firing, whatever the limits and the interval"`
}

// ComfortDefinition describes sensor.other.comfort.
var ComfortDefinition = sensors.Define(sensors.Definition{
	ID:     "sensor.other.comfort",
	Number: 51,
	Doc:    "how a ride feels: tells when acceleration, jerk, turning, roll or slip are beyond a limit",
	Tags:   []string{"vehicle", "motion"},
	Outputs: sensors.OneOutput[sample.Comfort](sensors.OutputSpec{
		Name: "comfort", Doc: "the figures beyond a limit; nothing is sent while there are none",
	}),
	Rate: simtime.Hz(100),
}, func(spec sensors.Spec, o Comfort) (sensors.Sensor, error) {
	return &comfort{Reading: sensors.Reading[sample.Comfort]{Spec: spec}, limits: o, told: math.MinInt64}, nil
})

type comfort struct {
	sensors.Reading[sample.Comfort]
	limits Comfort
	told   simtime.Stamp // the last message's
}

// Tick publishes what is felt at the due instant, if that is beyond a limit.
func (s *comfort) Tick(at sensors.Tick) error {
	now, ok := s.Env.History.State(s.Env.Owner, at.Due)
	before, known := s.Env.History.State(s.Env.Owner, at.Due-simtime.Stamp(at.PeriodNs))
	if !ok {
		return nil
	}
	if !known || at.PeriodNs <= 0 {
		before = now
	}
	seconds := math.Max(float64(at.PeriodNs), 1) / 1e9
	toVehicle := now.Pose.Orientation.Conjugate()
	roll, _, _ := now.Pose.RPY()
	m := &s.Message
	*m = sample.Comfort{
		Header:          at.Header(s.Spec.FrameID, now.Pose.Compose(s.Spec.Mount)),
		Velocity:        toVehicle.Rotate(now.Twist.Linear),
		Acceleration:    toVehicle.Rotate(now.Acceleration),
		Jerk:            toVehicle.Rotate(now.Acceleration.Sub(before.Acceleration)).Mul(1 / seconds),
		AngularVelocity: now.Twist.Angular.Len(), AngularAcceleration: now.AngularAcceleration.Len(),
		Roll: mgl64.DegToRad(roll),
	}
	if m.Velocity.Len() > 0 {
		m.Slip = math.Atan2(math.Hypot(m.Velocity[1], m.Velocity[2]), m.Velocity[0])
	}
	braking := (before.Twist.Linear.Len() - now.Twist.Linear.Len()) / seconds
	if s.limits.Every || s.rough(m, braking, s.steeringRate(at, seconds)) && s.due(at.Due) {
		s.told = at.Due
		s.Publish(at)
	}
	return nil
}

// steeringRate returns how fast the front wheels turn, radians a second.
func (s *comfort) steeringRate(at sensors.Tick, seconds float64) float64 {
	now, _ := s.Env.History.Controls(s.Env.Owner, scene.Vehicle{}, at.Due)
	before, known := s.Env.History.Controls(s.Env.Owner, scene.Vehicle{}, at.Due-simtime.Stamp(at.PeriodNs))
	if !known {
		return 0
	}
	return math.Abs(now.Steering-before.Steering) / seconds
}

// due reports whether the interval since the last message is over. A clock that was set back
// begins a new one.
func (s *comfort) due(now simtime.Stamp) bool {
	return s.told == math.MinInt64 || now < s.told || float64(now-s.told) >= *s.limits.EventInterval*1e9
}

// rough reports whether one of the figures is beyond its limit.
func (s *comfort) rough(m *sample.Comfort, braking, steeringRate float64) bool {
	l, degrees := &s.limits, mgl64.RadToDeg
	beyond := func(value, limit float64) bool { return limit > 0 && value > limit }
	return beyond(m.Acceleration.Len(), *l.MaxAcceleration) || beyond(m.Jerk.Len(), *l.MaxJerk) ||
		beyond(braking, l.MaxBraking) || beyond(degrees(steeringRate), l.MaxSteeringRate) ||
		beyond(degrees(m.AngularVelocity), l.MaxAngularVelocity) || beyond(degrees(m.AngularAcceleration), l.MaxAngularAcceleration) ||
		beyond(degrees(math.Abs(m.Roll)), l.MaxRoll) ||
		m.Velocity.Len() > l.MinSlipSpeed && beyond(degrees(m.Slip), l.MaxSlip)
}
