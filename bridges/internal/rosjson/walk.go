package rosjson

import (
	"bytes"
	"errors"
	"fmt"
	"math"

	"github.com/raybridge/raybridge/bridges/internal/rostree"
)

// Members calls member with each member of the object that data is, in their order, until
// one returns an error. The value is a part of data, checked but not decoded; the name is
// good until member returns. Nothing is copied, however large the values are.
func Members(data []byte, member func(name, value []byte) error) error {
	s := syntax{data: data}
	c, err := s.Object(rostree.Value{Pos: s.space(0)})
	for err == nil {
		var name []byte
		var v rostree.Value
		var more bool
		if name, v, more, err = s.Member(&c); err != nil || !more {
			break
		}
		if c.Pos, err = s.pass(v, func(value []byte) error { return member(name, value) }); err != nil {
			break
		}
	}
	return s.ended(c.Pos, err)
}

// Elements does the same with the elements of the array that data is.
func Elements(data []byte, element func(value []byte) error) error {
	s := syntax{data: data}
	c, err := s.Array(rostree.Value{Pos: s.space(0)})
	for err == nil {
		var v rostree.Value
		var more bool
		if v, more, err = s.Element(&c); err != nil || !more {
			break
		}
		c.Pos, err = s.pass(v, element)
	}
	return s.ended(c.Pos, err)
}

// pass hands a value on and returns its end.
func (s *syntax) pass(v rostree.Value, take func(value []byte) error) (int, error) {
	end, err := s.Skip(v)
	if err != nil {
		return 0, err
	}
	return end, take(s.data[v.Pos:end:end])
}

// ended checks that nothing follows.
func (s *syntax) ended(end int, err error) error {
	if err != nil {
		return err
	}
	if end = s.space(end); end < len(s.data) {
		return s.unexpected(end, "the end")
	}
	return nil
}

// Text returns the string that a value is, "" for null.
func Text(value []byte) (string, error) {
	s := syntax{data: value}
	if _, null := s.Null(rostree.Value{}); null {
		return "", nil
	}
	text, _, err := s.Text(rostree.Value{})
	return string(text), err
}

// Number returns the number that a value is, 0 for null.
func Number(value []byte) (float64, error) {
	s := syntax{data: value}
	f, _, err := s.Float(rostree.Value{}, 64)
	if math.IsNaN(f) {
		f = 0
	}
	return f, err
}

// errFraction says that a number isn't whole.
var errFraction = errors.New("a number with a fraction")

// Whole returns the integer that a value is, 0 for null.
func Whole(value []byte) (int, error) {
	f, err := Number(value)
	if err != nil || f != math.Trunc(f) || math.Abs(f) > 1<<53 {
		return 0, errors.Join(err, fmt.Errorf("%w or too large: %.40s", errFraction, value))
	}
	return int(f), nil
}

// Strict returns data with the words NaN, Infinity and -Infinity as strings, as protobuf's
// JSON has them: then it is JSON for others than Decoder too. Data without these words is
// returned as it is.
func Strict(data []byte) []byte {
	if !bytes.Contains(data, []byte("NaN")) && !bytes.Contains(data, []byte("Infinity")) {
		return data
	}
	out := make([]byte, 0, len(data)+64)
	for i := 0; i < len(data); {
		n, word := 1, false
		switch c := data[i]; {
		case c == '"':
			s := syntax{data: data}
			_, end, err := s.raw(i)
			if n = end - i; err != nil {
				n = len(data) - i
			}
		case c == 'N' || c == 'I' || c == '-' && i+1 < len(data) && data[i+1] == 'I':
			s := syntax{data: data}
			if end, err := s.number(i); err == nil {
				n, word = end-i, true
			}
		}
		if word {
			out = append(append(append(out, '"'), data[i:i+n]...), '"')
		} else {
			out = append(out, data[i:i+n]...)
		}
		i += n
	}
	return out
}
