package mcap

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/internal/recordfile"
)

// instance records one run. It is a bridges.Instance and a bridges.Failer.
type instance struct {
	env bridges.Env
	// create makes the file to record to.
	create func(path string) (*recordfile.File, error)
	// now is the wall clock, in nanoseconds from any origin; recordings with a flush
	// time alone read it.
	now    func() int64
	status atomic.Uint32 // a bridges.Status

	mu     sync.Mutex
	topics []*topic // guarded by mu: in the order of addition, which numbers the channels
	rec    *series  // guarded by mu: nil while not connected
	opts   options  // guarded by mu
	err    error    // guarded by mu: what ended the recording
}

// topic is one publisher's part of an instance.
type topic struct {
	instance *instance
	info     *bridges.PublishedTopic
	formats  formats
	// format is how the topic stands in the recording: that of the last one while
	// there is none, nil before the first.
	format   atomic.Pointer[format]
	channel  int       // guarded by instance.mu: the recorder's index
	sequence uint32    // guarded by instance.mu: of the last message
	latest   []latched // guarded by instance.mu: what later files repeat

	mu  sync.Mutex
	buf []byte // guarded by mu: the encoded message, reused
}

var (
	_ bridges.Checker  = (*instance)(nil)
	_ bridges.Instance = (*instance)(nil)
	_ bridges.Failer   = (*instance)(nil)
)

func newInstance(env bridges.Env) *instance {
	begun := time.Now()
	return &instance{env: env, create: recordfile.Create, now: func() int64 { return int64(time.Since(begun)) }}
}

// Status returns Connected while a recording is open.
func (i *instance) Status() bridges.Status { return bridges.Status(i.status.Load()) }

// Err returns what ended the last recording early.
func (i *instance) Err() error {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.err
}

// Check reads a connection string as Connect does.
func (i *instance) Check(connection string) error {
	_, err := parseConnection(connection, i.env.OutDir)
	return err
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

// open makes the first file with all topics; mu must be held.
func (i *instance) open() error {
	if err := i.opts.removeFormer(); err != nil {
		return err
	}
	rec := &series{opts: i.opts, create: i.create, run: i.env.Run, now: i.now}
	for _, t := range i.topics {
		t.sequence, t.latest = 0, nil
		if err := t.setFormat(i.opts.profile); err != nil {
			return err
		}
	}
	rec.topics = i.topics[:len(i.topics):len(i.topics)]
	if err := rec.begin(); err != nil {
		return err
	}
	i.rec = rec
	return nil
}

// addTopic makes a topic and adds it to the recording if there is one.
func (i *instance) addTopic(info *bridges.PublishedTopic, formats formats) (*topic, error) {
	t := &topic{instance: i, info: info, formats: formats}
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.rec != nil {
		if err := t.setFormat(i.opts.profile); err != nil {
			return nil, err
		}
		if err := i.rec.add(t); err != nil {
			_ = i.fail(err) // which the topic's publisher returns
		}
	}
	i.topics = append(i.topics, t)
	return t, nil
}

// setFormat decides how the topic is recorded; instance.mu must be held.
func (t *topic) setFormat(p profile) error {
	if err := p.checkTopic(t.info.Name); err != nil {
		return err
	}
	f, err := t.formats(p)
	if err != nil {
		return fmt.Errorf("record %q: %w", t.info.Name, err)
	}
	t.format.Store(f)
	t.info.SetWire(f.schema.Name)
	return nil
}

// publish records one sample.
func (t *topic) publish(ctx context.Context, sample bridges.Stamped) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	f := t.format.Load()
	if f == nil {
		return bridges.ErrNotConnected
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	data, err := f.encode(t.buf[:0], sample)
	if errors.Is(err, bridges.ErrConvert) {
		return err
	}
	if err != nil {
		return fmt.Errorf("%w: %w", bridges.ErrConvert, err)
	}
	t.buf = data
	stamp := sample.Stamp()
	return t.write(f, t.instance.env.HandedOver(stamp), stamp, data)
}

// write records the message of a topic, encoded in a format. Times are nanoseconds.
func (t *topic) write(f *format, logTime, publishTime int64, data []byte) error {
	if logTime < 0 || publishTime < 0 {
		return fmt.Errorf("%w: time %d ns, captured %d ns: MCAP has no negative times", bridges.ErrConvert, logTime, publishTime)
	}
	i := t.instance
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.rec == nil || t.format.Load() != f { // or somebody connected anew meanwhile
		if i.err != nil {
			return i.err
		}
		return bridges.ErrNotConnected
	}
	if err := i.rec.write(t, uint64(logTime), uint64(publishTime), data); err != nil {
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
	if errors.Is(cause, recordfile.ErrRemoved) {
		cause = nil // missing tells of all files
	}
	i.err = fmt.Errorf("record to %s: %w: %w", i.opts.path(rec.number), bridges.ErrWriteFailed,
		errors.Join(cause, rec.salvage(), rec.missing(), i.writeMetadata(rec)))
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
	if err := rec.end(); err != nil {
		return i.fail(err)
	}
	i.rec = nil
	if err := errors.Join(rec.missing(), i.writeMetadata(rec)); err != nil {
		i.status.Store(uint32(bridges.UnexpectedlyDisconnected))
		i.err = fmt.Errorf("finish %s: %w: %w", i.opts.path(rec.number), bridges.ErrWriteFailed, err)
		return i.err
	}
	i.status.Store(uint32(bridges.Disconnected))
	return nil
}

// writeMetadata writes the rosbag2 folder's metadata.yaml; mu must be held.
func (i *instance) writeMetadata(rec *series) error {
	if i.opts.folder == "" || len(rec.former) == 0 {
		return nil
	}
	path := filepath.Join(i.opts.folder, metadataFile)
	if err := os.WriteFile(path, []byte(rec.metadata().yaml()), 0o666); err != nil {
		return fmt.Errorf("write metadata: %w", err)
	}
	return nil
}
