package logging

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/klauspost/compress/gzip"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/internal/recordfile"
	"github.com/raybridge/raybridge/flow"
)

const extension = ".txt.gz"

// memberSize is the text in one gzip member, bytes, from which it is closed.
const memberSize = 1 << 20

// instance logs one run. It is a bridges.Instance and a bridges.Failer.
type instance struct {
	env bridges.Env
	// create makes the file to log to.
	create func(path string) (*recordfile.File, error)
	status atomic.Uint32 // a bridges.Status

	mu     sync.Mutex
	topics []*topic         // guarded by mu
	path   string           // guarded by mu
	file   *recordfile.File // guarded by mu: nil while not connected
	gzip   *gzip.Writer     // guarded by mu
	// text is the number of bytes in the open member, pending its messages;
	// guarded by mu.
	text    int
	pending []*topic
	err     error // guarded by mu: what ended the log
}

// topic is one publisher's part of an instance.
type topic struct {
	instance *instance
	info     *bridges.PublishedTopic
	// prefix is the first line.
	prefix []byte
	// messages and bytes are in the open member, allMessages and allBytes in all that the
	// file has; guarded by instance.mu.
	messages, allMessages int
	bytes, allBytes       int64

	mu    sync.Mutex
	lines object // guarded by mu: the two lines, its memory reused
}

var (
	_ bridges.Checker  = (*instance)(nil)
	_ bridges.Instance = (*instance)(nil)
	_ bridges.Failer   = (*instance)(nil)
)

func newInstance(env bridges.Env) *instance { return &instance{env: env, create: recordfile.Create} }

// Status returns Connected while a file is open.
func (i *instance) Status() bridges.Status { return bridges.Status(i.status.Load()) }

// Err returns what ended the last log early.
func (i *instance) Err() error {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.err
}

func (i *instance) addTopic(info *bridges.PublishedTopic) *topic {
	t := &topic{instance: i, info: info, prefix: []byte(info.Wire + " " + info.Name + "\n")}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.topics = append(i.topics, t)
	return t
}

// Check reads a connection string as Connect does.
func (i *instance) Check(connection string) error {
	_, err := logPath(connection, i.env.OutDir)
	return err
}

// Connect begins a log.
func (i *instance) Connect(ctx context.Context, connection string) error {
	if err := i.Disconnect(ctx); err != nil {
		i.env.Log.Error("end the former log", "error", err)
	}
	path, err := logPath(connection, i.env.OutDir)
	if err != nil {
		return err
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.err, i.path = nil, path
	for _, t := range i.topics {
		t.allMessages, t.allBytes = 0, 0
	}
	file, err := i.create(path)
	if err != nil {
		i.status.Store(uint32(bridges.UnexpectedlyDisconnected))
		return err
	}
	compressor, err := gzip.NewWriterLevel(file, gzip.BestSpeed)
	if err != nil {
		return errors.Join(err, file.Close())
	}
	i.file, i.gzip = file, compressor
	i.beginMember()
	i.status.Store(uint32(bridges.Connected))
	return nil
}

// logPath returns the file that a connection string names.
func logPath(connection, outDir string) (string, error) {
	name, _, err := bridges.SplitOptions(connection)
	if err != nil {
		return "", err
	}
	name = strings.TrimSuffix(name, extension)
	if base := filepath.Base(name); name == "" || strings.HasSuffix(name, "/") || base == "." || base == ".." {
		return "", fmt.Errorf("%w: %q is no file name; want NAME, for NAME%s", bridges.ErrConnectionString, connection, extension)
	}
	if !filepath.IsAbs(name) {
		name = filepath.Join(outDir, name)
	}
	return name + extension, nil
}

// write logs the lines of one message.
func (i *instance) write(t *topic, lines []byte) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.file == nil {
		if i.err != nil {
			return i.err
		}
		return bridges.ErrNotConnected
	}
	if _, err := i.gzip.Write(lines); err != nil {
		return i.fail(err)
	}
	if t.messages == 0 {
		i.pending = append(i.pending, t)
	}
	t.messages++
	t.bytes += int64(len(lines))
	t.info.Sent(len(lines))
	i.text += len(lines)
	if i.text < memberSize {
		return nil
	}
	if err := i.endMember(); err != nil {
		return i.fail(err)
	}
	i.beginMember()
	return nil
}

// beginMember begins a gzip member without a time; mu must be held.
func (i *instance) beginMember() {
	i.gzip.Reset(i.file)
	i.gzip.ModTime = time.Unix(0, 0) // the header's number 0: none
}

// endMember completes the open gzip member; mu must be held.
func (i *instance) endMember() error {
	if err := i.gzip.Close(); err != nil {
		return err
	}
	if err := i.file.Commit(); err != nil {
		return err
	}
	i.forget(false)
	return nil
}

// forget empties the open member's account, after counting its messages as lost
// if they are; mu must be held.
func (i *instance) forget(lost bool) {
	for _, t := range i.pending {
		if lost {
			t.info.Lost(t.messages, t.bytes, flow.CauseWriteFailed)
		} else {
			t.allMessages += t.messages
			t.allBytes += t.bytes
		}
		t.messages, t.bytes = 0, 0
	}
	i.pending, i.text = i.pending[:0], 0
}

// missing counts all messages as lost if the file was removed, renamed or replaced; mu must
// be held.
func (i *instance) missing(file *recordfile.File) error {
	err := file.Place().Check()
	if err == nil {
		return nil
	}
	for _, t := range i.topics {
		if t.allMessages > 0 {
			t.info.Lost(t.allMessages, t.allBytes, flow.CauseWriteFailed)
		}
		t.allMessages, t.allBytes = 0, 0
	}
	return err
}

// fail ends the log after a failed write and cuts the file back to its last
// complete member; mu must be held.
func (i *instance) fail(cause error) error {
	file := i.file
	i.file = nil
	i.status.Store(uint32(bridges.UnexpectedlyDisconnected))
	i.forget(true)
	if errors.Is(cause, recordfile.ErrRemoved) {
		cause = nil // missing tells
	}
	i.err = fmt.Errorf("log to %s: %w: %w", i.path, bridges.ErrWriteFailed,
		errors.Join(cause, file.Rewind(file.Committed()), file.Close(), i.missing(file)))
	i.env.Log.Error("log ended early; what it had stays readable", "error", i.err)
	return i.err
}

// Disconnect completes the file. It returns again what ended a log early.
func (i *instance) Disconnect(context.Context) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.file == nil {
		return i.err
	}
	i.status.Store(uint32(bridges.Disconnecting))
	if err := i.endMember(); err != nil {
		return i.fail(err)
	}
	file := i.file
	i.file = nil
	if err := errors.Join(file.Close(), i.missing(file)); err != nil {
		i.status.Store(uint32(bridges.UnexpectedlyDisconnected))
		i.err = fmt.Errorf("finish %s: %w: %w", i.path, bridges.ErrWriteFailed, err)
		return i.err
	}
	i.status.Store(uint32(bridges.Disconnected))
	return nil
}
