package rosjson

import (
	"bytes"
	"encoding/binary"
	"unicode/utf16"
	"unicode/utf8"
)

// text reads a string without its quotes, its escapes resolved.
func (s *syntax) text(i int) (text []byte, end int, err error) {
	text, end, err = s.raw(i)
	if err != nil || bytes.IndexByte(text, '\\') < 0 {
		return text, end, err
	}
	s.scratch = unescape(s.scratch[:0], text)
	return s.scratch, end, nil
}

// raw checks a string and returns what is between its quotes.
func (s *syntax) raw(i int) (text []byte, end int, err error) {
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
func (s *syntax) escape(i int) (int, error) {
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

// hasControl reports whether a byte is below a space, looking at eight at a time: a byte
// below 0x20 borrows from its highest bit when 0x20 is taken away, unless that bit was
// set. The borrow of a byte may lie to the next one, but only after the truth was told.
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
