package mcap

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/internal/recordfile"
	"github.com/raybridge/raybridge/bridges/internal/rosmsg"
)

// instance records one run. It is a bridges.Instance and a bridges.Failer.
type instance struct {
	env bridges.Env
	// create makes the file to record to.
	create func(path string) (*recordfile.File, error)
	status atomic.Uint32 // a bridges.Status

	mu     sync.Mutex
	topics []*topic  // guarded by mu: in the order of addition, which numbers the channels
	rec    *recorder // guarded by mu: nil while not connected
	opts   options   // guarded by mu
	err    error     // guarded by mu: what ended the recording
}

// topic is one publisher's part of an instance.
type topic struct {
	instance *instance
	info     *bridges.PublishedTopic
	schema   Schema
	channel  int // guarded by instance.mu: the recorder's index

	mu  sync.Mutex
	buf []byte // guarded by mu: the encoded message, reused
}

var (
	_ bridges.Instance = (*instance)(nil)
	_ bridges.Failer   = (*instance)(nil)
)

func newInstance(env bridges.Env) *instance { return &instance{env: env, create: recordfile.Create} }

// Status returns Connected while a recording is open.
func (i *instance) Status() bridges.Status { return bridges.Status(i.status.Load()) }

// Err returns what ended the last recording early.
func (i *instance) Err() error {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.err
}

// Connect begins a recording.
func (i *instance) Connect(ctx context.Context, connection string) error {
	if err := i.Disconnect(ctx); err != nil {
		i.env.Log.Error("end the former recording", "error", err)
	}
	opts, err := parseConnection(connection, i.env.OutDir)
	if err != nil {
		return err
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.err, i.opts = nil, opts
	if err := i.open(); err != nil {
		i.status.Store(uint32(bridges.UnexpectedlyDisconnected))
		return err
	}
	i.status.Store(uint32(bridges.Connected))
	return nil
}

// open makes the file and adds all topics; mu must be held.
func (i *instance) open() error {
	file, err := i.create(i.opts.file)
	if err != nil {
		return err
	}
	rec, err := newRecorder(file, i.opts, i.env.Run)
	if err != nil {
		return errors.Join(err, file.Close())
	}
	for _, t := range i.topics {
		if err := i.addChannel(rec, t); err != nil {
			return errors.Join(err, file.Close())
		}
	}
	i.rec = rec
	return nil
}

// addTopic makes a topic and adds it to the recording if there is one.
func (i *instance) addTopic(info *bridges.PublishedTopic, schema Schema) (*topic, error) {
	if !rosmsg.ValidTopic(info.Name) {
		return nil, fmt.Errorf("%w %q: ROS 2 wants /name or /space/name of letters, digits and underscores",
			bridges.ErrTopicName, info.Name)
	}
	t := &topic{instance: i, info: info, schema: schema}
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.rec != nil {
		if err := i.addChannel(i.rec, t); err != nil {
			return nil, err
		}
	}
	i.topics = append(i.topics, t)
	return t, nil
}

// addChannel adds a topic to a recording; mu must be held.
func (i *instance) addChannel(rec *recorder, t *topic) error {
	channel, err := rec.addChannel(t.info, t.schema, qosProfile(t.info.QoS, i.opts.metadata))
	t.channel = channel
	return err
}

// write records the encoded message of a topic. Times are nanoseconds.
func (t *topic) write(logTime, publishTime int64, data []byte) error {
	if logTime < 0 || publishTime < 0 {
		return fmt.Errorf("%w: time %d ns, captured %d ns: MCAP has no negative times", bridges.ErrConvert, logTime, publishTime)
	}
	i := t.instance
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.rec == nil {
		if i.err != nil {
			return i.err
		}
		return bridges.ErrNotConnected
	}
	if err := i.rec.write(t.channel, uint64(logTime), uint64(publishTime), data); err != nil {
		return i.fail(err)
	}
	return nil
}

// fail ends the recording after a failed write, keeping what is complete; mu
// must be held.
func (i *instance) fail(cause error) error {
	rec := i.rec
	i.rec = nil
	i.status.Store(uint32(bridges.UnexpectedlyDisconnected))
	salvaged := rec.salvage()
	i.err = fmt.Errorf("record to %s: %w: %w", i.opts.file, bridges.ErrWriteFailed,
		errors.Join(cause, salvaged, rec.file.Close(), i.writeMetadata(rec)))
	i.env.Log.Error("recording ended early; its complete chunks stay readable", "error", i.err)
	return i.err
}

// Disconnect finishes the recording. It returns again what ended a recording
// early.
func (i *instance) Disconnect(context.Context) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.rec == nil {
		return i.err
	}
	i.status.Store(uint32(bridges.Disconnecting))
	rec := i.rec
	if err := rec.close(); err != nil {
		return i.fail(err)
	}
	i.rec = nil
	if err := errors.Join(rec.file.Close(), i.writeMetadata(rec)); err != nil {
		i.status.Store(uint32(bridges.UnexpectedlyDisconnected))
		i.err = fmt.Errorf("finish %s: %w: %w", i.opts.file, bridges.ErrWriteFailed, err)
		return i.err
	}
	i.status.Store(uint32(bridges.Disconnected))
	return nil
}

// writeMetadata writes the rosbag2 folder's metadata.yaml; mu must be held.
func (i *instance) writeMetadata(rec *recorder) error {
	if i.opts.folder == "" {
		return nil
	}
	text := rec.metadata(i.opts.metadata, filepath.Base(i.opts.file)).yaml()
	path := filepath.Join(i.opts.folder, "metadata.yaml")
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		return fmt.Errorf("write metadata: %w", err)
	}
	return nil
}
