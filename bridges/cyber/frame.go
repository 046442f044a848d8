package cyber

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/internal/apollo"
)

// Numbers of the ops.
const (
	opRegister  = 1
	opAddReader = 2
	opAddWriter = 3
	opPublish   = 4
)

// frameLimit is the size of the largest op that is read, bytes.
const frameLimit = 64 << 20

// maxMessage is the size of the largest message that is published, bytes: protobuf, which
// Cyber RT reads it with, has no larger ones (protobuf.dev, "Proto Limits"). The op could
// carry twice as much.
const maxMessage = math.MaxInt32

// lengthBytes is the size of a length: u32, little endian.
const lengthBytes = 4

func appendField[B []byte | string](dst []byte, field B) []byte {
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(field)))
	return append(dst, field...)
}

// writerFrame registers descriptors and adds a writer of the type, as one write.
func writerFrame(channel, typ string, files [][]byte) []byte {
	b := binary.LittleEndian.AppendUint32([]byte{opRegister}, uint32(len(files)))
	for _, file := range files {
		b = appendField(b, file)
	}
	b = append(b, opAddWriter)
	return appendField(appendField(b, channel), typ)
}

// readerFrame adds a reader.
func readerFrame(channel, typ string) []byte {
	return appendField(appendField([]byte{opAddReader}, channel), typ)
}

// appendMessage appends the op that publishes a message.
func appendMessage(dst []byte, channel string, m apollo.Message) ([]byte, error) {
	dst = slices.Grow(dst, messageRoom(channel, m))
	dst = appendField(append(dst, opPublish), channel)
	at := len(dst) + lengthBytes
	dst, err := m.Append(append(dst, make([]byte, lengthBytes)...))
	if err != nil {
		return dst, fmt.Errorf("%w: %w", bridges.ErrConvert, err)
	}
	binary.LittleEndian.PutUint32(dst[at-lengthBytes:], uint32(len(dst)-at))
	return dst, nil
}

// checkSize returns an error that wraps bridges.ErrTooLarge for a message above the limit.
// It takes no memory for the message.
func checkSize(m apollo.Message, limit int64) error {
	if int64(m.Room()) <= limit { // it is at least the size, and known at once
		return nil
	}
	return bridges.CheckSize(int64(m.Size()), limit)
}

// messageRoom is at least the size of the op that publishes a message.
func messageRoom(channel string, m apollo.Message) int {
	return 1 + lengthBytes + len(channel) + lengthBytes + m.Room()
}

// frameSize returns the size of an op that a server sends and that begins with head, as
// far as head tells (transport.TCP's Size). Servers send messages alone.
func frameSize(head []byte) (int, error) {
	const channelAt = 1 + lengthBytes
	if len(head) > 0 && head[0] != opPublish {
		return 0, fmt.Errorf("%w: op %d from the server, where cyber_bridge sends %d alone: does another kind of bridge listen there?",
			bridges.ErrProtocol, head[0], opPublish)
	}
	if len(head) < channelAt {
		return channelAt, nil
	}
	channel := binary.LittleEndian.Uint32(head[1:])
	if channel > frameLimit {
		return 0, tooLarge(channel)
	}
	messageAt := channelAt + int(channel) + lengthBytes
	if len(head) < messageAt {
		return messageAt, nil
	}
	message := binary.LittleEndian.Uint32(head[messageAt-lengthBytes:])
	if message > frameLimit {
		return 0, tooLarge(message)
	}
	return messageAt + int(message), nil
}

func tooLarge(length uint32) error {
	return fmt.Errorf("%w: %w: a length of %d, the limit is %d bytes", bridges.ErrProtocol, bridges.ErrTooLarge, length, frameLimit)
}

// splitFrame returns the channel and the message of an op of frameSize bytes.
func splitFrame(frame []byte) (channel, message []byte) {
	rest := frame[1:]
	n := binary.LittleEndian.Uint32(rest)
	return rest[lengthBytes : lengthBytes+n], rest[2*lengthBytes+n:]
}
