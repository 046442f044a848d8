package bridges_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

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
	t := &table{}
	t.Env, t.Read = env, t.read
	return t, nil
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

// table is one file. Its Recorder connects and disconnects it, and has its status.
type table struct {
	bridges.Recorder[*bridges.File]
}

// read reads a connection string; what it returns makes the file.
func (t *table) read(connection string) (func() (*bridges.File, error), error) {
	if connection == "" {
		return nil, fmt.Errorf("%w: want a file name", bridges.ErrConnectionString)
	}
	return func() (*bridges.File, error) { return t.Create(filepath.Join(t.Env.OutDir, connection)) }, nil
}

func (t *table) write(topic *bridges.PublishedTopic, line string) error {
	t.Lock()
	defer t.Unlock()
	file, err := t.Recording()
	if err != nil {
		return err
	}
	if _, err = file.Write([]byte(line)); err == nil {
		err = file.Commit()
	}
	if err != nil {
		return t.Fail(err)
	}
	topic.Sent(len(line))
	return nil
}
