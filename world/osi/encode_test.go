package osi

import (
	"encoding/binary"
	"math"

	"google.golang.org/protobuf/encoding/protowire"
)

// message is a protobuf message that is being written.
type message []byte

func (m message) number(field protowire.Number, n uint64) message {
	return protowire.AppendVarint(protowire.AppendTag(m, field, protowire.VarintType), n)
}

func (m message) put(field protowire.Number, in message) message {
	return protowire.AppendBytes(protowire.AppendTag(m, field, protowire.BytesType), in)
}

func (m message) vector(field protowire.Number, values ...float64) message {
	var in message
	for i, v := range values {
		in = protowire.AppendFixed64(protowire.AppendTag(in, protowire.Number(i+1), protowire.Fixed64Type), math.Float64bits(v))
	}
	return m.put(field, in)
}

func (m message) id(field protowire.Number, id uint64) message {
	return m.put(field, message{}.number(1, id))
}

// times writes a Timestamp.
func (m message) times(field protowire.Number, at int64) message {
	return m.put(field, message{}.number(1, uint64(at/1e9)).number(2, uint64(at%1e9)))
}

// base writes a BaseMoving or BaseStationary of a car's size.
func base(x, y, z, yaw float64) message {
	return message{}.vector(1, 4, 1.8, 1.5).vector(2, x, y, z).vector(3, 0, 0, yaw)
}

// car writes a MovingObject: a car of medium size.
func car(id uint64, of message) message {
	return message{}.id(1, id).put(2, of).number(3, kindVehicle).put(6, message{}.number(1, 4))
}

// truthAt begins a GroundTruth.
func truthAt(at int64) message {
	return message{}.put(1, message{}.number(1, 3).number(2, 7).number(3, 0)).times(2, at)
}

// viewOf writes a SensorView of a GroundTruth.
func viewOf(truth message, at int64, host uint64) message {
	return message{}.put(1, message{}.number(1, 3)).times(2, at).id(3, 77).put(7, truth).id(8, host)
}

// framed writes messages as a trace has them.
func framed(messages ...message) []byte {
	var file []byte
	for _, m := range messages {
		file = append(binary.LittleEndian.AppendUint32(file, uint32(len(m))), m...)
	}
	return file
}

// datagrams cuts a message as esmini does.
func datagrams(m message, size int) (list [][]byte) {
	for counter := int32(1); ; counter++ {
		n := min(len(m), size)
		signed := counter
		if n == len(m) {
			signed = -counter
		}
		head := binary.LittleEndian.AppendUint32(nil, uint32(signed))
		list = append(list, append(binary.LittleEndian.AppendUint32(head, uint32(n)), m[:n]...))
		if m = m[n:]; len(m) == 0 {
			return list
		}
	}
}
