package rosjson

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"math"
	"strconv"
	"unicode/utf8"

	"github.com/raybridge/raybridge/bridges/internal/rostree"
	"github.com/raybridge/raybridge/bridges/ros"
)

// Decoder decodes messages. The zero value is ready, for ROS 2; one goroutine uses it at a
// time. It takes the names of both versions of ROS; Version decides whether there is a
// seq, and times before the epoch. uint8[] may be base64 or an array of numbers. Package
// rostree says what becomes of members and fields without a partner, and has the errors.
// What it sets holds no reference to the data, and never takes more memory than a small
// multiple of the data's size.
type Decoder struct {
	Version ros.Version

	tree   rostree.Decoder
	syntax syntax
}

// Decode sets m from an object, which is all there is but white space. On an error m is
// set in part.
func (d *Decoder) Decode(data []byte, m ros.Message) error {
	d.syntax.data = data
	defer func() {
		d.syntax.data = nil
		if cap(d.syntax.scratch) > maxScratch {
			d.syntax.scratch = nil
		}
	}()
	root := rostree.Value{Pos: d.syntax.space(0)}
	end, err := d.tree.Decode(rostree.Source{Syntax: &d.syntax, Root: root, Size: len(data), Version: d.Version}, m)
	if err != nil {
		return err
	}
	if end = d.syntax.space(end); end < len(data) {
		return fmt.Errorf("decode %s: %w", m.TypeName(), d.syntax.unexpected(end, "the end"))
	}
	return nil
}

// maxScratch is how much memory a decoder keeps for the next message.
const maxScratch = 64 << 10

// syntax is JSON.
type syntax struct {
	data    []byte
	scratch []byte // a string whose escapes were resolved
}

var _ rostree.Syntax = (*syntax)(nil)

// at returns the byte at i, 0 at the end: JSON has none outside of strings.
func (s *syntax) at(i int) byte {
	if i < len(s.data) {
		return s.data[i]
	}
	return 0
}

// unexpected is the error of a byte that isn't what there must be.
func (s *syntax) unexpected(i int, want string) error {
	if i >= len(s.data) {
		return fmt.Errorf("want %s: %w", want, rostree.ErrTruncated)
	}
	return fmt.Errorf("%q at byte %d, want %s: %w", s.data[i], i, want, rostree.ErrMalformed)
}

// wrongType is the error of a value that isn't what the field is.
func (s *syntax) wrongType(i int, want string) error {
	if end, err := s.skip(i, 0); err != nil || end == i {
		return s.unexpected(i, want)
	}
	return fmt.Errorf("value at byte %d is not %s: %w", i, want, rostree.ErrType)
}

func (s *syntax) space(i int) int {
	for i < len(s.data) && (s.data[i] == ' ' || s.data[i] == '\n' || s.data[i] == '\r' || s.data[i] == '\t') {
		i++
	}
	return i
}

// Object enters an object; the cursor's N counts members.
func (s *syntax) Object(v rostree.Value) (rostree.Cursor, error) {
	if s.at(v.Pos) != '{' {
		return rostree.Cursor{}, s.wrongType(v.Pos, "an object")
	}
	return rostree.Cursor{Pos: v.Pos + 1}, nil
}

// Member steps to the next member.
func (s *syntax) Member(c *rostree.Cursor) ([]byte, rostree.Value, bool, error) {
	more, err := s.next(c, '}')
	if err != nil || !more {
		return nil, rostree.Value{}, false, err
	}
	name, i, err := s.text(c.Pos)
	if err != nil {
		return nil, rostree.Value{}, false, err
	}
	if i = s.space(i); s.at(i) != ':' {
		return nil, rostree.Value{}, false, s.unexpected(i, "a colon")
	}
	c.Pos = s.space(i + 1)
	return name, rostree.Value{Pos: c.Pos}, true, nil
}

// Array enters an array.
func (s *syntax) Array(v rostree.Value) (rostree.Cursor, error) {
	if s.at(v.Pos) != '[' {
		return rostree.Cursor{}, s.wrongType(v.Pos, "an array")
	}
	return rostree.Cursor{Pos: v.Pos + 1}, nil
}

// Element steps to the next element.
func (s *syntax) Element(c *rostree.Cursor) (rostree.Value, bool, error) {
	more, err := s.next(c, ']')
	return rostree.Value{Pos: c.Pos}, more, err
}

// next steps over the comma to the next member or element, or over the closing bracket.
func (s *syntax) next(c *rostree.Cursor, closing byte) (bool, error) {
	i := s.space(c.Pos)
	if s.at(i) == closing {
		c.Pos = i + 1
		return false, nil
	}
	if c.N > 0 {
		if s.at(i) != ',' {
			return false, s.unexpected(i, "a comma or the end")
		}
		i = s.space(i + 1)
	}
	c.N++
	c.Pos = i
	return true, nil
}

// Skip returns the end of a value.
func (s *syntax) Skip(v rostree.Value) (int, error) { return s.skip(v.Pos, 0) }

func (s *syntax) skip(i, depth int) (int, error) {
	switch c := s.at(i); c {
	case '"':
		_, end, err := s.raw(i)
		return end, err
	case 't':
		return s.word(i, "true")
	case 'f':
		return s.word(i, "false")
	case 'n':
		return s.word(i, "null")
	case 'N':
		return s.word(i, "NaN")
	case 'I':
		return s.word(i, "Infinity")
	case '{', '[':
		if depth == rostree.MaxDepth {
			return 0, fmt.Errorf("byte %d: %w", i, rostree.ErrDepth)
		}
		return s.skipAll(rostree.Cursor{Pos: i + 1}, c == '{', depth+1)
	}
	return s.number(i)
}

// skipAll steps over the rest of an object or an array.
func (s *syntax) skipAll(c rostree.Cursor, object bool, depth int) (int, error) {
	for {
		var more bool
		var err error
		if object {
			_, _, more, err = s.Member(&c)
		} else {
			_, more, err = s.Element(&c)
		}
		if err != nil || !more {
			return c.Pos, err
		}
		if c.Pos, err = s.skip(c.Pos, depth); err != nil {
			return 0, err
		}
	}
}

// word steps over a literal.
func (s *syntax) word(i int, word string) (int, error) {
	if rest := s.data[i:]; len(rest) >= len(word) && string(rest[:len(word)]) == word {
		return i + len(word), nil
	}
	return 0, fmt.Errorf("word at byte %d isn't %s: %w", i, word, rostree.ErrMalformed)
}

// number returns the end of a number, of digits or of the words for what JSON hasn't got.
func (s *syntax) number(i int) (int, error) {
	if s.at(i) == 'N' {
		return s.word(i, "NaN")
	}
	if s.at(i) == '-' {
		i++
	}
	if s.at(i) == 'I' {
		return s.word(i, "Infinity")
	}
	end := s.digits(i)
	if end == i || s.data[i] == '0' && end > i+1 {
		return 0, s.unexpected(i, "a value")
	}
	if s.at(end) == '.' {
		fraction := end + 1
		if end = s.digits(fraction); end == fraction {
			return 0, s.unexpected(end, "a digit")
		}
	}
	if c := s.at(end); c == 'e' || c == 'E' {
		exponent := end + 1
		if c = s.at(exponent); c == '+' || c == '-' {
			exponent++
		}
		if end = s.digits(exponent); end == exponent {
			return 0, s.unexpected(end, "a digit")
		}
	}
	return end, nil
}

func (s *syntax) digits(i int) int {
	for c := s.at(i); c >= '0' && c <= '9'; c = s.at(i) {
		i++
	}
	return i
}

// Null reports whether a value is null.
func (s *syntax) Null(v rostree.Value) (int, bool) {
	if s.at(v.Pos) != 'n' {
		return 0, false
	}
	end, err := s.word(v.Pos, "null")
	return end, err == nil
}

// Bool reads true or false.
func (s *syntax) Bool(v rostree.Value) (bool, int, error) {
	switch s.at(v.Pos) {
	case 't':
		end, err := s.word(v.Pos, "true")
		return true, end, err
	case 'f':
		end, err := s.word(v.Pos, "false")
		return false, end, err
	}
	return false, 0, s.wrongType(v.Pos, "true or false")
}

// isNumber reports whether a value begins like a number.
func (s *syntax) isNumber(i int) bool {
	c := s.at(i)
	return c == '-' || c >= '0' && c <= '9'
}

// Integer reads a number, also one like 1.0 or 1e3.
func (s *syntax) Integer(v rostree.Value) (rostree.Integer, int, error) {
	if !s.isNumber(v.Pos) {
		return rostree.Integer{}, 0, s.wrongType(v.Pos, "a number")
	}
	end, err := s.number(v.Pos)
	if err != nil {
		return rostree.Integer{}, 0, err
	}
	text := s.data[v.Pos:end]
	if bytes.IndexByte(text, '.') >= 0 || bytes.IndexByte(text, 'e') >= 0 || bytes.IndexByte(text, 'E') >= 0 {
		f, err := parseFloat(text, 64)
		if err != nil {
			return rostree.Integer{}, 0, err
		}
		n, err := rostree.ToInteger(f)
		return n, end, err
	}
	negative := text[0] == '-'
	n, err := strconv.ParseUint(string(bytes.TrimPrefix(text, []byte("-"))), 10, 64)
	if err != nil {
		return rostree.Integer{}, 0, fmt.Errorf("%.40s for an integer: %w", text, rostree.ErrRange)
	}
	return rostree.Integer{Negative: negative, Magnitude: n}, end, nil
}

// Float reads a number, also one of the words NaN, Infinity and -Infinity; null is NaN.
func (s *syntax) Float(v rostree.Value, bits int) (float64, int, error) {
	if end, null := s.Null(v); null {
		return math.NaN(), end, nil
	}
	if c := s.at(v.Pos); !s.isNumber(v.Pos) && c != 'N' && c != 'I' {
		return 0, 0, s.wrongType(v.Pos, "a number")
	}
	end, err := s.number(v.Pos)
	if err != nil {
		return 0, 0, err
	}
	f, err := parseFloat(s.data[v.Pos:end], bits)
	return f, end, err
}

func parseFloat(text []byte, bits int) (float64, error) {
	f, err := strconv.ParseFloat(string(text), bits)
	if err != nil {
		return 0, fmt.Errorf("%.40s in a float%d: %w", text, bits, rostree.ErrRange)
	}
	return f, nil
}

// Text reads a string.
func (s *syntax) Text(v rostree.Value) ([]byte, int, error) {
	if s.at(v.Pos) != '"' {
		return nil, 0, s.wrongType(v.Pos, "a string")
	}
	text, end, err := s.text(v.Pos)
	if err == nil && !utf8.Valid(text) {
		text = bytes.ToValidUTF8(text, []byte("\ufffd"))
	}
	return text, end, err
}

// Bytes reads base64, with or without the padding at its end.
func (s *syntax) Bytes(dst []byte, v rostree.Value) ([]byte, int, bool, error) {
	if s.at(v.Pos) != '"' {
		return dst, 0, false, nil
	}
	text, end, err := s.text(v.Pos)
	if err != nil {
		return dst, 0, true, err
	}
	encoding := base64.StdEncoding
	if len(text)%4 != 0 && !bytes.HasSuffix(text, []byte("=")) {
		encoding = base64.RawStdEncoding
	}
	data, err := encoding.AppendDecode(dst, text)
	if err != nil {
		return dst, 0, true, fmt.Errorf("base64 at byte %d: %w: %w", v.Pos, err, rostree.ErrType)
	}
	return data, end, true, nil
}
