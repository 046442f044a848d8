package carla

import (
	"encoding/binary"
	"math"

	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/spatial/axes"
)

// Sizes of a world snapshot's parts, bytes (LibCarla's EpisodeStateSerializer and
// ActorDynamicState, both packed).
const (
	episodeBytes = 36
	stateBytes   = 119
	unionBytes   = 54
)

// actorActive is rpc::ActorState::Active.
const actorActive = 1

func snapshotBytes(m *sample.Snapshot) int { return episodeBytes + stateBytes*len(m.Actors) }

// appendSnapshot appends the episode's state: its id, the platform's seconds (the
// simulation's stand for them), the seconds since the frame before, the map's origin
// in integers, flags; then each actor.
func appendSnapshot(dst []byte, m *sample.Snapshot) []byte {
	dst = binary.LittleEndian.AppendUint64(dst, episodeID)
	dst = binary.LittleEndian.AppendUint64(dst, math.Float64bits(seconds(m.StampNs)))
	dst = appendF32(dst, seconds(m.DeltaNs))
	dst = append(dst, make([]byte, 16)...)
	for i := range m.Actors {
		dst = appendActorState(dst, &m.Actors[i])
	}
	return dst
}

// episodeID is the only episode there is.
const episodeID = 1

func appendActorState(dst []byte, a *sample.ActorState) []byte {
	dst = binary.LittleEndian.AppendUint32(dst, actorID(a.ID))
	dst = append(dst, actorActive)
	dst = appendTransform(dst, a.Pose)
	dst = appendVec(dst, axes.Unreal.Out(a.Twist.Linear))
	dst = appendVec(dst, axes.Degrees(axes.Unreal.OutAxial(a.Twist.Angular)))
	dst = appendVec(dst, axes.Unreal.Out(a.Acceleration))
	var kind [unionBytes]byte
	putKind(&kind, a)
	return append(dst, kind[:]...)
}

// putKind fills in the part of the state that depends on the kind of the actor.
func putKind(dst *[unionBytes]byte, a *sample.ActorState) {
	switch a.Kind {
	case sample.KindVehicle:
		putVehicle(dst, a)
	case sample.KindWalker:
		// direction, speed, jump
		v := axes.Unreal.Out(a.Twist.Linear)
		speed := v.Len()
		if speed > 0 {
			v = v.Mul(1 / speed)
		}
		putF32(dst[:], float32(v[0]), float32(v[1]), float32(v[2]), float32(speed))
	case sample.KindTrafficLight:
		// 32 characters of the sign's id; green, yellow, red, elapsed; pole; frozen; state
		putF32(dst[32:], a.Green, a.Yellow, a.Red, a.SignalElapsed)
		dst[53] = byte(a.Signal)
	}
}

func putF32(dst []byte, values ...float32) {
	for i, v := range values {
		binary.LittleEndian.PutUint32(dst[4*i:], math.Float32bits(v))
	}
}

// putVehicle writes throttle, steer, brake; hand brake, reverse, manual shift; gear;
// speed limit; light state; whether it has a light and which; failure state. Which light
// is a vehicle's isn't known: it is green then in CARLA.
func putVehicle(dst *[unionBytes]byte, a *sample.ActorState) {
	putF32(dst[:], a.Throttle, a.Steering, a.Braking)
	if a.Reverse {
		dst[13] = 1
	}
	binary.LittleEndian.PutUint32(dst[15:], uint32(a.Gear))
	dst[23] = byte(sample.SignalGreen)
}
