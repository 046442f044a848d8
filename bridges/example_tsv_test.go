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

// Factory is the bridge "tsv": "tsv:NAME" writes NAME, below the output folder,
// with a line of tab-separated values for each message.
type Factory struct{}

func (Factory) Info() bridges.Info {
	return bridges.Info{
		Name: "tsv", Type: "tsv", Kind: bridges.KindFile,
		Summary: "writes each message as a line of tab-separated values", Connection: "NAME",
	}
}

func (Factory) Register(p *bridges.Plugin) error {
	return errors.Join(
		RegPublisher(p, "imu", func(m *sample.Imu) string {
			return fmt.Sprintf("%g\t%g\t%g", m.LinearAcceleration[0], m.LinearAcceleration[1], m.LinearAcceleration[2])
		}),
		RegPublisher(p, "fix", func(m *sample.GnssFix) string {
			return fmt.Sprintf("%.8f\t%.8f\t%.3f", m.Latitude, m.Longitude, m.Altitude)
		}),
	)
}

func (Factory) NewInstance(env bridges.Env) (bridges.Instance, error) { return &table{env: env}, nil }

// RegPublisher makes the bridge carry messages of type T, by a function that
// writes one as columns.
func RegPublisher[T bridges.Stamped](p *bridges.Plugin, wire string, columns func(T) string) error {
	if err := bridges.AddType[T](p, wire); err != nil {
		return err
	}
	return bridges.AddPublisherCreator(p, func(i bridges.Instance, topic *bridges.PublishedTopic) (bridges.Publisher[T], error) {
		t := i.(*table)
		return func(ctx context.Context, msg T) error {
			if err := ctx.Err(); err != nil {
				return err
			}
			return t.write(topic, fmt.Sprintf("%d\t%s\t%s\n", msg.Stamp(), topic.Name, columns(msg)))
		}, nil
	})
}

// table is one file.
type table struct {
	env  bridges.Env
	mu   sync.Mutex
	file *os.File // guarded by mu: nil while not connected
}

func (t *table) Status() bridges.Status {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.file == nil {
		return bridges.Disconnected
	}
	return bridges.Connected
}

func (t *table) Connect(ctx context.Context, connection string) error {
	if err := t.Disconnect(ctx); err != nil {
		return err
	}
	if connection == "" {
		return fmt.Errorf("%w: want a file name", bridges.ErrConnectionString)
	}
	file, err := os.Create(filepath.Join(t.env.OutDir, connection))
	if err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.file = file
	return nil
}

func (t *table) Disconnect(context.Context) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.file == nil {
		return nil
	}
	file := t.file
	t.file = nil
	return file.Close()
}

func (t *table) write(topic *bridges.PublishedTopic, line string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.file == nil {
		return bridges.ErrNotConnected
	}
	if _, err := t.file.WriteString(line); err != nil {
		return fmt.Errorf("%w: %w", bridges.ErrWriteFailed, err)
	}
	topic.Sent(len(line))
	return nil
}
