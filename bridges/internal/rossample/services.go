package rossample

import (
	"context"
	"fmt"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/internal/rosmsg"
	"github.com/raybridge/raybridge/sensors/sample"
)

// Service is a type of ROS service with the Go types of its requests and responses.
type Service struct {
	// Type is the service's full name, such as "std_srvs/srv/SetBool".
	Type    string
	declare func(p *bridges.Plugin, wire string, offer Offer) error
}

// Offer makes an instance of the bridge that registered it answer the calls of one
// service.
type Offer func(instance bridges.Instance, service string, answer Answerer) error

// Answerer answers the calls of one service.
type Answerer struct {
	// Type is the type of the service, with NewRequest to decode into.
	Type rosmsg.Service
	// Answer takes a request of NewRequest's type and returns a response of
	// NewResponse's, or an error to tell the caller. It is called by one goroutine at a
	// time.
	Answer func(ctx context.Context, request rosmsg.Message) (rosmsg.Message, error)
}

// Register declares the service on a bridge, by the name that the bridge's protocol has
// for its type.
func (s Service) Register(p *bridges.Plugin, wire string, offer Offer) error {
	return s.declare(p, wire, offer)
}

// service makes the Service of its conversions.
func service[Req, Res any, M rosmsg.Message](typ rosmsg.Service, request func(M) Req, response func(Res) rosmsg.Message) Service {
	return Service{Type: typ.Type, declare: func(p *bridges.Plugin, wire string, offer Offer) error {
		return bridges.AddServiceCreator(p, wire, func(i bridges.Instance, name string, handle bridges.ServiceHandler[Req, Res]) error {
			return offer(i, name, Answerer{Type: typ, Answer: func(ctx context.Context, m rosmsg.Message) (rosmsg.Message, error) {
				typed, ok := m.(M)
				if !ok {
					return nil, fmt.Errorf("request of %s: %w", m.TypeName(), bridges.ErrConvert)
				}
				res, err := handle(ctx, request(typed))
				if err != nil {
					return nil, err
				}
				return response(res), nil
			}})
		})
	}}
}

// Services returns std_srvs' services, in the order of rosmsg.Services.
func Services() []Service {
	types := rosmsg.Services()
	return []Service{
		service(types[0],
			func(*rosmsg.EmptyRequest) sample.EmptyRequest { return sample.EmptyRequest{} },
			func(sample.EmptyResponse) rosmsg.Message { return &rosmsg.EmptyResponse{} }),
		service(types[1],
			func(m *rosmsg.SetBoolRequest) sample.SetBoolRequest { return sample.SetBoolRequest{Data: m.Data} },
			func(r sample.SetBoolResponse) rosmsg.Message {
				return &rosmsg.SetBoolResponse{Success: r.Success, Message: r.Message}
			}),
		service(types[2],
			func(*rosmsg.TriggerRequest) sample.TriggerRequest { return sample.TriggerRequest{} },
			func(r sample.TriggerResponse) rosmsg.Message {
				return &rosmsg.TriggerResponse{Success: r.Success, Message: r.Message}
			}),
	}
}
