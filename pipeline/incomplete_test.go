package pipeline_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/gpu/gputest"
	"github.com/raybridge/raybridge/pipeline"
	"github.com/raybridge/raybridge/scene/scenetest"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/imu"
	"github.com/raybridge/raybridge/sensors/sample"
)

// stuckFile is a recording whose disk takes nothing until it is released.
type stuckFile struct {
	released  chan struct{}
	connected atomic.Bool
}

func (f *stuckFile) Info() bridges.Info {
	return bridges.Info{Name: "stuck", Type: "disk", Kind: bridges.KindFile, Summary: "a slow disk", Connection: "ANY"}
}

func (f *stuckFile) Register(p *bridges.Plugin) error {
	if err := bridges.AddType[*sample.Imu](p, "imu"); err != nil {
		return err
	}
	return bridges.AddPublisherCreator(p, func(_ bridges.Instance, topic *bridges.PublishedTopic) (bridges.Publisher[*sample.Imu], error) {
		return func(context.Context, *sample.Imu) error {
			<-f.released
			topic.Sent(1)
			return nil
		}, nil
	})
}

func (f *stuckFile) NewInstance(bridges.Env) (bridges.Instance, error) { return f, nil }

func (f *stuckFile) Connect(context.Context, string) error {
	f.connected.Store(true)
	return nil
}

func (f *stuckFile) Disconnect(context.Context) error {
	f.connected.Store(false)
	return nil
}

func (f *stuckFile) Status() bridges.Status {
	if f.connected.Load() {
		return bridges.Connected
	}
	return bridges.Disconnected
}

// TestARecordingThatLostMessagesIsNotComplete: what the dispatcher drops never
// reaches the bridge, and is missing in the file all the same.
func TestARecordingThatLostMessagesIsNotComplete(t *testing.T) {
	for policy, complete := range map[string]bool{"block": true, "drop_newest": false, "drop_oldest": false} {
		t.Run(policy, func(t *testing.T) {
			file := &stuckFile{released: make(chan struct{})}
			registry := bridges.MustRegistry(file)
			fake := gputest.NewFake()
			p, err := pipeline.New(t.Context(), pipeline.Config{
				Scene: scenetest.MovingWall(30, 5), Open: fake.Open, Bridges: registry,
				Sensors: sensors.Must(sensors.NewRegistry(imu.Definition)), Mode: pipeline.Realtime,
			})
			require.NoError(t, err)
			inertial, err := p.AddSensor(pipeline.SensorConfig{ID: "sensor.other.imu", Name: "imu", Rate: "1000"})
			require.NoError(t, err)
			fired, enough := 0, 150 // twice what the queue holds
			if complete {
				enough = 1 // a blocked loop fires no more
			}
			stop, err := pipeline.Listen(inertial, "imu", func(sensors.Tick, *sample.Imu) {
				if fired++; fired == enough {
					close(file.released)
				}
			})
			require.NoError(t, err)
			defer stop()
			require.NoError(t, p.AddBridge(t.Context(), pipeline.BridgeConfig{Spec: "stuck:", Policy: policy}))
			end := inBackground(t, p)
			select {
			case <-file.released:
			case <-time.After(20 * time.Second):
				t.Fatal("it doesn't fire")
			}
			end()
			require.NoError(t, p.Close(t.Context()))
			summary := p.Summary()
			row := summary.Bridges[0]
			assert.Equal(t, complete, row.Drops["queue_full"] == 0)
			assert.Positive(t, row.Sent)
			assert.Equal(t, complete, summary.Complete(registry))
			assert.Equal(t, int64(fired), row.Sent+row.Drops["queue_full"])
			// A loop that a full queue held up is late, and says what it skipped.
			assert.Equal(t, row.Drops["queue_full"], summary.Sensors[1].Drops["queue_full"])
		})
	}
}
