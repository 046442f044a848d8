package rossample

import (
	"context"
	"errors"
	"fmt"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/ros"
	"github.com/raybridge/raybridge/sensors/sample"
)

// shared are the publications that all bridges to ROS have.
func shared() []ros.Publication {
	return []ros.Publication{
		ros.Publish(Clock), ros.Publish(Image), ros.PublishMirror[*sample.CompressedImage](), ros.Publish(CameraInfo),
		ros.Publish(PointCloud2), ros.PublishMirror[*sample.Imu](), ros.Publish(NavSatFix), ros.Publish(Odometry),
		ros.Publish(TFMessage), ros.PublishMirror[*sample.LaserScan](), ros.Publish(RadarCloud),
		ros.Publish(DetectedRadarObjectArray), ros.Publish(DvsCloud), ros.Publish(Speed),
		ros.Publish(GpsOdometry), ros.Publish(CanBusData), ros.Publish(VehicleOdometry),
		ros.Publish(SignalArray), ros.Publish(CarlaCollisionEvent), ros.Publish(CarlaLaneInvasionEvent),
		ros.Publish(ComfortData), ros.Publish(PoseStamped),
	}
}

// Standard returns the messages that ROS's own tools know best: boxes are vision_msgs',
// distances sensor_msgs/Range. What ROS has no type for (InsStatus, Obstacle, Snapshot,
// LaneMarks) isn't among them: bridges carry mirrors of it (ros.CarryMirrors).
func Standard() []ros.Publication {
	return append(shared(), ros.PublishMirror[*sample.Range](), ros.Publish(Detection2DArray), ros.Publish(Detection3DArray))
}

// SVL returns the messages that SVL Simulator's users expect: boxes and distances are
// lgsvl_msgs'.
func SVL() []ros.Publication {
	return append(shared(), ros.Publish(Ultrasonic), ros.Publish(LgsvlDetection2DArray), ros.Publish(LgsvlDetection3DArray))
}

// mirrored are raybridge's own messages, of the samples of which ROS has no message that
// holds them whole.
func mirrored() []ros.Publication {
	return []ros.Publication{
		ros.PublishMirror[*sample.Radar](), ros.PublishMirror[*sample.DvsEvents](),
		ros.PublishMirror[*sample.Detections2D](), ros.PublishMirror[*sample.Detections3D](),
		ros.PublishMirror[*sample.RadarObjects](), ros.PublishMirror[*sample.Signals](),
		ros.PublishMirror[*sample.Collision](), ros.PublishMirror[*sample.Obstacle](),
		ros.PublishMirror[*sample.LaneInvasion](), ros.PublishMirror[*sample.LaneMarks](),
		ros.PublishMirror[*sample.LaneLines](), ros.PublishMirror[*sample.Speed](),
		ros.PublishMirror[*sample.CanBus](), ros.PublishMirror[*sample.VehicleOdometry](),
		ros.PublishMirror[*sample.GpsOdometry](), ros.PublishMirror[*sample.InsStatus](),
		ros.PublishMirror[*sample.Snapshot](), ros.PublishMirror[*sample.Comfort](), ros.PublishMirror[*sample.Destination](),
	}
}

// Whole returns the messages that lose least: those of ROS that hold a whole sample, and
// of the others mirrors.
func Whole() []ros.Publication {
	return append(mirrored(), ros.Publish(Clock), ros.Publish(Image), ros.PublishMirror[*sample.CompressedImage](),
		ros.Publish(CameraInfo), ros.Publish(WholePointCloud2), ros.PublishMirror[*sample.LaserScan](), ros.PublishMirror[*sample.Range](),
		ros.PublishMirror[*sample.Imu](), ros.Publish(NavSatFix), ros.Publish(Odometry), ros.Publish(TFMessage))
}

// Register declares what a bridge to ROS publishes and subscribes to, and mirrors of all else.
func Register(p *bridges.Plugin, f interface {
	ros.Carrier
	ros.Receiver
}, publications []ros.Publication, subscriptions []ros.Subscription) error {
	errs := []error{ros.CarryMirrors(p, f)}
	for _, pub := range publications {
		errs = append(errs, f.RegPublication(p, pub))
	}
	for _, sub := range subscriptions {
		errs = append(errs, f.RegSubscription(p, sub))
	}
	return errors.Join(errs...)
}

// RegisterServices declares the services of std_srvs, by their names in a version of ROS.
func RegisterServices(p *bridges.Plugin, version ros.Version, offer Offer) error {
	var errs []error
	for _, s := range Services() {
		errs = append(errs, s.Register(p, version.TypeName(s.Type), offer))
	}
	return errors.Join(errs...)
}

// commands are the subscriptions that all bridges to ROS have: what vehicles obey, and
// the time.
func commands() []ros.Subscription {
	return []ros.Subscription{
		ros.Subscribe(FromVehicleControlData), ros.Subscribe(FromVehicleStateData),
		ros.Subscribe(FromAckermannDriveStamped), ros.Subscribe(FromTwist), ros.Subscribe(FromClock),
	}
}

// StandardSubscriptions returns the commands, the clock and vision_msgs' boxes.
func StandardSubscriptions() []ros.Subscription {
	return append(commands(), ros.Subscribe(FromDetection2DArray), ros.Subscribe(FromDetection3DArray))
}

// SVLSubscriptions returns the commands, the clock and lgsvl_msgs' boxes.
func SVLSubscriptions() []ros.Subscription {
	return append(commands(), ros.Subscribe(FromLgsvlDetection2DArray), ros.Subscribe(FromLgsvlDetection3DArray))
}

// Service is a type of ROS service with the Go types of its requests and responses.
type Service struct {
	// Type is the service's full name, such as "std_srvs/srv/SetBool".
	Type string
	// Register declares the service on a bridge, by the name that the bridge's protocol has
	// for its type.
	Register func(p *bridges.Plugin, wire string, offer Offer) error
}

// Offer makes an instance of the bridge that registered it answer the calls of one
// service.
type Offer func(instance bridges.Instance, service string, answer Answerer) error

// Answerer answers the calls of one service.
type Answerer struct {
	// Type is the type of the service, with NewRequest to decode into.
	Type ros.Service
	// Answer takes a request of NewRequest's type and returns a response of
	// NewResponse's, or an error to tell the caller. It is called by one goroutine at a
	// time.
	Answer func(ctx context.Context, request ros.Message) (ros.Message, error)
}

// service makes the Service of its conversions.
func service[Req, Res any, M ros.Message](typ ros.Service, request func(M) Req, response func(Res) ros.Message) Service {
	return Service{Type: typ.Type, Register: func(p *bridges.Plugin, wire string, offer Offer) error {
		return bridges.RegService(p, wire, func(i bridges.Instance, name string, handle bridges.ServiceHandler[Req, Res]) error {
			return offer(i, name, Answerer{Type: typ, Answer: func(ctx context.Context, m ros.Message) (ros.Message, error) {
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

// Services returns std_srvs' services, in the order of ros.Services.
func Services() []Service {
	types := ros.Services()
	return []Service{
		service(types[0],
			func(*ros.EmptyRequest) sample.EmptyRequest { return sample.EmptyRequest{} },
			func(sample.EmptyResponse) ros.Message { return &ros.EmptyResponse{} }),
		service(types[1],
			func(m *ros.SetBoolRequest) sample.SetBoolRequest { return sample.SetBoolRequest{Data: m.Data} },
			func(r sample.SetBoolResponse) ros.Message {
				return &ros.SetBoolResponse{Success: r.Success, Message: r.Message}
			}),
		service(types[2],
			func(*ros.TriggerRequest) sample.TriggerRequest { return sample.TriggerRequest{} },
			func(r sample.TriggerResponse) ros.Message {
				return &ros.TriggerResponse{Success: r.Success, Message: r.Message}
			}),
	}
}
