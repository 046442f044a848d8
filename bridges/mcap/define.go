package mcap

import (
	"fmt"

	"github.com/foxglove/mcap/go/mcap"

	"github.com/raybridge/raybridge/bridges"
)

// Schemas and channels are written once, as they are added, outside of chunks. So each chunk
// can be understood without the others, where these are damaged and the summary is missing.

// recordedSchema is a schema of the file.
type recordedSchema struct {
	*mcap.Schema
	end int64 // where its record ends in the file; 0 if it isn't there yet
}

// recordedChannel is a channel of the file.
type recordedChannel struct {
	*mcap.Channel
	end   int64 // as recordedSchema's
	topic *bridges.PublishedTopic
}

// addChannel records a topic and returns the index to write its messages with.
func (r *recorder) addChannel(topic *bridges.PublishedTopic, f *format, metadata map[string]string) (int, error) {
	schema, err := r.addSchema(f.schema)
	if err != nil {
		return 0, err
	}
	c := &mcap.Channel{
		ID: uint16(len(r.channels) + 1), SchemaID: schema, Topic: topic.Name, MessageEncoding: f.schema.MessageEncoding, Metadata: metadata,
	}
	end, err := r.define(func() error { return r.w.WriteChannel(c) })
	if err != nil {
		return 0, fmt.Errorf("write channel of %q: %w", c.Topic, err)
	}
	r.channels = append(r.channels, recordedChannel{c, end, topic})
	r.pending = append(r.pending, tally{})
	return len(r.channels) - 1, nil
}

// addSchema returns the id of a schema of the file, which it writes if it isn't there.
func (r *recorder) addSchema(s Schema) (uint16, error) {
	for _, known := range r.schemas {
		if known.Name == s.Name && known.Encoding == s.Encoding && string(known.Data) == string(s.Data) {
			return known.ID, nil
		}
	}
	schema := &mcap.Schema{ID: uint16(len(r.schemas) + 1), Name: s.Name, Encoding: s.Encoding, Data: s.Data}
	end, err := r.define(func() error { return r.w.WriteSchema(schema) })
	if err != nil {
		return 0, fmt.Errorf("write schema of %s: %w", s.Name, err)
	}
	r.schemas = append(r.schemas, recordedSchema{schema, end})
	return schema.ID, nil
}

// define writes a definition ahead of the open chunk and returns where it ends. The library
// writes to the file itself while its options, which are ours too, say Chunked false.
func (r *recorder) define(write func() error) (end int64, err error) {
	r.opts.Chunked = false
	err = write()
	r.opts.Chunked = true
	if err == nil {
		err = r.file.Commit()
	}
	if err == nil && len(r.chunks) == 0 {
		r.headerEnd = r.file.Committed()
	}
	return r.file.Committed(), err
}
