package mcap

import (
	"fmt"

	"github.com/foxglove/mcap/go/mcap"

	"github.com/raybridge/raybridge/bridges"
)

// Schemas and channels are written as they are added, and again before a channel's first
// message in each later chunk: so each chunk can be understood without the others, where
// these are damaged and there is no summary. Repeated records are equal (MCAP specification,
// "Schema" and "Channel").

// recordedSchema is a schema of the file.
type recordedSchema struct {
	*mcap.Schema
	written
}

// recordedChannel is a channel of the file.
type recordedChannel struct {
	*mcap.Channel
	written
	topic *bridges.PublishedTopic
}

// written tells the first and the last chunk that a definition is in.
type written struct{ first, last int }

// never is of a definition that isn't in the file yet.
var never = written{-1, -1}

// in notes that the definition is written into a chunk; it returns false if it is there
// already.
func (w *written) in(chunk int) bool {
	if w.last == chunk {
		return false
	}
	if w.last = chunk; w.first < 0 {
		w.first = chunk
	}
	return true
}

// before reports whether the definition is in one of the chunks before the given one.
func (w *written) before(chunk int) bool { return w.first >= 0 && w.first < chunk }

// addChannel records a topic and returns the index to write its messages with.
func (r *recorder) addChannel(topic *bridges.PublishedTopic, f *format, metadata map[string]string) (int, error) {
	r.channels = append(r.channels, recordedChannel{written: never, topic: topic, Channel: &mcap.Channel{
		ID: uint16(len(r.channels) + 1), SchemaID: r.schemaID(f.schema),
		Topic: topic.Name, MessageEncoding: f.schema.MessageEncoding, Metadata: metadata,
	}})
	r.pending = append(r.pending, tally{})
	index := len(r.channels) - 1
	return index, r.define(&r.channels[index])
}

// schemaID returns the id of a schema of the file.
func (r *recorder) schemaID(s Schema) uint16 {
	for _, known := range r.schemas {
		if known.Name == s.Name && known.Encoding == s.Encoding && string(known.Data) == string(s.Data) {
			return known.ID
		}
	}
	id := uint16(len(r.schemas) + 1)
	r.schemas = append(r.schemas, recordedSchema{
		written: never, Schema: &mcap.Schema{ID: id, Name: s.Name, Encoding: s.Encoding, Data: s.Data},
	})
	return id
}

// define writes a channel and, before it, its schema into the open chunk, unless they are
// in it. They don't count towards its size.
func (r *recorder) define(c *recordedChannel) error {
	open := len(r.chunks)
	if schema := &r.schemas[c.SchemaID-1]; schema.in(open) {
		if err := r.w.WriteSchema(schema.Schema); err != nil {
			return fmt.Errorf("write schema of %s: %w", schema.Name, err)
		}
		r.defined += schemaSize(schema.Schema)
	}
	if c.in(open) {
		if err := r.w.WriteChannel(c.Channel); err != nil {
			return fmt.Errorf("write channel of %q: %w", c.Topic, err)
		}
		r.defined += channelSize(c.Channel)
	}
	return nil
}

// schemaSize is how many bytes a Schema record takes (MCAP specification, "Schema").
func schemaSize(s *mcap.Schema) int64 {
	return int64(recordHeader + 2 + 4 + len(s.Name) + 4 + len(s.Encoding) + 4 + len(s.Data))
}

// channelSize is how many bytes a Channel record takes (MCAP specification, "Channel").
func channelSize(c *mcap.Channel) int64 {
	n := recordHeader + 2 + 2 + 4 + len(c.Topic) + 4 + len(c.MessageEncoding) + 4
	for key, value := range c.Metadata {
		n += 4 + len(key) + 4 + len(value)
	}
	return int64(n)
}
