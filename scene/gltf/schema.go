package gltf

// The largest numbers a document may hold: far above any real file, and low
// enough that a sum or product of two never overflows an int64.
const (
	maxIndex  = 1<<31 - 1
	maxCount  = 1<<32 - 1
	maxOffset = 1 << 40
)

var (
	index  = integer(0, maxIndex)
	count  = integer(1, maxCount)
	offset = integer(0, maxOffset)
	length = integer(1, maxOffset)
)

// documentSchema is what the loader relies on of glTF 2.0, section 5 and its
// JSON schemas: types, required properties, enumerations. References between
// objects are checked where they are followed.
var documentSchema = object(
	required("asset", object(required("version", text), optional("minVersion", text))),
	optional("extensionsUsed", list(0, text)),
	optional("extensionsRequired", list(0, text)),
	optional("scene", index),
	optional("scenes", list(0, object(optional("name", text), optional("nodes", list(0, index))))),
	optional("nodes", list(0, nodeSchema)),
	optional("meshes", list(0, meshSchema)),
	optional("accessors", list(0, accessorSchema)),
	optional("bufferViews", list(0, bufferViewSchema)),
	optional("buffers", list(0, object(
		optional("name", text), optional("uri", text), required("byteLength", length)))),
	optional("images", list(0, object(
		optional("name", text), optional("uri", text), optional("mimeType", text), optional("bufferView", index)))),
	optional("samplers", list(0, object(
		optional("wrapS", wrapCode), optional("wrapT", wrapCode)))),
	optional("textures", list(0, object(
		optional("name", text), optional("sampler", index), optional("source", index)))),
	optional("materials", list(0, materialSchema)),
	optional("animations", list(0, animationSchema)),
)

var nodeSchema = object(
	optional("name", text),
	optional("mesh", index),
	optional("skin", index),
	optional("camera", index),
	optional("children", list(0, index)),
	optional("matrix", numbers(16)),
	optional("rotation", numbers(4)),
	optional("scale", numbers(3)),
	optional("translation", numbers(3)),
)

var meshSchema = object(
	optional("name", text),
	required("primitives", list(1, object(
		required("attributes", mapOf(index)),
		optional("indices", index),
		optional("material", index),
		optional("mode", code(0, 1, 2, 3, 4, 5, 6)),
		optional("targets", list(0, mapOf(index))),
	))),
)

var accessorSchema = object(
	optional("name", text),
	optional("bufferView", index),
	optional("byteOffset", offset),
	required("componentType", code(5120, 5121, 5122, 5123, 5125, 5126)),
	optional("normalized", boolean),
	required("count", count),
	required("type", word("SCALAR", "VEC2", "VEC3", "VEC4", "MAT2", "MAT3", "MAT4")),
	optional("sparse", object(
		required("count", count),
		required("indices", object(
			required("bufferView", index), optional("byteOffset", offset),
			required("componentType", code(5121, 5123, 5125)))),
		required("values", object(
			required("bufferView", index), optional("byteOffset", offset))),
	)),
)

var bufferViewSchema = object(
	optional("name", text),
	required("buffer", index),
	optional("byteOffset", offset),
	required("byteLength", length),
	optional("byteStride", integer(1, 252)),
)

var wrapCode = code(33071, 33648, 10497)

var textureInfoSchema = object(required("index", index), optional("texCoord", index))

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

var animationSchema = object(
	optional("name", text),
	required("channels", list(1, object(
		required("sampler", index),
		required("target", object(
			optional("node", index),
			required("path", word("translation", "rotation", "scale", "weights", "pointer")))),
	))),
	required("samplers", list(1, object(
		required("input", index),
		required("output", index),
		optional("interpolation", word("LINEAR", "STEP", "CUBICSPLINE")),
	))),
)
