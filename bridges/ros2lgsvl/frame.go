package ros2lgsvl

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/raybridge/raybridge/bridges"
)

// Operations.
const (
	opAddSubscriber = 1
	opAddPublisher  = 2
	opPublish       = 3
)

// maxMessage is the size of the largest message that is published, bytes: its length, and
// those of its strings and arrays, are u32 on the wire.
const maxMessage = math.MaxUint32

// maxTopic is the length of the longest topic that is read, bytes. ROS 2 has names of 255
// at most.
const maxTopic = 4096

// appendText appends a length and a text.
func appendText(dst []byte, text string) []byte {
	return append(binary.LittleEndian.AppendUint32(dst, uint32(len(text))), text...)
}

// frameSize tells how long a frame of the server is, as far as its head says: the length of
// the message comes after the topic. The server sends op 3 alone.
func frameSize(head []byte) (int, error) {
	switch {
	case len(head) == 0:
		return 1, nil
	case head[0] != opPublish:
		return 0, fmt.Errorf("%w: operation %d where only %d is sent; is this ros2-lgsvl-bridge?", bridges.ErrProtocol, head[0], opPublish)
	case len(head) < 5:
		return 5, nil
	}
	topic := binary.LittleEndian.Uint32(head[1:])
	if topic > maxTopic {
		return 0, fmt.Errorf("%w: a topic of %d bytes", bridges.ErrProtocol, topic)
	}
	body := 5 + int(topic) + 4
	if len(head) < body {
		return body, nil
	}
	return body + int(binary.LittleEndian.Uint32(head[body-4:])), nil
}

// splitPublish returns the topic and the message of a whole frame. Both lie in it.
func splitPublish(frame []byte) (topic, body []byte) {
	n := 5 + int(binary.LittleEndian.Uint32(frame[1:]))
	return frame[5:n], frame[n+4:]
}
