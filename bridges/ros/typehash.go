package ros

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// hashPrefix is what a hash of this version begins with.
const hashPrefix = "RIHS01_"

// typeIDs are the numbers of type_description_interfaces/msg/FieldType. An octet is
// "byte" in a definition, and "char" is an uint8.
var typeIDs = map[string]int{
	"int8": 2, "uint8": 3, "int16": 4, "uint16": 5, "int32": 6, "uint32": 7, "int64": 8, "uint64": 9,
	"float32": 10, "float64": 11, "char": 3, "bool": 15, "byte": 16, "string": 17,
}

// The numbers of a nested message and of a string with a bound.
const (
	nestedID        = 1
	boundedStringID = 21
)

// What raises an element's type: an array of a fixed size, a sequence with a bound, and a
// sequence of any size.
const (
	arrayID           = 48
	boundedSequenceID = 96
	sequenceID        = 144
)

// TypeHash returns the hash by which ROS 2, from Iron on, tells whether two nodes mean the same
// message type. For a message's full name such as "sensor_msgs/msg/Image" it is "RIHS01_" and
// 64 hexadecimal digits. It follows the ROS Interface Hashing Standard, version 1 (REP-2011,
// "type version hash"). It is the SHA-256 of a message's description and those of all messages
// that it is made of, written as JSON. Field names count, default values and constants don't.
// It is an error if the message has no definition.
func TypeHash(typeName string) (string, error) {
	text, err := description(typeName)
	if err != nil {
		return "", fmt.Errorf("hash of %s: %w", typeName, err)
	}
	sum := sha256.Sum256(text)
	return hashPrefix + hex.EncodeToString(sum[:]), nil
}

// description writes a type_description_interfaces/msg/TypeDescription as
// rosidl_generator_type_description does. Keys are in the definition's order, ", " and ": "
// between them, without default values. Referenced types are in the order of their names.
func description(typeName string) ([]byte, error) {
	referenced := map[string][]byte{}
	root, err := individual(typeName, referenced)
	if err != nil {
		return nil, err
	}
	var text bytes.Buffer
	text.WriteString(`{"type_description": `)
	text.Write(root)
	text.WriteString(`, "referenced_type_descriptions": [`)
	for i, name := range slices.Sorted(maps.Keys(referenced)) {
		if i > 0 {
			text.WriteString(", ")
		}
		text.Write(referenced[name])
	}
	text.WriteString("]}")
	return text.Bytes(), nil
}

// individual describes one type, and adds those it is made of to referenced.
func individual(typeName string, referenced map[string][]byte) ([]byte, error) {
	fields, err := Fields(typeName)
	if err != nil {
		return nil, err
	}
	if len(fields) == 0 { // IDL has no empty structures
		fields = []Field{{Type: "uint8", Name: "structure_needs_at_least_one_member"}}
	}
	var text bytes.Buffer
	fmt.Fprintf(&text, `{"type_name": "%s", "fields": [`, typeName)
	for i, f := range fields {
		id, nested := typeIDs[f.Type], ""
		if f.Message {
			id, nested = nestedID, f.Type
			if _, ok := referenced[nested]; !ok {
				referenced[nested] = nil // a type isn't made of itself
				if referenced[nested], err = individual(nested, referenced); err != nil {
					return nil, err
				}
			}
		}
		if f.Bound > 0 {
			id = boundedStringID
		}
		if id == 0 {
			return nil, fmt.Errorf("field %s: no number for type %q", f.Name, f.Type)
		}
		offset, capacity, err := array(f.Array)
		if err != nil {
			return nil, fmt.Errorf("field %s: %w", f.Name, err)
		}
		if i > 0 {
			text.WriteString(", ")
		}
		fmt.Fprintf(&text, `{"name": "%s", "type": {"type_id": %d, "capacity": %d, "string_capacity": %d, "nested_type_name": "%s"}}`,
			f.Name, id+offset, capacity, f.Bound, nested)
	}
	text.WriteString("]}")
	return text.Bytes(), nil
}

// array reads the brackets of a field: "", "[]", "[<=N]" or "[N]".
func array(brackets string) (offset, capacity int, err error) {
	switch brackets {
	case "":
		return 0, 0, nil
	case "[]":
		return sequenceID, 0, nil
	}
	offset = arrayID
	digits, bounded := strings.CutPrefix(strings.Trim(brackets, "[]"), "<=")
	if bounded {
		offset = boundedSequenceID
	}
	capacity, err = strconv.Atoi(digits)
	if err != nil {
		return 0, 0, fmt.Errorf("array %q: %w", brackets, err)
	}
	return offset, capacity, nil
}
