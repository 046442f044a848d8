package stream

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/sensors/sample"
	server "github.com/raybridge/raybridge/sensors/stream"
	"github.com/raybridge/raybridge/sensors/stream/wire"
)

// DefaultAddress is where the bridge listens if the connection string has no address.
const DefaultAddress = server.DefaultAddress

// Factory is the bridge named "stream".
type Factory struct{ limit int } // of a message, bytes; 0 for the protocol's

// Info describes the bridge.
func (Factory) Info() bridges.Info {
	return bridges.Info{
		Name: "stream", Type: "stream", Kind: bridges.KindNetwork,
		Summary:    "serves every topic to raybridge's own stream clients",
		Connection: "[[HOST:]PORT]", Default: DefaultAddress, Options: bridges.OptionsOf(options{}),
	}
}

// Register declares all samples, and whatever knows its own encoding.
func (Factory) Register(p *bridges.Plugin) error {
	return errors.Join(
		register[*sample.Clock](p), register[*sample.Image](p), register[*sample.CompressedImage](p),
		register[*sample.CameraInfo](p), register[*sample.PointCloud](p), register[*sample.LaserScan](p),
		register[*sample.Radar](p), register[*sample.Range](p), register[*sample.DvsEvents](p),
		register[*sample.Imu](p), register[*sample.GnssFix](p), register[*sample.Odometry](p),
		register[*sample.Transforms](p), register[*sample.Detections2D](p), register[*sample.Detections3D](p),
		register[*sample.RadarObjects](p), register[*sample.Signals](p), register[*sample.Collision](p),
		register[*sample.Obstacle](p), register[*sample.LaneInvasion](p), register[*sample.Speed](p),
		register[*sample.CanBus](p), register[*sample.VehicleOdometry](p), register[*sample.GpsOdometry](p),
		register[*sample.InsStatus](p), register[*sample.Snapshot](p),
		bridges.SetFallback(p, bridges.Fallback{Carries: carries, Publisher: foreignPublisher}),
	)
}

// NewInstance returns a server that doesn't listen yet.
func (f Factory) NewInstance(env bridges.Env) (bridges.Instance, error) {
	return newInstance(env, f.limit), nil
}

// register declares a sample under its own name.
func register[T any](p *bridges.Plugin) error {
	t := reflect.TypeFor[T]().Elem()
	kind, ok := wire.KindOf(reflect.New(t).Interface())
	if !ok {
		return fmt.Errorf("%w: %v has no layout", bridges.ErrNoConverter, t)
	}
	if err := bridges.AddType[T](p, kind.String()); err != nil {
		return err
	}
	return bridges.AddPublisherCreator(p, func(b bridges.Instance, info *bridges.PublishedTopic) (bridges.Publisher[T], error) {
		topic, err := b.(*instance).add(info, kind)
		if err != nil {
			return nil, err
		}
		return func(ctx context.Context, msg T) error { return topic.publish(ctx, msg) }, nil
	})
}

var foreign = reflect.TypeFor[wire.Foreign]()

// carries tells which types from outside go over the wire.
func carries(t reflect.Type) (name string, ok bool) { return t.String(), t.Implements(foreign) }

func foreignPublisher(b bridges.Instance, info *bridges.PublishedTopic) (bridges.Publisher[any], error) {
	topic, err := b.(*instance).add(info, wire.KindForeign)
	if err != nil {
		return nil, err
	}
	return topic.publish, nil
}

// options are those of a connection string.
type options struct {
	bridges.ServerOptions
	Zstd string `option:"zstd" value:"on|off" default:"on" doc:"compress for clients that ask for it"`
}

// parseConnection reads a connection string. Every error is
// bridges.ErrConnectionString.
func parseConnection(connection string) (address string, config server.ServerConfig, err error) {
	var o options
	target, _, err := bridges.ReadOptions(connection, &o)
	if err != nil {
		return "", config, err
	}
	address, err = bridges.ListenAddress(target, DefaultAddress)
	served := o.Server()
	return address, server.ServerConfig{Queue: served.Queue, MaxClients: served.MaxClients, NoZstd: o.Zstd == "off"}, err
}
