package logging

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/internal/rosjson"
	"github.com/raybridge/raybridge/bridges/ros"
)

// Factory is the bridge named "logging".
type Factory struct{}

// Info describes the bridge.
func (Factory) Info() bridges.Info {
	return bridges.Info{
		Name: "logging", Type: "logging", Kind: bridges.KindFile,
		Summary:    "writes every message as a line of JSON to NAME.txt.gz",
		Connection: "NAME",
	}
}

// Register declares every sample under SVL's name for it.
func (Factory) Register(p *bridges.Plugin) error {
	var errs []error
	for _, k := range kinds {
		errs = append(errs, k.register(p))
	}
	return errors.Join(errs...)
}

// NewInstance returns a log of one run.
func (Factory) NewInstance(env bridges.Env) (bridges.Instance, error) { return newInstance(env), nil }

// RegPublisher lets the bridge log messages of a type of one's own. encode
// appends msg to dst as JSON, without line breaks, and returns the result; it is
// called from any goroutine and keeps no hold of msg.
func RegPublisher[T any](p *bridges.Plugin, typeName string, encode func(dst []byte, msg T) ([]byte, error)) error {
	return register(p, typeName, func(o *object, _ *bridges.PublishedTopic, msg T) error {
		start := len(o.buf)
		buf, err := encode(o.buf, msg)
		if err == nil && bytes.IndexByte(buf[start:], '\n') >= 0 {
			err = fmt.Errorf("the JSON of %s has a line break", typeName)
		}
		o.buf = buf
		return err
	})
}

// RegPublication lets the bridge log one more type, as a ROS message in JSON with ROS 2's
// names.
func (Factory) RegPublication(p *bridges.Plugin, pub ros.Publication) error {
	return pub.Register(p, pub.Type, func(b bridges.Instance, info *bridges.PublishedTopic, _ string) (ros.Send, error) {
		t := b.(*instance).addTopic(info)
		var encoder rosjson.Encoder
		return func(_ context.Context, message ros.Message, _ int64) error {
			return t.log(func(o *object) error {
				o.buf = encoder.Append(o.buf, message)
				return encoder.Err()
			})
		}, nil
	})
}

// register declares T; encode appends one message's JSON.
func register[T any](p *bridges.Plugin, typeName string, encode func(*object, *bridges.PublishedTopic, T) error) error {
	if err := bridges.AddType[T](p, typeName); err != nil {
		return err
	}
	return bridges.AddPublisherCreator(p, func(b bridges.Instance, info *bridges.PublishedTopic) (bridges.Publisher[T], error) {
		t := b.(*instance).addTopic(info)
		return func(ctx context.Context, msg T) error {
			if err := ctx.Err(); err != nil {
				return err
			}
			return t.log(func(o *object) error { return encode(o, info, msg) })
		}, nil
	})
}

// log writes the two lines of a message, whose JSON encode appends.
func (t *topic) log(encode func(*object) error) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.lines.buf = append(t.lines.buf[:0], t.prefix...)
	if err := encode(&t.lines); err != nil {
		return fmt.Errorf("%w: %w", bridges.ErrConvert, err)
	}
	t.lines.buf = append(t.lines.buf, '\n')
	return t.instance.write(t, t.lines.buf)
}
