package main

import (
	"bytes"
	"encoding/binary"
	"os"
	"testing"

	"github.com/foxglove/mcap/go/mcap"
	"github.com/stretchr/testify/require"
)

// recorded is one message of a recording, with the standard header of its CDR.
type recorded struct {
	topic, schema           string
	logTime, publishTime    int64
	stamp                   int64 // of the header, or of the clock
	frame                   string
	body                    cdr // behind the header
	sequence                uint32
	schemaEncoding, content string
}

// readRecording reads a file with the official reader, in the file's order.
func readRecording(t *testing.T, path string) []recorded {
	t.Helper()
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	reader, err := mcap.NewReader(bytes.NewReader(data))
	require.NoError(t, err)
	defer reader.Close()
	info, err := reader.Info()
	require.NoError(t, err, "the recording has no summary")
	require.Equal(t, "ros2", info.Header.Profile)
	messages, err := reader.Messages(mcap.UsingIndex(true), mcap.InOrder(mcap.FileOrder))
	require.NoError(t, err)
	var list []recorded
	require.NoError(t, mcap.Range(messages, func(s *mcap.Schema, c *mcap.Channel, m *mcap.Message) error {
		r := recorded{
			topic: c.Topic, schema: s.Name, logTime: int64(m.LogTime), publishTime: int64(m.PublishTime), sequence: m.Sequence,
			schemaEncoding: s.Encoding, content: string(m.Data),
		}
		r.body = cdr{t: t, data: bytes.Clone(m.Data)[4:]} // behind the encapsulation
		if s.Name == "tf2_msgs/msg/TFMessage" {
			r.body.u32() // the first transform's header stands for all
		}
		r.stamp = int64(int32(r.body.u32()))*1e9 + int64(r.body.u32())
		if s.Name != "rosgraph_msgs/msg/Clock" {
			r.frame = r.body.text()
		}
		list = append(list, r)
		return nil
	}))
	require.EqualValues(t, info.Statistics.MessageCount, len(list))
	return list
}

// byTopic groups messages.
func byTopic(list []recorded) map[string][]recorded {
	topics := map[string][]recorded{}
	for _, r := range list {
		topics[r.topic] = append(topics[r.topic], r)
	}
	return topics
}

// cdr reads little-endian CDR, version 1 (OMG CORBA 3.0 section 15.3): values are
// aligned to their size.
type cdr struct {
	t    *testing.T
	data []byte
	at   int
}

func (c *cdr) take(n, align int) []byte {
	c.t.Helper()
	c.at = (c.at + align - 1) / align * align
	require.LessOrEqual(c.t, c.at+n, len(c.data), "the message ends early")
	c.at += n
	return c.data[c.at-n : c.at]
}

func (c *cdr) u8() uint8   { return c.take(1, 1)[0] }
func (c *cdr) u32() uint32 { return binary.LittleEndian.Uint32(c.take(4, 4)) }

// text reads a string, which ends with a zero.
func (c *cdr) text() string {
	n := int(c.u32())
	return string(c.take(n, 1)[:n-1])
}

// bytes reads a sequence of bytes.
func (c *cdr) bytes() []byte { return c.take(int(c.u32()), 1) }

// rawImage is a sensor_msgs/Image behind its header.
type rawImage struct {
	height, width int
	encoding      string
	step          int
	data          []byte
}

func (r *recorded) image() rawImage {
	c := r.body
	m := rawImage{height: int(c.u32()), width: int(c.u32()), encoding: c.text()}
	c.u8() // is_bigendian
	m.step, m.data = int(c.u32()), c.bytes()
	return m
}

// pixel returns a pixel's bytes, of the given number.
func (m *rawImage) pixel(u, v, size int) []byte {
	at := v*m.step + u*size
	return m.data[at : at+size]
}

// compressedImage is a sensor_msgs/CompressedImage behind its header.
func (r *recorded) compressedImage() (format string, data []byte) {
	c := r.body
	return c.text(), c.bytes()
}
