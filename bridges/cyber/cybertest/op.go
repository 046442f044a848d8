package cybertest

import (
	"encoding/binary"
	"fmt"
)

// Numbers of the ops.
const (
	opRegister  = 1
	opAddReader = 2
	opAddWriter = 3
	opPublish   = 4
)

// op is one whole op of a client.
type op struct {
	code byte
	// files are op 1's, channel and body (the type or the message) the others'.
	files   [][]byte
	channel string
	body    []byte
}

// cutOp cuts the first op off what a client has sent. ok is false while it isn't whole;
// an error says that it is none.
func cutOp(data []byte) (o op, rest []byte, ok bool, err error) {
	if len(data) == 0 {
		return op{}, data, false, nil
	}
	o.code = data[0]
	rest = data[1:]
	switch o.code {
	case opRegister:
		if len(rest) < 4 {
			return op{}, data, false, nil
		}
		count := binary.LittleEndian.Uint32(rest)
		rest = rest[4:]
		for range count {
			var file []byte
			if file, rest, ok = cutField(rest); !ok {
				return op{}, data, false, nil
			}
			o.files = append(o.files, file)
		}
	case opAddReader, opAddWriter, opPublish:
		var channel []byte
		if channel, rest, ok = cutField(rest); !ok {
			return op{}, data, false, nil
		}
		if o.body, rest, ok = cutField(rest); !ok {
			return op{}, data, false, nil
		}
		o.channel = string(channel)
	default:
		return op{}, data, false, fmt.Errorf("unknown op %d", o.code)
	}
	return o, rest, true, nil
}

// cutField cuts a length and so many bytes off.
func cutField(data []byte) (field, rest []byte, ok bool) {
	if len(data) < 4 {
		return nil, data, false
	}
	n := uint64(binary.LittleEndian.Uint32(data))
	if uint64(len(data)-4) < n {
		return nil, data, false
	}
	return data[4 : 4+n], data[4+n:], true
}

// publishOp returns a message as it is sent to a client.
func publishOp(channel string, message []byte) []byte {
	b := make([]byte, 0, 9+len(channel)+len(message))
	b = append(b, opPublish)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(channel)))
	b = append(b, channel...)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(message)))
	return append(b, message...)
}
