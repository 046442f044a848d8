package stream

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"reflect"
	"sync/atomic"
	"time"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/internal/rossample"
	"github.com/raybridge/raybridge/bridges/ros"
	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/internal/guard"
	"github.com/raybridge/raybridge/memory"
	"github.com/raybridge/raybridge/sensors/sample"
)

// PagePort is a bridge that listens nowhere. It serves pages in browsers, over WebSockets that an HTTP server was asked
// for. docs/live-page.md has what they say. They receive all topics of the run: pictures as JPEG or deflated, clouds
// as [ViewCloud], everything else as other clients do. Each says by credits how much it takes, and is sent the newest message of a stream. Nobody waits for
// one, in a stepped run either. A PagePort makes one instance in its life. Its methods may be called from any goroutine.
type PagePort struct {
	Factory
	address  net.Addr
	admit    func(token string) error
	memory   *memory.Budget
	instance atomic.Pointer[instance]
}

// PageName is the type of the bridge that a PagePort is.
const PageName = "page"

// PagePath is the path at which the HTTP server is asked for a page's WebSocket.
const PagePath = "/ws"

// NewPagePort returns a port whose connections are accepted at an address. admit judges the token that a page gives first:
// its error is what the page is refused with. The memory for what is being shown is taken from a budget; nil is without a
// limit. What doesn't fit isn't shown.
func NewPagePort(address net.Addr, admit func(token string) error, budget *memory.Budget) *PagePort {
	return &PagePort{address: address, admit: admit, memory: budget}
}

// laneMarks are the lines between the scene's lanes, which a page draws.
var laneMarks = bridges.Want{Sensor: "sensor.other.lane_marks", Name: "lane_marks", Topic: "/lane_marks"}

// Info describes the bridge.
func (p *PagePort) Info() bridges.Info {
	return bridges.Info{
		Name: PageName, Type: PageName, Kind: bridges.KindNetwork, Summary: "serves every topic to pages in browsers",
		Wants: []bridges.Want{bridges.Snapshot, laneMarks},
	}
}

// Register declares pictures and clouds in the form that pages are sent, and all else as the bridge stream has it.
func (p *PagePort) Register(plugin *bridges.Plugin) error {
	var errs []error
	for _, pub := range rossample.Whole() {
		switch pub.Sample {
		case reflect.TypeFor[*sample.Image]():
			errs = append(errs, show[*sample.CompressedImage](plugin, pub, func(t *bridges.PublishedTopic) form { return newPictureForm(t.SensorType) }))
		case reflect.TypeFor[*sample.PointCloud]():
			errs = append(errs, show[*ViewCloud](plugin, pub, func(*bridges.PublishedTopic) form { return new(cloudForm) }))
		default:
			errs = append(errs, p.RegPublication(plugin, pub))
		}
	}
	return errors.Join(append(errs, ros.CarryMirrors(plugin, p))...)
}

// show registers samples that pages are sent as a T.
func show[T any](plugin *bridges.Plugin, pub ros.Publication, formOf func(*bridges.PublishedTopic) form) error {
	first, err := EncodingOf(reflect.TypeFor[T]())
	if err != nil {
		return err
	}
	return pub.RegisterSample(plugin, first.Schema.Name, func(i bridges.Instance, info *bridges.PublishedTopic) (bridges.SendSample, error) {
		e, err := EncodingOf(reflect.TypeFor[T]())
		if err != nil {
			return nil, err
		}
		return i.(*instance).publisherOf(info, e, formOf(info))
	})
}

// NewInstance returns the bridge's only instance.
func (p *PagePort) NewInstance(env bridges.Env) (bridges.Instance, error) {
	i := newInstance(env, p.limit)
	i.page = p
	if !p.instance.CompareAndSwap(nil, i) {
		return nil, fmt.Errorf("bridge %s: there is one already", PageName)
	}
	return i, nil
}

// Serve makes a page of a connection whose request to upgrade to WebSocket was read and let in, and closes it when it is
// over.
func (p *PagePort) Serve(conn net.Conn, request *http.Request) {
	if i := p.instance.Load(); i != nil {
		if server, ok := i.Serving(); ok {
			server.core.AdmitRequest(conn, request)
			return
		}
	}
	_ = conn.Close() // the run ends
}

// Forget lets go of the last messages, which pages are sent when they subscribe. It is for a run that was taken back to
// its beginning: they are of later times.
func (p *PagePort) Forget() {
	if i := p.instance.Load(); i != nil {
		if server, ok := i.Serving(); ok {
			server.forget()
		}
	}
}

// Bounds of what one page makes the server keep, beside what it shares with the others.
const (
	// pageMessages and pageBytes wait for it at most, and the newest of each stream beside them. Of one stream pageCredits are on their way, or as many as it asks
	// for, mostCredits at most.
	pageMessages = 1024
	pageBytes    = 64 << 20
	pageCredits  = 2
	mostCredits  = 64
	// pagePatience is how long a page may give no credit before its sensors rest.
	pagePatience = time.Second
	// pageControl bounds the answers that it leaves unread, and pageRequest what it sends.
	pageControl = 1 << 20
	pageRequest = 64 << 10
)

// config is how the port's server treats pages. Their number is bounded where they are accepted.
func (p *PagePort) config() ServerConfig {
	return ServerConfig{
		Queue:      flow.QueueConfig{Policy: flow.DropOldest, Messages: pageMessages, Bytes: pageBytes},
		MaxClients: guard.ControlConnections, NoZstd: true, MaxFrame: p.limit,
	}
}
