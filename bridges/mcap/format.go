package mcap

import (
	"fmt"
	"reflect"
	"regexp"
	"strings"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/internal/cdr"
	"github.com/raybridge/raybridge/bridges/internal/foxglovemsg"
	"github.com/raybridge/raybridge/bridges/internal/ros1"
	"github.com/raybridge/raybridge/bridges/internal/rossample"
	"github.com/raybridge/raybridge/bridges/ros"
)

// profile is what a recording's messages are, by the name in a connection string.
type profile string

// Profiles.
const (
	profileROS2     profile = "ros2"
	profileROS1     profile = "ros1"
	profileFoxglove profile = "foxglove"
)

// header is the profile's name in a file's header. What Foxglove's schemas are used in
// has no name of its own (MCAP's registry, "Profiles").
func (p profile) header() string {
	if p == profileFoxglove {
		return ""
	}
	return string(p)
}

// nameOfROS1 is a topic of ROS 1 (wiki.ros.org/Names), as bridge ros1 has them.
var nameOfROS1 = regexp.MustCompile(`^/[A-Za-z]\w*(/\w+)*$`)

// checkTopic returns an error that wraps bridges.ErrTopicName for a topic that the profile's
// programs couldn't play or read back. MCAP itself, and Foxglove, allow any name.
func (p profile) checkTopic(name string) error {
	switch {
	case p == profileROS1 && !nameOfROS1.MatchString(name):
		return fmt.Errorf("%w %q: profile=ros1 wants ROS 1's /name or /space/name of letters, digits and underscores, a letter first", bridges.ErrTopicName, name)
	case p == profileROS2 && !ros.ValidTopic(name):
		return fmt.Errorf("%w %q: ROS 2 wants /name or /space/name of letters, digits and single underscores, no digit first", bridges.ErrTopicName, name)
	default:
		return nil
	}
}

// format is how the messages of one topic stand in one recording.
type format struct {
	schema Schema
	// md5 is ROS 1's sum of the message's definition, empty for others.
	md5 string
	// encode appends a sample's message; it is called by one goroutine at a time.
	encode func(dst []byte, sample bridges.Stamped) ([]byte, error)
}

// formats makes a topic's format for a recording of a profile.
type formats func(p profile) (*format, error)

// format makes a topic's format for a recording of a profile.
func (c carriers) format(p profile) (*format, error) {
	switch p {
	case profileROS1:
		return ros1Format(c.ros1)
	case profileFoxglove:
		if f, ok := foxgloveFormat(c.standard.Sample); ok {
			return f, nil
		}
	}
	return ros2Format(c.standard)
}

// ros1Format is ROS 1's serialisation, with its definitions.
func ros1Format(pub ros.Publication) (*format, error) {
	text, err := ros.ROS1.Definition(pub.Type)
	if err != nil {
		return nil, err
	}
	sum, err := ros.MD5(pub.Type)
	if err != nil {
		return nil, err
	}
	convert, encoder := pub.Converter(), new(ros1.Encoder)
	return &format{
		schema: Schema{Name: ros.ROS1.TypeName(pub.Type), Encoding: "ros1msg", Data: []byte(text), MessageEncoding: "ros1"},
		md5:    sum,
		encode: func(dst []byte, sample bridges.Stamped) ([]byte, error) {
			message, err := convert(sample)
			if err != nil {
				return dst, err
			}
			return encoder.Append(dst, message), encoder.Err()
		},
	}, nil
}

// foxgloveFormat is protobuf with Foxglove's schema of the sample, if there is one.
func foxgloveFormat(sampleType reflect.Type) (*format, bool) {
	for _, pub := range foxglovemsg.Publications() {
		if pub.Sample != sampleType || pub.Schema.Encoding != "protobuf" {
			continue
		}
		convert := pub.Converter()
		return &format{schema: Schema(pub.Schema), encode: func(dst []byte, sample bridges.Stamped) ([]byte, error) {
			message, err := convert(sample)
			if err != nil {
				return dst, err
			}
			return message.Append(dst)
		}}, true
	}
	return nil, false
}

// ros2Format is CDR with ROS 2's definitions.
func ros2Format(pub ros.Publication) (*format, error) {
	text, err := ros.ROS2.Definition(pub.Type)
	if err != nil {
		return nil, err
	}
	convert, encoder := pub.Converter(), new(cdr.Encoder)
	return &format{
		schema: Schema{Name: pub.Type, Encoding: "ros2msg", Data: []byte(text), MessageEncoding: "cdr"},
		encode: func(dst []byte, sample bridges.Stamped) ([]byte, error) {
			message, err := convert(sample)
			if err != nil {
				return dst, err
			}
			return encoder.Append(dst, message), nil
		},
	}, nil
}

// carriers are the messages of one type of sample, by profile.
type carriers struct{ standard, ros1 ros.Publication }

// register declares the type of sample.
func (c carriers) register(p *bridges.Plugin) error {
	return c.standard.RegisterSample(p, c.standard.Type, func(b bridges.Instance, info *bridges.PublishedTopic) (ros.SendSample, error) {
		t, err := b.(*instance).addTopic(info, c.format)
		if err != nil {
			return nil, err
		}
		return t.publish, nil
	})
}

// messages returns what carries each type of sample. Boxes are vision_msgs 4, which is
// ROS 2's alone: ROS 1's users have lgsvl_msgs'.
func messages() []carriers {
	svl := map[reflect.Type]ros.Publication{}
	for _, pub := range rossample.SVL() {
		svl[pub.Sample] = pub
	}
	var list []carriers
	for _, pub := range rossample.Standard() {
		c := carriers{pub, pub}
		if strings.HasPrefix(pub.Type, "vision_msgs/") {
			c.ros1 = svl[pub.Sample]
		}
		list = append(list, c)
	}
	return list
}
