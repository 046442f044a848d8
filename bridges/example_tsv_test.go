package bridges_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/sensors/sample"
)

// Factory is the bridge "tsv": "tsv:NAME" writes NAME, below the output folder, with a line
// of tab-separated values for each message.
type Factory struct{}

func (Factory) Info() bridges.Info {
	return bridges.Info{Name: "tsv", Type: "tsv", Kind: bridges.KindFile, Summary: "writes tab-separated values", Connection: "NAME"}
}

func (Factory) NewInstance(env bridges.Env) (bridges.Instance, error) {
	return &table{dir: env.OutDir}, nil
}

func (Factory) Register(p *bridges.Plugin) error {
	return errors.Join(
		RegPublisher(p, "speed", func(m *sample.Speed) string { return fmt.Sprint(m.MetresPerSecond) }),
		RegPublisher(p, "fix", func(m *sample.GnssFix) string { return fmt.Sprintf("%.8f\t%.8f", m.Latitude, m.Longitude) }))
}

// RegPublisher lets the bridge carry messages of type T: columns writes one of them.
func RegPublisher[T bridges.Stamped](p *bridges.Plugin, wire string, columns func(T) string) error {
	return bridges.RegPublisher(p, wire, func(t *table, topic *bridges.PublishedTopic) (bridges.Publisher[T], error) {
		return func(_ context.Context, msg T) error {
			return t.write(topic, fmt.Sprintf("%d\t%s\t%s\n", msg.Stamp(), topic.Name, columns(msg)))
		}, nil
	})
}

// table is one file.
type table struct {
	bridges.State
	dir  string
	mu   sync.Mutex
	file *os.File // guarded by mu: nil while not connected
}

func (t *table) Check(connection string) error {
	if connection == "" {
		return fmt.Errorf("%w: want a file name", bridges.ErrConnectionString)
	}
	return nil
}

func (t *table) Connect(ctx context.Context, connection string) (err error) {
	if err := errors.Join(t.Check(connection), t.Disconnect(ctx)); err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.file, err = os.Create(filepath.Join(t.dir, connection)); err == nil {
		t.SetStatus(bridges.Connected)
	}
	return err
}

func (t *table) Disconnect(context.Context) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	file := t.file
	if t.file = nil; file == nil {
		return nil
	}
	t.SetStatus(bridges.Disconnected)
	return file.Close()
}

func (t *table) write(topic *bridges.PublishedTopic, line string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.file == nil {
		return bridges.ErrNotConnected
	}
	n, err := t.file.WriteString(line)
	if err != nil {
		return fmt.Errorf("%w: %w", bridges.ErrWriteFailed, err)
	}
	topic.Sent(n)
	return nil
}
