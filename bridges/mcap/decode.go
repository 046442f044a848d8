package mcap

import (
	"fmt"
	"reflect"
	"strings"
	"sync"

	"github.com/foxglove/mcap/go/mcap"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/internal/cdr"
	"github.com/raybridge/raybridge/bridges/internal/ros1"
	"github.com/raybridge/raybridge/bridges/internal/rossample"
	"github.com/raybridge/raybridge/bridges/ros"
)

// decoder makes the sample of an encoded message, which it keeps no hold of.
type decoder func(data []byte) (bridges.Stamped, error)

// decoding is how the messages of a channel are read.
type decoding struct {
	decode decoder // nil where there is no sample
	// sample is the type of the samples; nil if unstated says that each message tells.
	sample   reflect.Type
	unstated bool
}

// readings are rossample's, by the messages' full names.
var readings = sync.OnceValue(func() map[string]rossample.Reading {
	byType := map[string]rossample.Reading{}
	for _, r := range rossample.Readings() {
		byType[r.Type] = r
	}
	return byType
})

// decoderOf says how a channel is read. Without a decoder the error tells why.
func decoderOf(schema *mcap.Schema, c *mcap.Channel) (decoding, error) {
	switch c.MessageEncoding {
	case "cdr":
		return rosDecoding(schema.Name, new(cdr.Decoder).Decode)
	case "ros1":
		if err := agrees(schema, c); err != nil {
			return decoding{}, err
		}
		return rosDecoding(strings.Replace(schema.Name, "/", "/msg/", 1), new(ros1.Decoder).Decode)
	case "protobuf":
		if d, ok := foxgloveDecodings[schema.Name]; ok {
			return d, nil
		}
	}
	return decoding{}, fmt.Errorf("%s, encoded as %q: %w", schema.Name, c.MessageEncoding, ErrUnknownType)
}

// rosDecoding reads a ROS message of a full name.
func rosDecoding(name string, decode func([]byte, ros.Message) error) (decoding, error) {
	r, ok := readings()[name]
	if !ok {
		return decoding{}, fmt.Errorf("%s: %w", name, ErrUnknownType)
	}
	return decoding{sample: r.Sample, unstated: r.Sample == nil, decode: func(data []byte) (bridges.Stamped, error) {
		m := r.New()
		if err := decode(data, m); err != nil {
			return nil, err
		}
		return r.From(m)
	}}, nil
}

// agrees returns an error if a ROS 1 channel says that its messages have other fields
// than ours of that name.
func agrees(schema *mcap.Schema, c *mcap.Channel) error {
	theirs, ok := c.Metadata["md5sum"]
	if !ok {
		return nil
	}
	ours, err := ros.MD5(schema.Name)
	if err == nil && ours != theirs {
		return fmt.Errorf("%s with md5 sum %s, where %s is known: %w", schema.Name, theirs, ours, ErrUnknownType)
	}
	return nil
}
