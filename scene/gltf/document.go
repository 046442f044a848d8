package gltf

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/qmuntal/gltf"

	"github.com/raybridge/raybridge/internal/fault"
)

// The .glb container (glTF 2.0, section 4.4).
const (
	glbMagic      = "glTF"
	glbHeaderSize = 12
	chunkHeader   = 8
	chunkJSON     = 0x4e4f534a
	chunkBIN      = 0x004e4942
)

// byteOrderMark may stand before a text.
const byteOrderMark = "\ufeff"

// split takes a file apart: its JSON, and the binary chunk of a .glb or nil.
func split(data []byte) (doc, bin []byte, err error) {
	if !bytes.HasPrefix(data, []byte(glbMagic)) {
		return bytes.TrimPrefix(data, []byte(byteOrderMark)), nil, nil
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

// decode checks and decodes the document's JSON. An animation that breaks the schema is emptied.
func (l *loader) decode(data []byte) (*gltf.Document, error) {
	while := decodingJSON(data)
	if err := l.memory.Take("the model's JSON", while); err != nil {
		return nil, err
	}
	defer l.memory.Give(while)
	var tree any
	d := json.NewDecoder(&endingReader{l.ctx, bytes.NewReader(data)})
	d.UseNumber()
	err := d.Decode(&tree)
	if err != nil && !errors.Is(err, l.ctx.Err()) {
		return nil, syntaxError(data, err)
	}
	_, end := d.Token()
	if err := l.ctx.Err(); err != nil {
		return nil, err
	}
	if !errors.Is(end, io.EOF) {
		return nil, invalid("%s: something follows the document", position(data, d.InputOffset()))
	}
	if err := checkVersion(tree); err != nil {
		return nil, err
	}
	var seen fractions
	if err := documentSchema(&tree, &seen); err != nil {
		return nil, err
	}
	clips, _ := tree.(map[string]any)["animations"].([]any)
	for i := range clips {
		if err := animationSchema(&clips[i], &seen); err != nil {
			l.leaveOut(i, err)
			clips[i] = map[string]any{}
		}
	}
	if seen.count > 0 {
		l.warn("", "%s with a fraction or an exponent, the first is %s", fault.Count(seen.count, "whole number"), cut(seen.first))
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

// decodingJSON is how many bytes a document takes while it is decoded. That is its text three
// times, and a value or a key for each of some signs.
func decodingJSON(data []byte) int64 {
	const perValue = 64
	n := int64(0)
	for _, sign := range []string{",", ":", "[", "{"} {
		n += int64(bytes.Count(data, []byte(sign)))
	}
	return 3*int64(len(data)) + perValue*n
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

// The largest numbers a document may hold. They are far above any real file, and low enough
// that a sum or product of two never overflows an int64.
const (
	maxIndex  = 1<<31 - 1
	maxCount  = 1<<32 - 1
	maxOffset = 1 << 40
)

var (
	indexValue  = integer(0, maxIndex)
	countValue  = integer(1, maxCount)
	offsetValue = integer(0, maxOffset)
	lengthValue = integer(0, maxOffset)
)

// documentSchema is what the loader relies on of glTF 2.0, section 5 and its
// JSON schemas: types, required properties, enumerations. References between
// objects are checked where they are followed.
var documentSchema = object(
	required("asset", object(required("version", text), optional("minVersion", text))),
	optional("extensionsUsed", list(0, text)),
	optional("extensionsRequired", list(0, text)),
	optional("scene", indexValue),
	optional("scenes", list(0, object(optional("name", text), optional("nodes", list(0, indexValue))))),
	optional("nodes", list(0, nodeSchema)),
	optional("meshes", list(0, meshSchema)),
	optional("skins", list(0, object(
		optional("name", text), required("joints", list(1, indexValue)), optional("inverseBindMatrices", indexValue)))),
	optional("accessors", list(0, accessorSchema)),
	optional("bufferViews", list(0, bufferViewSchema)),
	optional("buffers", list(0, object(
		optional("name", text), optional("uri", text), required("byteLength", lengthValue)))),
	optional("images", list(0, object(
		optional("name", text), optional("uri", text), optional("mimeType", text), optional("bufferView", indexValue)))),
	optional("samplers", list(0, object(
		optional("wrapS", wrapCode), optional("wrapT", wrapCode), optional("magFilter", hintCode), optional("minFilter", hintCode)))),
	optional("textures", list(0, object(
		optional("name", text), optional("sampler", indexValue), optional("source", indexValue)))),
	optional("materials", list(0, materialSchema)),
	optional("animations", list(0, anything)), // each by itself: see decode
)

var nodeSchema = object(
	optional("name", text),
	optional("mesh", indexValue),
	optional("skin", indexValue),
	optional("camera", indexValue),
	optional("children", list(0, indexValue)),
	optional("matrix", numbers(16)),
	optional("rotation", numbers(4)),
	optional("scale", numbers(3)),
	optional("translation", numbers(3)),
	optional("weights", list(0, number)),
)

var meshSchema = object(
	optional("name", text),
	required("primitives", list(0, object(
		required("attributes", mapOf(indexValue)),
		optional("indices", indexValue),
		optional("material", indexValue),
		optional("mode", code(0, 1, 2, 3, 4, 5, 6)),
		optional("targets", list(0, mapOf(indexValue))),
	))),
	optional("weights", list(0, number)),
)

var accessorSchema = object(
	optional("name", text),
	optional("bufferView", indexValue),
	optional("byteOffset", offsetValue),
	required("componentType", code(5120, 5121, 5122, 5123, 5125, 5126)),
	optional("normalized", boolean),
	required("count", integer(0, maxCount)),
	required("type", word("SCALAR", "VEC2", "VEC3", "VEC4", "MAT2", "MAT3", "MAT4")),
	optional("sparse", object(
		required("count", countValue),
		required("indices", object(
			required("bufferView", indexValue), optional("byteOffset", offsetValue),
			required("componentType", code(5121, 5123, 5125)))),
		required("values", object(
			required("bufferView", indexValue), optional("byteOffset", offsetValue))),
	)),
)

var bufferViewSchema = object(
	optional("name", text),
	required("buffer", indexValue),
	optional("byteOffset", offsetValue),
	required("byteLength", lengthValue),
	optional("byteStride", integer(0, 252)),
	optional("target", hintCode),
)

var wrapCode = code(33071, 33648, 10497)

// hintCode is one of glTF's numeric constants that a model is loaded without.
var hintCode = integer(0, math.MaxUint16)

var textureInfoSchema = object(required("index", indexValue), optional("texCoord", indexValue))

var materialSchema = object(
	optional("name", text),
	optional("pbrMetallicRoughness", object(
		optional("baseColorFactor", numbers(4)),
		optional("baseColorTexture", textureInfoSchema),
		optional("metallicFactor", number),
		optional("roughnessFactor", number),
		optional("metallicRoughnessTexture", textureInfoSchema),
	)),
	optional("emissiveFactor", numbers(3)),
	optional("emissiveTexture", textureInfoSchema),
	optional("normalTexture", textureInfoSchema),
	optional("occlusionTexture", textureInfoSchema),
	optional("alphaMode", word("OPAQUE", "MASK", "BLEND")),
	optional("alphaCutoff", number),
	optional("doubleSided", boolean),
)

// extensions are those of an animation: encoding/json must be able to read them.
var extensions = optional("extensions", mapOf(anything))

var animationSchema = object(
	optional("name", text), extensions,
	required("channels", list(1, object(
		required("sampler", indexValue), extensions,
		required("target", object(
			optional("node", indexValue), extensions,
			required("path", word("translation", "rotation", "scale", "weights", "pointer")))),
	))),
	required("samplers", list(1, object(
		required("input", indexValue),
		required("output", indexValue), extensions,
		optional("interpolation", word("LINEAR", "STEP", "CUBICSPLINE")),
	))),
)

// check reports what is wrong with a decoded JSON value (with json.Number),
// as an *Error whose place is relative to the value. It writes a whole number as such.
type check func(v *any, seen *fractions) error

// fractions are whole numbers that a document has as 5126.0 or 5126e0.
type fractions struct {
	count int
	first string
}

// whole brings such a number into the form that encoding/json reads as an integer. Others it
// returns as they are.
func (f *fractions) whole(n json.Number) json.Number {
	if !strings.ContainsAny(n.String(), ".eE") {
		return n
	}
	x, err := n.Float64()
	if err != nil || x != math.Trunc(x) || math.Abs(x) > maxExact {
		return n
	}
	if f.count++; f.count == 1 {
		f.first = n.String()
	}
	return json.Number(strconv.FormatInt(int64(x), 10))
}

// maxExact bounds the whole numbers of which a float64 holds each.
const maxExact = 1 << 53

// property is one property of a JSON object.
type property struct {
	name     string
	check    check
	required bool
}

func required(name string, c check) property { return property{name, c, true} }

func optional(name string, c check) property { return property{name, c, false} }

// object checks the properties that it knows and lets others be, except such as encoding/json
// would take for a known one. It takes null for nothing where a property may be absent.
func object(properties ...property) check {
	return func(v *any, seen *fractions) error {
		m, ok := (*v).(map[string]any)
		if !ok {
			return invalid("want an object, have %s", describe(*v))
		}
		for key := range m {
			for _, p := range properties {
				if key != p.name && strings.EqualFold(key, p.name) {
					return invalid("property %q must be written %q", cut(key), p.name)
				}
			}
		}
		for _, p := range properties {
			value, ok := m[p.name]
			switch {
			case ok && value == nil && !p.required: // what programs write that isn't set
				delete(m, p.name)
			case ok:
				if err := p.check(&value, seen); err != nil {
					return within(p.name, err)
				}
				m[p.name] = value
			case p.required:
				return within(p.name, invalid("is missing"))
			}
		}
		return nil
	}
}

// list checks an array of at least min items.
func list(min int, item check) check {
	return func(v *any, seen *fractions) error {
		items, ok := (*v).([]any)
		if !ok {
			return invalid("want an array, have %s", describe(*v))
		}
		if len(items) < min {
			return invalid("want at least %d items, have %d", min, len(items))
		}
		for i := range items {
			if err := item(&items[i], seen); err != nil {
				return within("["+strconv.Itoa(i)+"]", err)
			}
		}
		return nil
	}
}

// mapOf checks every value of an object, in the order of its keys.
func mapOf(value check) check {
	return func(v *any, seen *fractions) error {
		m, ok := (*v).(map[string]any)
		if !ok {
			return invalid("want an object, have %s", describe(*v))
		}
		keys := make([]string, 0, len(m))
		for k := range m {
			keys = append(keys, k)
		}
		slices.Sort(keys)
		for _, k := range keys {
			item := m[k]
			if err := value(&item, seen); err != nil {
				return within(k, err)
			}
			m[k] = item
		}
		return nil
	}
}

// numbers checks an array of exactly n finite numbers.
func numbers(n int) check {
	item := list(n, number)
	return func(v *any, seen *fractions) error {
		if err := item(v, seen); err != nil {
			return err
		}
		if have := len((*v).([]any)); have != n {
			return invalid("want %d numbers, have %d", n, have)
		}
		return nil
	}
}

func anything(*any, *fractions) error { return nil }

func number(v *any, _ *fractions) error {
	n, ok := (*v).(json.Number)
	if !ok {
		return invalid("want a number, have %s", describe(*v))
	}
	if f, err := n.Float64(); err != nil || math.IsInf(f, 0) {
		return invalid("number %.40s is out of range", n)
	}
	return nil
}

// integer checks a whole number from lo to hi.
func integer(lo, hi int64) check {
	return func(v *any, seen *fractions) error {
		n, ok := (*v).(json.Number)
		if !ok {
			return invalid("want a whole number, have %s", describe(*v))
		}
		n = seen.whole(n)
		*v = n
		i, err := n.Int64()
		if err != nil {
			return invalid("want a whole number, have %.40s", n)
		}
		if i < lo || i > hi {
			return invalid("%d is out of range: want %d to %d", i, lo, hi)
		}
		return nil
	}
}

// code checks one of glTF's numeric constants.
func code(codes ...int64) check {
	return func(v *any, seen *fractions) error {
		if n, ok := (*v).(json.Number); ok {
			n = seen.whole(n)
			*v = n
			if i, err := n.Int64(); err == nil && slices.Contains(codes, i) {
				return nil
			}
		}
		return invalid("%s is not one of %v", describe(*v), codes)
	}
}

// word checks one of glTF's named constants.
func word(words ...string) check {
	return func(v *any, _ *fractions) error {
		if s, ok := (*v).(string); ok && slices.Contains(words, s) {
			return nil
		}
		return invalid("%s is not one of %s", describe(*v), strings.Join(words, ", "))
	}
}

func text(v *any, _ *fractions) error {
	if _, ok := (*v).(string); !ok {
		return invalid("want a string, have %s", describe(*v))
	}
	return nil
}

func boolean(v *any, _ *fractions) error {
	if _, ok := (*v).(bool); !ok {
		return invalid("want true or false, have %s", describe(*v))
	}
	return nil
}

// describe names a JSON value in an error.
func describe(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case bool:
		return strconv.FormatBool(v)
	case json.Number:
		return cut(v.String())
	case string:
		return strconv.Quote(cut(v))
	case []any:
		return "an array"
	}
	return "an object"
}

// cut keeps errors short where a file's strings are long.
func cut(s string) string {
	const most = 60
	if len(s) <= most {
		return s
	}
	return s[:most] + "..."
}
