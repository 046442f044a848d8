package ros

import (
	"crypto/md5"
	"encoding/hex"
	"slices"
	"strings"
)

// header1 is std_msgs/Header in ROS 1.
const header1 = "uint32 seq\ntime stamp\nstring frame_id\n"

// message1 is a message as genmsg reads it.
type message1 struct {
	text      string   // its .msg file
	constants []string // as md5 sums have them
	fields    []field1
}

type field1 struct {
	// typ is a primitive's name or "pkg/Type"; array the brackets.
	typ, array, name string
	nested           bool // the field is a message
}

// parse1 turns the definition that ROS 2 has for "pkg/Type" into ROS 1's. There time and
// duration are primitives, fields have no defaults, no bounds and some other names, and a
// string constant isn't quoted.
func parse1(name, ros2 string) (*message1, error) {
	lines, err := Lines(name, ros2)
	if err != nil {
		return nil, err
	}
	d := &message1{}
	var text strings.Builder
	for _, l := range lines {
		if l.Constant {
			constant := l.Type + " " + l.Name + "=" + unquoted(l)
			d.constants = append(d.constants, constant)
			text.WriteString(constant + "\n")
			continue
		}
		f := field1{typ: ROS1.TypeName(l.Type), array: l.Array, name: nameInROS1(name, l.Name), nested: l.Message}
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
func unquoted(l Line) string {
	if n := len(l.Value); l.Type == "string" && n >= 2 && strings.ContainsAny(l.Value[:1], `"'`) && l.Value[0] == l.Value[n-1] {
		return l.Value[1 : n-1]
	}
	return l.Value
}

// load1 reads the definition of "pkg/Type".
func load1(name string) (*message1, error) {
	if name == "std_msgs/Header" {
		return parse1(name, header1)
	}
	text, err := MessageFile(name)
	if err != nil {
		return nil, err
	}
	return parse1(name, text)
}

// definition1 is Definition in ROS 1.
func definition1(typeName string) (string, error) {
	root := ROS1.TypeName(typeName)
	d, err := load1(root)
	if err != nil {
		return "", err
	}
	text := d.text
	seen := []string{root}
	var add func(d *message1) error
	add = func(d *message1) error {
		for _, f := range d.fields {
			if !f.nested || slices.Contains(seen, f.typ) {
				continue
			}
			seen = append(seen, f.typ)
			part, err := load1(f.typ)
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

// MD5 returns the sum by which ROS 1 knows a version of a message, for its full name. It is
// that of its constants and fields, with the sums of its parts in place of their types (genmsg
// 0.6). The sums of vision_msgs are those of ROS 2's version 4: ROS 1's package of that name
// has other fields, so its nodes refuse ours.
func MD5(typeName string) (string, error) {
	d, err := load1(ROS1.TypeName(typeName))
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
	request, response, err := ServiceDefinition(typeName)
	if err != nil {
		return "", err
	}
	var both string
	for _, text := range []string{request, response} {
		d, err := parse1(ROS1.TypeName(typeName), text)
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
func (d *message1) sumText() (string, error) {
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
