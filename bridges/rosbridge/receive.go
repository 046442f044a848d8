package rosbridge

import (
	"context"
	"errors"
	"fmt"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/internal/encode"
	"github.com/raybridge/raybridge/bridges/internal/rosbridgev2"
	"github.com/raybridge/raybridge/bridges/internal/rossample"
	"github.com/raybridge/raybridge/bridges/ros"
)

// listen subscribes an instance to a topic: at the server, or to what clients publish.
func listen(i bridges.Instance, topic bridges.Topic, typeName string, in ros.Inbox) error {
	return i.(*instance).subscribe(&rosbridgev2.Subscription{
		Topic: topic.Name, Type: typeName,
		Receive: func(config *rosbridgev2.Config, form rosbridgev2.Form, data []byte) error {
			m := in.New()
			if err := decode(config.ROS, form, data, m); err != nil {
				return err
			}
			return in.Deliver(m)
		},
	})
}

// decode reads a message.
func decode(version ros.Version, form rosbridgev2.Form, data []byte, m ros.Message) error {
	switch form {
	case rosbridgev2.BSON:
		return (&encode.TreeDecoder{Format: encode.BSON, Version: version}).Decode(data, m)
	case rosbridgev2.CBOR:
		return (&encode.TreeDecoder{Format: encode.CBOR, Version: version}).Decode(data, m)
	case rosbridgev2.Raw:
		if version == ros.ROS2 {
			return encode.CDR.Decoder().Decode(data, m)
		}
		return encode.ROS1.Decoder().Decode(data, m)
	default:
		return (&encode.TreeDecoder{Version: version}).Decode(data, m)
	}
}

// offer offers a service of an instance.
func offer(i bridges.Instance, name string, a rossample.Answerer) error {
	return i.(*instance).offer(rosbridgev2.Service{
		Name: name, Type: a.Type.Type,
		Answer: func(ctx context.Context, form rosbridgev2.Form, args []byte) ([]byte, error) {
			request := a.Type.NewRequest()
			if err := decodeArguments(form, args, request); err != nil {
				return nil, fmt.Errorf("arguments: %w", err)
			}
			response, err := a.Answer(ctx, request)
			if err != nil {
				return nil, err
			}
			if form == rosbridgev2.BSON {
				return (&encode.TreeEncoder{Format: encode.BSON}).Append(nil, response), nil
			}
			return new(encode.TreeEncoder).Append(nil, response), nil
		},
	})
}

// errArguments says that a list of arguments is too long.
var errArguments = errors.New("more arguments than the request has fields")

// decodeArguments reads the arguments of a call: an object, or, in JSON, a list of the
// fields' values in their order.
func decodeArguments(form rosbridgev2.Form, args []byte, request ros.Message) error {
	if args == nil {
		return nil
	}
	if form == rosbridgev2.JSON && args[0] == '[' {
		var err error
		if args, err = named(args, request); err != nil {
			return err
		}
	}
	return decode(ros.ROS2, form, args, request) // services have no fields that differ
}

// fieldsOfRequests are the fields of those requests that have any.
var fieldsOfRequests = map[string][]string{"std_srvs/srv/SetBool_Request": {"data"}}

// named makes an object of a list.
func named(list []byte, request ros.Message) ([]byte, error) {
	fields := fieldsOfRequests[request.TypeName()]
	object, n := []byte{'{'}, 0
	err := encode.JSONElements(list, func(value []byte) error {
		if n == len(fields) {
			return fmt.Errorf("%w: it has %d", errArguments, n)
		}
		if n > 0 {
			object = append(object, ',')
		}
		object = append(append(append(append(object, '"'), fields[n]...), `":`...), value...)
		n++
		return nil
	})
	return append(object, '}'), err
}
