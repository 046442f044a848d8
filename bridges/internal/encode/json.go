package encode

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/raybridge/raybridge/bridges/ros"
)

// NonFinite is how NaN and infinities are written.
type NonFinite uint8

// Ways of writing them.
const (
	// Null is what browsers' JSON.parse takes, and what rosbridge's server sends.
	Null NonFinite = iota
	// Words are NaN, Infinity and -Infinity: what Python's JSON modules write and read, and
	// rosbridge's server with them, which refuses null.
	Words
	// Max is the largest number of the float's width, with the infinity's sign. NaN is the
	// positive one, beyond every range.
	Max
)

// jsonForm writes JSON.
type jsonForm struct{ *TreeEncoder }

// comma separates members. No value ends in a bracket that opens.
func comma(dst []byte) []byte {
	if last := dst[len(dst)-1]; last == '{' || last == '[' {
		return dst
	}
	return append(dst, ',')
}

// Value appends true, false or a number.
func (e jsonForm) Value(name string, v ros.Ref) {
	e.member(0, name)
	switch v.Kind() {
	case ros.KindBool:
		e.bool(v.Bool())
	case ros.KindFloat32, ros.KindFloat64:
		e.float(v.Float(), 8*v.Size())
	case ros.KindUint64:
		e.large(v.Uint())
	default:
		e.int(v.Int())
	}
}

func (e jsonForm) member(_ byte, name string) {
	e.buf = append(append(comma(e.buf), '"'), e.names.Of(name)...)
	e.buf = append(e.buf, '"', ':')
}

func (e jsonForm) element(_ byte, i int) {
	if i > 0 {
		e.buf = append(e.buf, ',')
	}
}

func (e jsonForm) open(typ byte, _ int) int {
	bracket := byte('{')
	if typ == typeArray {
		bracket = '['
	}
	e.buf = append(e.buf, bracket)
	return 0
}

func (e jsonForm) close(typ byte, _ int) {
	bracket := byte('}')
	if typ == typeArray {
		bracket = ']'
	}
	e.buf = append(e.buf, bracket)
}

func (e jsonForm) bool(b bool)    { e.buf = strconv.AppendBool(e.buf, b) }
func (e jsonForm) int(n int64)    { e.buf = strconv.AppendInt(e.buf, n, 10) }
func (e jsonForm) large(n uint64) { e.buf = strconv.AppendUint(e.buf, n, 10) }
func (e jsonForm) text(s string)  { e.buf = appendQuoted(e.buf, s) }

func (e jsonForm) float(f float64, bits int) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		var altered bool
		e.buf, altered = e.NonFinite.Append(e.buf, f, bits)
		e.altered = e.altered || altered
		return
	}
	e.buf = appendFinite(e.buf, f, bits)
}

// bytes appends base64.
func (e jsonForm) bytes(_ string, v *ros.Bytes) {
	data := v.Data
	if v.Source != nil {
		e.made = slices.Grow(e.made[:0], v.Len())[:v.Len()]
		v.Put(e.made)
		data = e.made
	}
	e.buf = append(e.buf, '"')
	e.buf = appendBase64(e.buf, data)
	e.buf = append(e.buf, '"')
}

func (jsonForm) numbers(string, ros.Array) bool { return false }

// Append appends a float of so many bits that isn't finite, and reports whether it reads
// back as another.
func (n NonFinite) Append(dst []byte, f float64, bits int) (out []byte, altered bool) {
	switch {
	case n == Words && math.IsNaN(f):
		return append(dst, "NaN"...), false
	case n == Words && f > 0:
		return append(dst, "Infinity"...), false
	case n == Words:
		return append(dst, "-Infinity"...), false
	case n == Null:
		return append(dst, "null"...), true
	}
	most := math.MaxFloat64
	if bits == 32 {
		most = math.MaxFloat32
	}
	if f < 0 {
		most = -most
	}
	return appendFinite(dst, most, bits), true
}

// appendFinite appends the shortest text for a float of so many bits. It has an exponent only
// where it would be long else, as JavaScript writes numbers.
func appendFinite(dst []byte, f float64, bits int) []byte {
	if f == 0 && math.Signbit(f) {
		return append(dst, "-0.0"...) // many readers take -0 for an integer
	}
	format := byte('f')
	if abs := math.Abs(f); abs != 0 && (abs < 1e-6 || abs >= 1e21) {
		format = 'e'
	}
	dst = strconv.AppendFloat(dst, f, format, -1, bits)
	// Go writes two digits of an exponent at least: 1e-07.
	if n := len(dst); format == 'e' && dst[n-2] == '0' && (dst[n-3] == '-' || dst[n-3] == '+') {
		dst = append(dst[:n-2], dst[n-1])
	}
	return dst
}

const hex = "0123456789abcdef"

func appendQuoted(dst []byte, s string) []byte {
	dst = append(dst, '"')
	start := 0
	for i := 0; i < len(s); {
		b := s[i]
		if b >= ' ' && b < utf8.RuneSelf && b != '"' && b != '\\' {
			i++
			continue
		}
		size := 1
		if b >= utf8.RuneSelf {
			var r rune
			if r, size = utf8.DecodeRuneInString(s[i:]); r != utf8.RuneError || size > 1 {
				i += size
				continue
			}
		}
		dst = append(dst, s[start:i]...)
		dst = appendEscape(dst, b)
		i += size
		start = i
	}
	return append(append(dst, s[start:]...), '"')
}

// appendEscape appends a byte that can't stand in a string as it is.
func appendEscape(dst []byte, b byte) []byte {
	switch {
	case b == '"' || b == '\\':
		return append(dst, '\\', b)
	case b == '\n':
		return append(dst, '\\', 'n')
	case b == '\r':
		return append(dst, '\\', 'r')
	case b == '\t':
		return append(dst, '\\', 't')
	case b >= utf8.RuneSelf:
		return append(dst, `\ufffd`...)
	}
	return append(dst, '\\', 'u', '0', '0', hex[b>>4], hex[b&15])
}

// pairs has the two characters of base64's alphabet (RFC 4648, section 4) that 12 bits
// are, the first in the lower byte.
var pairs = func() (table [1 << 12]uint16) {
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
	for i := range table {
		table[i] = uint16(alphabet[i>>6]) | uint16(alphabet[i&63])<<8
	}
	return table
}()

// appendBase64 appends src with padding. It takes six bytes at a time, whose eight
// characters are one store, about twice as fast as encoding/base64 (BenchmarkBase64), which
// does the rest.
func appendBase64(dst, src []byte) []byte {
	start, size := len(dst), base64.StdEncoding.EncodedLen(len(src))
	dst = slices.Grow(dst, size)[:start+size]
	out := dst[start:]
	for len(src) >= 8 && len(out) >= 8 {
		v := binary.BigEndian.Uint64(src) // the last two bytes are of the next six
		binary.LittleEndian.PutUint64(out, uint64(pairs[v>>52])|
			uint64(pairs[v>>40&0xfff])<<16|
			uint64(pairs[v>>28&0xfff])<<32|
			uint64(pairs[v>>16&0xfff])<<48)
		src, out = src[6:], out[8:]
	}
	base64.StdEncoding.Encode(out, src)
	return dst
}

// maxScratch is how much memory a decoder keeps for the next message.
const maxScratch = 64 << 10

// jsonSyntax reads JSON.
type jsonSyntax struct {
	data    []byte
	scratch []byte // a string whose escapes were resolved
}

var _ syntax = (*jsonSyntax)(nil)

// release gives up the data, and memory beyond maxScratch.
func (s *jsonSyntax) release() {
	s.data = nil
	if cap(s.scratch) > maxScratch {
		s.scratch = nil
	}
}

// at returns the byte at i, 0 at the end: JSON has none outside of strings.
func (s *jsonSyntax) at(i int) byte {
	if i < len(s.data) {
		return s.data[i]
	}
	return 0
}

// unexpected is the error of a byte that isn't what there must be.
func (s *jsonSyntax) unexpected(i int, want string) error {
	if i >= len(s.data) {
		return fmt.Errorf("want %s: %w", want, ErrTruncated)
	}
	return fmt.Errorf("%q at byte %d, want %s: %w", s.data[i], i, want, ErrMalformed)
}

// wrongType is the error of a value that isn't what the field is.
func (s *jsonSyntax) wrongType(i int, want string) error {
	if end, err := s.skip(i, 0); err != nil || end == i {
		return s.unexpected(i, want)
	}
	return fmt.Errorf("value at byte %d is not %s: %w", i, want, ErrType)
}

func (s *jsonSyntax) space(i int) int {
	for i < len(s.data) && (s.data[i] == ' ' || s.data[i] == '\n' || s.data[i] == '\r' || s.data[i] == '\t') {
		i++
	}
	return i
}

// Object enters an object; the cursor's N counts members.
func (s *jsonSyntax) Object(v node) (cursor, error) {
	if s.at(v.Pos) != '{' {
		return cursor{}, s.wrongType(v.Pos, "an object")
	}
	return cursor{Pos: v.Pos + 1}, nil
}

// Member steps to the next member.
func (s *jsonSyntax) Member(c *cursor) ([]byte, node, bool, error) {
	more, err := s.next(c, '}')
	if err != nil || !more {
		return nil, node{}, false, err
	}
	name, i, err := s.text(c.Pos)
	if err != nil {
		return nil, node{}, false, err
	}
	if i = s.space(i); s.at(i) != ':' {
		return nil, node{}, false, s.unexpected(i, "a colon")
	}
	c.Pos = s.space(i + 1)
	return name, node{Pos: c.Pos}, true, nil
}

// Array enters an array.
func (s *jsonSyntax) Array(v node) (cursor, error) {
	if s.at(v.Pos) != '[' {
		return cursor{}, s.wrongType(v.Pos, "an array")
	}
	return cursor{Pos: v.Pos + 1}, nil
}

// Element steps to the next element.
func (s *jsonSyntax) Element(c *cursor) (node, bool, error) {
	more, err := s.next(c, ']')
	return node{Pos: c.Pos}, more, err
}

// next steps over the comma to the next member or element, or over the closing bracket.
func (s *jsonSyntax) next(c *cursor, closing byte) (bool, error) {
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
func (s *jsonSyntax) Skip(v node) (int, error) { return s.skip(v.Pos, 0) }

func (s *jsonSyntax) skip(i, depth int) (int, error) {
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
		if depth == maxDepth {
			return 0, fmt.Errorf("byte %d: %w", i, ErrDepth)
		}
		return s.skipAll(cursor{Pos: i + 1}, c == '{', depth+1)
	}
	return s.number(i)
}

// skipAll steps over the rest of an object or an array.
func (s *jsonSyntax) skipAll(c cursor, object bool, depth int) (int, error) {
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
func (s *jsonSyntax) word(i int, word string) (int, error) {
	if rest := s.data[i:]; len(rest) >= len(word) && string(rest[:len(word)]) == word {
		return i + len(word), nil
	}
	return 0, fmt.Errorf("word at byte %d isn't %s: %w", i, word, ErrMalformed)
}

// number returns the end of a number, of digits or of the words for what JSON hasn't got.
func (s *jsonSyntax) number(i int) (int, error) {
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

func (s *jsonSyntax) digits(i int) int {
	for c := s.at(i); c >= '0' && c <= '9'; c = s.at(i) {
		i++
	}
	return i
}

// Null reports whether a value is null.
func (s *jsonSyntax) Null(v node) (int, bool) {
	if s.at(v.Pos) != 'n' {
		return 0, false
	}
	end, err := s.word(v.Pos, "null")
	return end, err == nil
}

// Bool reads true or false.
func (s *jsonSyntax) Bool(v node) (bool, int, error) {
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
func (s *jsonSyntax) isNumber(i int) bool {
	c := s.at(i)
	return c == '-' || c >= '0' && c <= '9'
}

// Integer reads a number, also one like 1.0 or 1e3.
func (s *jsonSyntax) Integer(v node) (integer, int, error) {
	if !s.isNumber(v.Pos) {
		return integer{}, 0, s.wrongType(v.Pos, "a number")
	}
	end, err := s.number(v.Pos)
	if err != nil {
		return integer{}, 0, err
	}
	text := s.data[v.Pos:end]
	if bytes.IndexByte(text, '.') >= 0 || bytes.IndexByte(text, 'e') >= 0 || bytes.IndexByte(text, 'E') >= 0 {
		f, err := parseFloat(text, 64)
		if err != nil {
			return integer{}, 0, err
		}
		n, err := toInteger(f)
		return n, end, err
	}
	negative := text[0] == '-'
	n, err := strconv.ParseUint(string(bytes.TrimPrefix(text, []byte("-"))), 10, 64)
	if err != nil {
		return integer{}, 0, fmt.Errorf("%.40s for an integer: %w", text, ErrRange)
	}
	return integer{Negative: negative, Magnitude: n}, end, nil
}

// Float reads a number, also one of the words NaN, Infinity and -Infinity; null is NaN.
func (s *jsonSyntax) Float(v node, bits int) (float64, int, error) {
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
		return 0, fmt.Errorf("%.40s in a float%d: %w", text, bits, ErrRange)
	}
	return f, nil
}

// Text reads a string.
func (s *jsonSyntax) Text(v node) ([]byte, int, error) {
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
func (s *jsonSyntax) Bytes(dst []byte, v node) ([]byte, int, bool, error) {
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
		return dst, 0, true, fmt.Errorf("base64 at byte %d: %w: %w", v.Pos, err, ErrType)
	}
	return data, end, true, nil
}

// text reads a string without its quotes, its escapes resolved.
func (s *jsonSyntax) text(i int) (text []byte, end int, err error) {
	text, end, err = s.raw(i)
	if err != nil || bytes.IndexByte(text, '\\') < 0 {
		return text, end, err
	}
	s.scratch = unescape(s.scratch[:0], text)
	return s.scratch, end, nil
}

// raw checks a string and returns what is between its quotes.
func (s *jsonSyntax) raw(i int) (text []byte, end int, err error) {
	if s.at(i) != '"' {
		return nil, 0, s.unexpected(i, "a string")
	}
	start := i + 1
	n := bytes.IndexByte(s.data[start:], '"')
	if n < 0 {
		return nil, 0, s.unexpected(len(s.data), "the end of a string")
	}
	text = s.data[start : start+n]
	if bytes.IndexByte(text, '\\') < 0 && !hasControl(text) {
		return text, start + n + 1, nil
	}
	for i = start; ; i++ {
		switch c := s.at(i); {
		case i >= len(s.data):
			return nil, 0, s.unexpected(i, "the end of a string")
		case c == '"':
			return s.data[start:i], i + 1, nil
		case c < ' ':
			return nil, 0, s.unexpected(i, "it escaped")
		case c == '\\':
			if i, err = s.escape(i + 1); err != nil {
				return nil, 0, err
			}
		}
	}
}

// escape checks what follows a backslash and returns its last byte's place.
func (s *jsonSyntax) escape(i int) (int, error) {
	switch s.at(i) {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return i, nil
	case 'u':
		for digit := i + 1; digit <= i+4; digit++ {
			if hexDigit(s.at(digit)) < 0 {
				return 0, s.unexpected(digit, "a hexadecimal digit")
			}
		}
		return i + 4, nil
	}
	return 0, s.unexpected(i, "an escape")
}

// hasControl reports whether a byte is below a space, looking at eight at a time. A byte below
// 0x20 borrows from its highest bit when 0x20 is taken away, unless that bit was set. The
// borrow of a byte may lie to the next one, but only after the truth was told.
func hasControl(b []byte) bool {
	const each, high = 0x2020202020202020, 0x8080808080808080
	for ; len(b) >= 8; b = b[8:] {
		if v := binary.LittleEndian.Uint64(b); (v-each)&^v&high != 0 {
			return true
		}
	}
	for _, c := range b {
		if c < ' ' {
			return true
		}
	}
	return false
}

func hexDigit(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c >= 'a' && c <= 'f':
		return int(c-'a') + 10
	case c >= 'A' && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}

// unescape appends a checked string, its escapes resolved. Halves of surrogate pairs
// without the other become U+FFFD.
func unescape(dst, text []byte) []byte {
	for {
		i := bytes.IndexByte(text, '\\')
		if i < 0 {
			return append(dst, text...)
		}
		dst = append(dst, text[:i]...)
		c := text[i+1]
		text = text[i+2:]
		switch c {
		case 'b':
			c = '\b'
		case 'f':
			c = '\f'
		case 'n':
			c = '\n'
		case 'r':
			c = '\r'
		case 't':
			c = '\t'
		case 'u':
			r := codeUnit(text)
			text = text[4:]
			if utf16.IsSurrogate(r) {
				second := rune(utf8.RuneError)
				if len(text) >= 6 && text[0] == '\\' && text[1] == 'u' {
					second = codeUnit(text[2:])
				}
				if r = utf16.DecodeRune(r, second); r != utf8.RuneError {
					text = text[6:]
				}
			}
			dst = utf8.AppendRune(dst, r)
			continue
		}
		dst = append(dst, c)
	}
}

// codeUnit returns the number that four hexadecimal digits are.
func codeUnit(text []byte) rune {
	var r rune
	for _, c := range text[:4] {
		r = r<<4 | rune(hexDigit(c))
	}
	return r
}

// JSONMembers calls member with each member of the object that data is, in their order, until
// one returns an error. The value is a part of data, checked but not decoded; the name is
// good until member returns. Nothing is copied, however large the values are.
func JSONMembers(data []byte, member func(name, value []byte) error) error {
	s := jsonSyntax{data: data}
	c, err := s.Object(node{Pos: s.space(0)})
	for err == nil {
		var name []byte
		var v node
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

// JSONElements does the same with the elements of the array that data is.
func JSONElements(data []byte, element func(value []byte) error) error {
	s := jsonSyntax{data: data}
	c, err := s.Array(node{Pos: s.space(0)})
	for err == nil {
		var v node
		var more bool
		if v, more, err = s.Element(&c); err != nil || !more {
			break
		}
		c.Pos, err = s.pass(v, element)
	}
	return s.ended(c.Pos, err)
}

// pass hands a value on and returns its end.
func (s *jsonSyntax) pass(v node, take func(value []byte) error) (int, error) {
	end, err := s.Skip(v)
	if err != nil {
		return 0, err
	}
	return end, take(s.data[v.Pos:end:end])
}

// ended checks that nothing follows.
func (s *jsonSyntax) ended(end int, err error) error {
	if err != nil {
		return err
	}
	if end = s.space(end); end < len(s.data) {
		return s.unexpected(end, "the end")
	}
	return nil
}

// JSONText returns the string that a value is, "" for null.
func JSONText(value []byte) (string, error) {
	s := jsonSyntax{data: value}
	if _, null := s.Null(node{}); null {
		return "", nil
	}
	text, _, err := s.Text(node{})
	return string(text), err
}

// JSONNumber returns the number that a value is, 0 for null.
func JSONNumber(value []byte) (float64, error) {
	s := jsonSyntax{data: value}
	f, _, err := s.Float(node{}, 64)
	if math.IsNaN(f) {
		f = 0
	}
	return f, err
}

// errFraction says that a number isn't whole.
var errFraction = errors.New("a number with a fraction")

// JSONWhole returns the integer that a value is, 0 for null.
func JSONWhole(value []byte) (int, error) {
	f, err := JSONNumber(value)
	if err != nil || f != math.Trunc(f) || math.Abs(f) > 1<<53 {
		return 0, errors.Join(err, fmt.Errorf("%w or too large: %.40s", errFraction, value))
	}
	return int(f), nil
}

// StrictJSON returns data with the words NaN, Infinity and -Infinity as strings, as protobuf's
// JSON has them. Then it is JSON for others than TreeDecoder too. Data without these words is
// returned as it is.
func StrictJSON(data []byte) []byte {
	if !bytes.Contains(data, []byte("NaN")) && !bytes.Contains(data, []byte("Infinity")) {
		return data
	}
	out := make([]byte, 0, len(data)+64)
	for i := 0; i < len(data); {
		n, word := 1, false
		switch c := data[i]; {
		case c == '"':
			s := jsonSyntax{data: data}
			_, end, err := s.raw(i)
			if n = end - i; err != nil {
				n = len(data) - i
			}
		case c == 'N' || c == 'I' || c == '-' && i+1 < len(data) && data[i+1] == 'I':
			s := jsonSyntax{data: data}
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
