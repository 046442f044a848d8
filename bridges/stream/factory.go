package stream

import (
	"errors"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/internal/rossample"
	"github.com/raybridge/raybridge/bridges/ros"
)

// Factory is the bridge named "stream".
type Factory struct{ limit int } // of a message, bytes; 0 for the protocol's

// Info describes the bridge.
func (Factory) Info() bridges.Info {
	return bridges.Info{
		Name: "stream", Type: "stream", Kind: bridges.KindNetwork,
		Summary:    "serves every topic to raybridge's own stream clients",
		Connection: "[[HOST:]PORT]", Default: DefaultAddress, Options: bridges.OptionsOf(options{}), Wants: []bridges.Want{bridges.Snapshot},
	}
}

// Register declares all samples as the messages that lose least, and whatever else a message
// can be made of, field by field.
func (f Factory) Register(p *bridges.Plugin) error {
	var errs []error
	for _, pub := range rossample.Whole() {
		errs = append(errs, f.RegPublication(p, pub))
	}
	return errors.Join(append(errs, ros.CarryMirrors(p, f))...)
}

// RegPublication lets the bridge serve one more type, as a ROS message in CDR.
func (Factory) RegPublication(p *bridges.Plugin, pub ros.Publication) error {
	return pub.RegisterSample(p, pub.Type, func(i bridges.Instance, info *bridges.PublishedTopic) (bridges.SendSample, error) {
		e, err := encodingOf(pub)
		if err != nil {
			return nil, err
		}
		return i.(*instance).publisher(info, e)
	})
}

// CodecEncoding says that streams have messages of any encoding.
func (Factory) CodecEncoding() string { return "" }

// RegCodec lets the bridge serve one more type, whose schema clients are told.
func (Factory) RegCodec(p *bridges.Plugin, pub bridges.Publication[bridges.Append, bridges.Schema]) error {
	return pub.RegisterSample(p, pub.Type, func(i bridges.Instance, info *bridges.PublishedTopic) (bridges.SendSample, error) {
		return i.(*instance).publisher(info, codecEncoding(pub))
	})
}

// NewInstance returns a server that doesn't listen yet.
func (f Factory) NewInstance(env bridges.Env) (bridges.Instance, error) {
	return newInstance(env, f.limit), nil
}

// options are those of a connection string.
type options struct {
	bridges.ServerOptions
	Zstd string `option:"zstd" value:"on|off" default:"on" doc:"compress for clients that ask for it"`
}

// parseConnection reads a connection string. Every error is
// bridges.ErrConnectionString.
func parseConnection(connection string) (address string, config ServerConfig, err error) {
	var o options
	target, _, err := bridges.ReadOptions(connection, &o)
	if err != nil {
		return "", config, err
	}
	address, err = bridges.ListenAddress(target, DefaultAddress)
	served := o.Server()
	return address, ServerConfig{Queue: served.Queue, MaxClients: served.MaxClients, NoZstd: o.Zstd == "off"}, err
}
