package foxglove

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/transport"
	"github.com/raybridge/raybridge/internal/guard"
	"github.com/raybridge/raybridge/sensors/sample"
)

// services are what clients call. Its methods may be called from any goroutine.
type services struct {
	mu     sync.Mutex
	list   []*service         // guarded by mu: id = index + 1
	calls  chan call          // guarded by mu: nil while disconnected
	cancel context.CancelFunc // guarded by mu
	done   chan struct{}      // guarded by mu: closed when the goroutine that answers has ended
}

// service is one that clients call.
type service struct {
	description serviceDescription
	// answer decodes a request, has it handled and encodes the response.
	answer func(ctx context.Context, request []byte) ([]byte, error)
}

type call struct {
	session *session
	service *service
	request serviceRequest
}

type advertiseServices struct {
	Op       string               `json:"op"`
	Services []serviceDescription `json:"services"`
}

type serviceDescription struct {
	ID       uint32        `json:"id"`
	Name     string        `json:"name"`
	Type     string        `json:"type"`
	Request  serviceSchema `json:"request"`
	Response serviceSchema `json:"response"`
	// The older form of the two schemas, which older clients want.
	RequestSchema  string `json:"requestSchema"`
	ResponseSchema string `json:"responseSchema"`
}

type serviceSchema struct {
	Encoding       string `json:"encoding"`
	SchemaName     string `json:"schemaName"`
	SchemaEncoding string `json:"schemaEncoding"`
	Schema         string `json:"schema"`
}

// Schemas of std_srvs' services, in JSON Schema.
const (
	schemaEmpty   = `{"type":"object","properties":{}}`
	schemaSetBool = `{"type":"object","properties":{"data":{"type":"boolean"}}}`
	schemaResult  = `{"type":"object","properties":{"success":{"type":"boolean"},"message":{"type":"string"}}}`
)

// JSON forms of std_srvs' requests and responses.
type (
	emptyJSON   struct{}
	setBoolJSON struct {
		Data bool `json:"data"`
	}
	resultJSON struct {
		Success bool   `json:"success"`
		Message string `json:"message"`
	}
)

// registerServices declares std_srvs' services.
func registerServices(p *bridges.Plugin) error {
	return errors.Join(
		registerService(p, "std_srvs/srv/Empty", schemaEmpty, schemaEmpty,
			func(emptyJSON) sample.EmptyRequest { return sample.EmptyRequest{} },
			func(sample.EmptyResponse) emptyJSON { return emptyJSON{} }),
		registerService(p, "std_srvs/srv/SetBool", schemaSetBool, schemaResult,
			func(r setBoolJSON) sample.SetBoolRequest { return sample.SetBoolRequest{Data: r.Data} },
			func(r sample.SetBoolResponse) resultJSON { return resultJSON(r) }),
		registerService(p, "std_srvs/srv/Trigger", schemaEmpty, schemaResult,
			func(emptyJSON) sample.TriggerRequest { return sample.TriggerRequest{} },
			func(r sample.TriggerResponse) resultJSON { return resultJSON(r) }),
	)
}

// registerService declares a kind of service whose JSON forms are In and Out.
func registerService[In, Out, Req, Res any](p *bridges.Plugin, wire, in, out string, request func(In) Req, response func(Res) Out) error {
	return bridges.RegService(p, wire, func(i *instance, name string, handle bridges.ServiceHandler[Req, Res]) error {
		i.addService(&service{
			description: serviceDescription{
				Name: name, Type: wire,
				Request:       serviceSchema{Encoding: "json", SchemaName: wire + "_Request", SchemaEncoding: "jsonschema", Schema: in},
				Response:      serviceSchema{Encoding: "json", SchemaName: wire + "_Response", SchemaEncoding: "jsonschema", Schema: out},
				RequestSchema: in, ResponseSchema: out,
			},
			answer: func(ctx context.Context, data []byte) ([]byte, error) {
				var content In
				if len(data) > 0 {
					if err := json.Unmarshal(data, &content); err != nil {
						return nil, fmt.Errorf("read request: %w", err)
					}
				}
				result, err := handle(ctx, request(content))
				if err != nil {
					return nil, err
				}
				return marshal(response(result))
			},
		})
		return nil
	})
}

// addService offers a service and tells the clients that are there.
func (i *instance) addService(s *service) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.services.mu.Lock()
	s.description.ID = uint32(len(i.services.list) + 1)
	i.services.list = append(i.services.list, s)
	i.services.mu.Unlock()
	for open := range i.sessions {
		open.say(advertiseServices{Op: "advertiseServices", Services: []serviceDescription{s.description}})
	}
}

// advertisement tells of all services; nil for none ("Advertise Services").
func (s *services) advertisement() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	message := advertiseServices{Op: "advertiseServices"}
	for _, offered := range s.list {
		message.Services = append(message.Services, offered.description)
	}
	if len(message.Services) == 0 {
		return nil
	}
	data, err := marshal(message)
	if err != nil {
		return nil // it is made of texts
	}
	return data
}

// start begins to answer.
func (s *services) start() {
	ctx, cancel := context.WithCancel(context.Background())
	calls, done := make(chan call, guard.ServerCalls), make(chan struct{})
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls, s.cancel, s.done = calls, cancel, done
	go func() {
		defer close(done)
		for {
			select {
			case c := <-calls:
				c.run(ctx)
			case <-ctx.Done():
				return
			}
		}
	}()
}

// stop ends the call that is being handled and waits for its end; those that wait get no
// answer.
func (s *services) stop() {
	s.mu.Lock()
	cancel, done := s.cancel, s.done
	s.calls, s.cancel, s.done = nil, nil, nil
	s.mu.Unlock()
	if cancel != nil {
		cancel()
		<-done
	}
}

// call queues a call ("Service Call Request").
func (s *services) call(from *session, r serviceRequest) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.service == 0 || int64(r.service) > int64(len(s.list)) {
		return from.fail(r, fmt.Errorf("service %d is not there: %w", r.service, errMalformed))
	}
	if r.encoding != "json" {
		return from.fail(r, fmt.Errorf("service %s takes json, not %q: %w", s.list[r.service-1].description.Name, r.encoding, errMalformed))
	}
	if err := from.client.Hold(guard.EntryBytes + len(r.data)); err != nil {
		return from.fail(r, err)
	}
	r.data = append([]byte(nil), r.data...) // it outlives the message
	select {
	case s.calls <- call{session: from, service: s.list[r.service-1], request: r}:
		return nil
	default:
		from.client.Release(guard.EntryBytes + len(r.data))
		return from.fail(r, fmt.Errorf("%w: %d calls wait already", bridges.ErrService, guard.ServerCalls))
	}
}

// fail tells the client that a call failed ("Service Call Failure").
func (s *session) fail(r serviceRequest, err error) error {
	s.say(serviceCallFailure{Op: "serviceCallFailure", ServiceID: r.service, CallID: r.call, Message: err.Error()})
	return err
}

// run has a call handled and answers it.
func (c *call) run(ctx context.Context) {
	defer c.session.client.Release(guard.EntryBytes + len(c.request.data))
	response, err := c.service.answer(ctx, c.request.data)
	if err != nil {
		_ = c.session.fail(c.request, err) // it is told; the message was well formed
		return
	}
	_ = c.session.client.Post(transport.OpBinary, appendServiceResponse(nil, c.request, response)) // ErrControl ends the connection
}
