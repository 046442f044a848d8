package ros1

import (
	"crypto/md5"
	"encoding/hex"
	"slices"
	"strings"

	"github.com/raybridge/raybridge/bridges/ros"
)

// TypeName returns ROS 1's name of a type: "sensor_msgs/Image" for
// "sensor_msgs/msg/Image", "std_srvs/SetBool" for "std_srvs/srv/SetBool", and
// "std_srvs/SetBoolRequest" for "std_srvs/srv/SetBool_Request".
func TypeName(typeName string) string {
	for _, folder := range []string{"/msg/", "/srv/"} {
		if pkg, name, ok := strings.Cut(typeName, folder); ok {
			return pkg + "/" + strings.Replace(name, "_", "", 1)
		}
	}
	return typeName
}

// header is std_msgs/Header in ROS 1.
const header = "uint32 seq\ntime stamp\nstring frame_id\n"

// separator stands between the definitions of a full definition.
var separator = strings.Repeat("=", 80) + "\n"

// definition is a message as genmsg reads it.
type definition struct {
	text      string   // its .msg file
	constants []string // as md5 sums have them
	fields    []field
}

type field struct {
	// typ is a primitive's name or "pkg/Type"; array the brackets.
	typ, array, name string
	nested           bool // the field is a message
}

// parse turns the definition that ROS 2 has for "pkg/Type" into ROS 1's: time and duration
// are primitives, fields have no defaults, no bounds and some other names, and a string
// constant isn't quoted.
func parse(name, ros2 string) (*definition, error) {
	lines, err := ros.Lines(name, ros2)
	if err != nil {
		return nil, err
	}
	d := &definition{}
	var text strings.Builder
	for _, l := range lines {
		if l.Constant {
			constant := l.Type + " " + l.Name + "=" + unquoted(l)
			d.constants = append(d.constants, constant)
			text.WriteString(constant + "\n")
			continue
		}
		f := field{typ: TypeName(l.Type), array: l.Array, name: ros.ROS1Name(name, l.Name), nested: l.Message}
		if strings.HasPrefix(f.array, "[<=") {
			f.array = "[]"
		}
		written := l.Written
		switch f.typ {
		case "builtin_interfaces/Time":
			f.typ, f.nested, written = "time", false, "time"
		case "builtin_interfaces/Duration":
			f.typ, f.nested, written = "duration", false, "duration"
		case "std_msgs/Header":
			written = "Header"
		}
		d.fields = append(d.fields, f)
		text.WriteString(written + f.array + " " + f.name + "\n")
	}
	d.text = text.String()
	return d, nil
}

// unquoted returns a constant's value as ROS 1 has it.
func unquoted(l ros.Line) string {
	if n := len(l.Value); l.Type == "string" && n >= 2 && strings.ContainsAny(l.Value[:1], `"'`) && l.Value[0] == l.Value[n-1] {
		return l.Value[1 : n-1]
	}
	return l.Value
}

// load reads the definition of "pkg/Type".
func load(name string) (*definition, error) {
	if name == "std_msgs/Header" {
		return parse(name, header)
	}
	text, err := ros.Definition(name)
	if err != nil {
		return nil, err
	}
	return parse(name, text)
}

// Definition returns the message definition that ROS 1 sends when publisher and
// subscriber meet, for a message's full name: its own, and those of all messages that it
// is made of, each once, a message before its parts. Definitions have no comments. It is
// an error if the type isn't known.
func Definition(typeName string) (string, error) {
	root := TypeName(typeName)
	d, err := load(root)
	if err != nil {
		return "", err
	}
	text := d.text
	seen := []string{root}
	var add func(d *definition) error
	add = func(d *definition) error {
		for _, f := range d.fields {
			if !f.nested || slices.Contains(seen, f.typ) {
				continue
			}
			seen = append(seen, f.typ)
			part, err := load(f.typ)
			if err != nil {
				return err
			}
			text += "\n" + separator + "MSG: " + f.typ + "\n" + part.text
			if err := add(part); err != nil {
				return err
			}
		}
		return nil
	}
	return text, add(d)
}

// MD5 returns the sum by which ROS 1 knows a version of a message, for its full name:
// that of its constants and fields, with the sums of its parts in place of their types.
func MD5(typeName string) (string, error) {
	d, err := load(TypeName(typeName))
	if err != nil {
		return "", err
	}
	text, err := d.sumText()
	if err != nil {
		return "", err
	}
	return sum(text), nil
}

// ServiceMD5 returns the sum of a service, for its full name such as
// "std_srvs/srv/SetBool".
func ServiceMD5(typeName string) (string, error) {
	request, response, err := ros.ServiceDefinition(typeName)
	if err != nil {
		return "", err
	}
	var both string
	for _, text := range []string{request, response} {
		d, err := parse(TypeName(typeName), text)
		if err != nil {
			return "", err
		}
		part, err := d.sumText()
		if err != nil {
			return "", err
		}
		both += part
	}
	return sum(both), nil
}

func sum(text string) string {
	digest := md5.Sum([]byte(text))
	return hex.EncodeToString(digest[:])
}

// sumText is the text that a message's sum is of.
func (d *definition) sumText() (string, error) {
	lines := slices.Clone(d.constants)
	for _, f := range d.fields {
		typ := f.typ + f.array
		if f.nested {
			part, err := MD5(f.typ)
			if err != nil {
				return "", err
			}
			typ = part
		}
		lines = append(lines, typ+" "+f.name)
	}
	return strings.Join(lines, "\n"), nil
}
