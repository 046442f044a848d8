package rossample

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/internal/rosmsg"
)

// Publication is a type of sample with the ROS message that carries it.
type Publication struct {
	// Type is the message's full name, such as "sensor_msgs/msg/Image".
	Type string
	// Sample is the type of sample, such as *sample.Image.
	Sample        reflect.Type
	declare       func(p *bridges.Plugin, wire string, open Open) error
	declareSample func(p *bridges.Plugin, wire string, open OpenSample) error
	converter     func() Convert
}

// Open makes the way of one topic's messages, of the type with the given full name, on
// an instance of the bridge that registered it. It is called when a publisher is added.
type Open func(instance bridges.Instance, topic *bridges.PublishedTopic, typeName string) (Send, error)

// Send encodes and sends, or queues, one message, which is good only until it returns.
// stampNs is when it was captured. It is called by one goroutine at a time.
type Send func(ctx context.Context, message rosmsg.Message, stampNs int64) error

// Register declares the sample's type on a bridge, by the name that the bridge's
// protocol has for the message.
func (pub Publication) Register(p *bridges.Plugin, wire string, open Open) error {
	return pub.declare(p, wire, open)
}

// OpenSample is Open for bridges whose connection decides on the message that carries a
// sample.
type OpenSample func(instance bridges.Instance, topic *bridges.PublishedTopic) (SendSample, error)

// SendSample converts, encodes and sends one sample of the publication's type, which it
// keeps no hold of. It is called from any goroutine.
type SendSample func(ctx context.Context, sample bridges.Stamped) error

// Publish makes the Publication of a conversion from outside, and declares its message as it
// is registered. convert sets all of a message that is reused, or fails, which counts the
// sample as dropped.
func Publish[M any, P interface {
	*M
	rosmsg.Message
}, T bridges.Stamped](convert func(P, T) error) Publication {
	pub := publication(convert)
	declareROS, declareSample := pub.declare, pub.declareSample
	pub.declare = func(p *bridges.Plugin, wire string, open Open) error {
		if err := declareMessage(P(new(M))); err != nil {
			return err
		}
		return declareROS(p, wire, open)
	}
	pub.declareSample = func(p *bridges.Plugin, wire string, open OpenSample) error {
		if err := declareMessage(P(new(M))); err != nil {
			return err
		}
		return declareSample(p, wire, open)
	}
	return pub
}

// Subscribe makes the Subscription of a conversion from outside, and declares its message
// as it is registered.
func Subscribe[M any, P interface {
	*M
	rosmsg.Message
}, S any](convert func(*S, P) error) Subscription {
	sub := subscription(convert)
	declareROS := sub.declare
	sub.declare = func(p *bridges.Plugin, wire string, listen Listen) error {
		if err := declareMessage(P(new(M))); err != nil {
			return err
		}
		return declareROS(p, wire, listen)
	}
	return sub
}

// declareMessage declares a message from outside. Errors are bridges.ErrDuplicate where
// another definition has its name, else rosmsg.ErrDefinition.
func declareMessage(m rosmsg.Message) error {
	err := rosmsg.Declare(m)
	if errors.Is(err, rosmsg.ErrDeclared) {
		return fmt.Errorf("%w: %w", bridges.ErrDuplicate, err)
	}
	return err
}

// Convert makes the message of a sample of the publication's type; both are good until
// its next call. It is called by one goroutine at a time. Its errors are
// bridges.ErrConvert.
type Convert func(sample bridges.Stamped) (rosmsg.Message, error)

// RegisterSample is Register for bridges that convert samples themselves.
func (pub Publication) RegisterSample(p *bridges.Plugin, wire string, open OpenSample) error {
	return pub.declareSample(p, wire, open)
}

// Converter returns a conversion with a message of its own, which is reused: nothing is
// allocated for each sample.
func (pub Publication) Converter() Convert { return pub.converter() }

// publication makes the Publication of a conversion.
func publication[M any, P interface {
	*M
	rosmsg.Message
}, T bridges.Stamped](convert func(P, T) error) Publication {
	name := P(new(M)).TypeName()
	pub := Publication{
		Type: name, Sample: reflect.TypeFor[T](),
		declareSample: declareSample[T],
		converter: func() Convert {
			message := P(new(M))
			return func(sample bridges.Stamped) (rosmsg.Message, error) {
				s, ok := sample.(T)
				if !ok {
					return nil, fmt.Errorf("%w: %s is made of %v, not of %T", bridges.ErrConvert, name, reflect.TypeFor[T](), sample)
				}
				if err := convert(message, s); err != nil {
					return nil, fmt.Errorf("%w: %w", bridges.ErrConvert, err)
				}
				return message, nil
			}
		},
	}
	pub.declare = func(p *bridges.Plugin, wire string, open Open) error {
		if err := bridges.AddType[T](p, wire); err != nil {
			return err
		}
		return bridges.AddPublisherCreator(p, func(i bridges.Instance, topic *bridges.PublishedTopic) (bridges.Publisher[T], error) {
			send, err := open(i, topic, name)
			if err != nil {
				return nil, err
			}
			// One message for each topic, so that nothing is allocated for each sample.
			var mu sync.Mutex
			message := P(new(M)) // guarded by mu
			return func(ctx context.Context, msg T) error {
				if err := ctx.Err(); err != nil {
					return err
				}
				mu.Lock()
				defer mu.Unlock()
				if err := convert(message, msg); err != nil {
					return fmt.Errorf("%w: %w", bridges.ErrConvert, err)
				}
				return send(ctx, message, msg.Stamp())
			}, nil
		})
	}
	return pub
}

// declareSample is a Publication's RegisterSample.
func declareSample[T bridges.Stamped](p *bridges.Plugin, wire string, open OpenSample) error {
	if err := bridges.AddType[T](p, wire); err != nil {
		return err
	}
	return bridges.AddPublisherCreator(p, func(i bridges.Instance, topic *bridges.PublishedTopic) (bridges.Publisher[T], error) {
		send, err := open(i, topic)
		if err != nil {
			return nil, err
		}
		return func(ctx context.Context, msg T) error { return send(ctx, msg) }, nil
	})
}

// Subscription is a ROS message with the type of sample that is made of it.
type Subscription struct {
	// Type is the message's full name, such as "geometry_msgs/msg/Twist".
	Type    string
	declare func(p *bridges.Plugin, wire string, listen Listen) error
}

// Listen subscribes an instance of the bridge that registered it to a topic of messages
// of the type with the given full name.
type Listen func(instance bridges.Instance, topic bridges.Topic, typeName string, in Inbox) error

// Inbox takes the messages of one subscription.
type Inbox struct {
	// New returns a message to decode into.
	New func() rosmsg.Message
	// Deliver hands one on, which is the inbox's from then on. It is called by one
	// goroutine at a time and doesn't block. An error says that the message makes
	// no sense.
	Deliver func(rosmsg.Message) error
}

// Register declares the sample's type on a bridge, if it isn't declared yet, and how it
// is subscribed to.
func (sub Subscription) Register(p *bridges.Plugin, wire string, listen Listen) error {
	return sub.declare(p, wire, listen)
}

// subscription makes the Subscription of a conversion.
func subscription[M any, P interface {
	*M
	rosmsg.Message
}, S any](convert func(*S, P) error) Subscription {
	name := P(new(M)).TypeName()
	return Subscription{Type: name, declare: func(p *bridges.Plugin, wire string, listen Listen) error {
		if !p.Knows(reflect.TypeFor[*S]()) {
			if err := bridges.AddType[*S](p, wire); err != nil {
				return err
			}
		}
		return bridges.AddSubscriberCreator(p, func(i bridges.Instance, topic bridges.Topic, deliver func(*S)) error {
			return listen(i, topic, name, Inbox{
				New: func() rosmsg.Message { return P(new(M)) },
				Deliver: func(m rosmsg.Message) error {
					s := new(S)
					if err := convert(s, m.(P)); err != nil {
						return fmt.Errorf("%w: %w", bridges.ErrConvert, err)
					}
					deliver(s)
					return nil
				},
			})
		})
	}}
}

// shared are the publications that all bridges to ROS have.
func shared() []Publication {
	return []Publication{
		publication(Clock), publication(Image), publication(CompressedImage), publication(CameraInfo),
		publication(PointCloud2), publication(Imu), publication(NavSatFix), publication(Odometry),
		publication(TFMessage), publication(LaserScan), publication(RadarCloud),
		publication(DetectedRadarObjectArray), publication(DvsCloud), publication(Speed),
		publication(GpsOdometry), publication(CanBusData), publication(VehicleOdometry),
		publication(SignalArray), publication(CarlaCollisionEvent), publication(CarlaLaneInvasionEvent),
	}
}

// Standard returns the messages that ROS's own tools know best: boxes are vision_msgs',
// distances sensor_msgs/Range. What ROS has no type for (InsStatus, Obstacle, Snapshot)
// isn't among them.
func Standard() []Publication {
	return append(shared(), publication(Range), publication(Detection2DArray), publication(Detection3DArray))
}

// SVL returns the messages that SVL Simulator's users expect: boxes and distances are
// lgsvl_msgs'.
func SVL() []Publication {
	return append(shared(), publication(Ultrasonic), publication(LgsvlDetection2DArray), publication(LgsvlDetection3DArray))
}

// commands are the subscriptions that all bridges to ROS have: what vehicles obey, and
// the time.
func commands() []Subscription {
	return []Subscription{
		subscription(FromVehicleControlData), subscription(FromVehicleStateData),
		subscription(FromAckermannDriveStamped), subscription(FromTwist), subscription(FromClock),
	}
}

// StandardSubscriptions returns the commands, the clock and vision_msgs' boxes.
func StandardSubscriptions() []Subscription {
	return append(commands(), subscription(FromDetection2DArray), subscription(FromDetection3DArray))
}

// SVLSubscriptions returns the commands, the clock and lgsvl_msgs' boxes.
func SVLSubscriptions() []Subscription {
	return append(commands(), subscription(FromLgsvlDetection2DArray), subscription(FromLgsvlDetection3DArray))
}
