package rosmsg

import "strings"

// Field is one field of a message's definition.
type Field struct {
	// Type is a primitive's name, such as "uint32", or a message's full name, such as
	// "std_msgs/msg/Header"; without the brackets of an array.
	Type string
	// Message says that Type is a message's name.
	Message bool
	// Array is "" for a single value, "[]" for any number, "[N]" for N of them.
	Array string
	Name  string
}

// Fields returns the fields of a message's definition in their order; its full name is
// of the form package/msg/Type. It is an error if there is no definition.
func Fields(typeName string) ([]Field, error) {
	name, err := shortName(typeName)
	if err != nil {
		return nil, err
	}
	definition, err := Definition(name)
	if err != nil {
		return nil, err
	}
	parsed := parseFields(name, definition)
	list := make([]Field, len(parsed))
	for i, f := range parsed {
		list[i] = Field{Type: f.Type, Array: f.Array, Name: f.Name}
		if pkg, short, ok := strings.Cut(f.Type, "/"); ok {
			list[i].Type, list[i].Message = pkg+"/msg/"+short, true
		}
	}
	return list, nil
}
