package gltf

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/qmuntal/gltf"
)

// The .glb container (glTF 2.0, section 4.4).
const (
	glbMagic      = "glTF"
	glbHeaderSize = 12
	chunkHeader   = 8
	chunkJSON     = 0x4e4f534a
	chunkBIN      = 0x004e4942
)

// split takes a file apart: its JSON, and the binary chunk of a .glb or nil.
func split(data []byte) (doc, bin []byte, err error) {
	if !bytes.HasPrefix(data, []byte(glbMagic)) {
		return bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")), nil, nil
	}
	if len(data) < glbHeaderSize {
		return nil, nil, invalid("the .glb header needs %d bytes, the file has %d", glbHeaderSize, len(data))
	}
	if version := binary.LittleEndian.Uint32(data[4:]); version != 2 {
		return nil, nil, faultf(ErrUnsupported, ".glb version %d: convert it to version 2", version)
	}
	total := uint64(binary.LittleEndian.Uint32(data[8:]))
	if total > uint64(len(data)) || total < glbHeaderSize {
		return nil, nil, invalid("the .glb header says %d bytes, the file has %d", total, len(data))
	}
	doc, rest, err := chunk(data[glbHeaderSize:total], chunkJSON)
	if err != nil {
		return nil, nil, fmt.Errorf("first .glb chunk: %w", err)
	}
	doc = bytes.TrimRight(doc, "\x00") // padding; the specification asks for spaces
	if len(rest) > 0 {
		if bin, _, err = chunk(rest, chunkBIN); err != nil {
			return nil, nil, fmt.Errorf("second .glb chunk: %w", err)
		}
	}
	return doc, bin, nil
}

// chunk reads one .glb chunk. Of another type than wanted, the JSON chunk is
// an error and the optional BIN chunk is empty.
func chunk(data []byte, wantType uint32) (body, rest []byte, err error) {
	if len(data) < chunkHeader {
		return nil, nil, invalid("its header needs %d bytes, %d are left", chunkHeader, len(data))
	}
	size, typ := uint64(binary.LittleEndian.Uint32(data)), binary.LittleEndian.Uint32(data[4:])
	data = data[chunkHeader:]
	if size > uint64(len(data)) {
		return nil, nil, invalid("its header says %d bytes, %d are left", size, len(data))
	}
	if typ != wantType {
		if wantType == chunkJSON {
			return nil, nil, invalid("its type is %#08x, not JSON", typ)
		}
		return nil, data[size:], nil
	}
	return data[:size:size], data[size:], nil
}

// decode checks and decodes a document's JSON.
func decode(data []byte) (*gltf.Document, error) {
	var tree any
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	if err := d.Decode(&tree); err != nil {
		return nil, syntaxError(data, err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, invalid("%s: something follows the document", position(data, d.InputOffset()))
	}
	if err := checkVersion(tree); err != nil {
		return nil, err
	}
	if err := documentSchema(tree); err != nil {
		return nil, err
	}
	// What was checked is what is decoded: encoding/json would join a
	// property's repetitions, where the tree holds the last.
	checked, err := json.Marshal(tree)
	if err != nil {
		return nil, invalid("%w", err)
	}
	doc := new(gltf.Document)
	if err := json.Unmarshal(checked, doc); err != nil {
		return nil, invalid("%w", err)
	}
	return doc, nil
}

// checkVersion comes before the schema, since glTF 1.0 looks quite different.
func checkVersion(tree any) error {
	root, _ := tree.(map[string]any)
	asset, _ := root["asset"].(map[string]any)
	for _, key := range []string{"minVersion", "version"} {
		v, ok := asset[key].(string)
		if !ok {
			continue
		}
		if major, _, _ := strings.Cut(v, "."); major != "2" || key == "minVersion" && v != "2.0" {
			return within("asset."+key, faultf(ErrUnsupported, "glTF %s is not supported: convert the file to 2.0", cut(v)))
		}
		break // minVersion, where given, decides
	}
	return nil
}

// syntaxError says where in data an error of encoding/json is.
func syntaxError(data []byte, err error) error {
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &syntax):
		return invalid("%s: %w", position(data, syntax.Offset), err)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return invalid("%s: the JSON ends early: %w", position(data, int64(len(data))), io.ErrUnexpectedEOF)
	}
	return invalid("%w", err)
}

// position is a byte offset as line and column.
func position(data []byte, at int64) string {
	before := data[:min(max(at, 0), int64(len(data)))]
	line := 1 + bytes.Count(before, []byte("\n"))
	column := len(before) - (bytes.LastIndexByte(before, '\n') + 1)
	return fmt.Sprintf("line %d, column %d", line, column)
}
