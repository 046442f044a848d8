package gltf

// The largest numbers a document may hold: far above any real file, and low
// enough that a sum or product of two never overflows an int64.
const (
	maxIndex  = 1<<31 - 1
	maxCount  = 1<<32 - 1
	maxOffset = 1 << 40
)

var (
	indexValue  = integer(0, maxIndex)
	countValue  = integer(1, maxCount)
	offsetValue = integer(0, maxOffset)
	lengthValue = integer(1, maxOffset)
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
	optional("accessors", list(0, accessorSchema)),
	optional("bufferViews", list(0, bufferViewSchema)),
	optional("buffers", list(0, object(
		optional("name", text), optional("uri", text), required("byteLength", lengthValue)))),
	optional("images", list(0, object(
		optional("name", text), optional("uri", text), optional("mimeType", text), optional("bufferView", indexValue)))),
	optional("samplers", list(0, object(
		optional("wrapS", wrapCode), optional("wrapT", wrapCode)))),
	optional("textures", list(0, object(
		optional("name", text), optional("sampler", indexValue), optional("source", indexValue)))),
	optional("materials", list(0, materialSchema)),
	optional("animations", list(0, animationSchema)),
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
)

var meshSchema = object(
	optional("name", text),
	required("primitives", list(1, object(
		required("attributes", mapOf(indexValue)),
		optional("indices", indexValue),
		optional("material", indexValue),
		optional("mode", code(0, 1, 2, 3, 4, 5, 6)),
		optional("targets", list(0, mapOf(indexValue))),
	))),
)

var accessorSchema = object(
	optional("name", text),
	optional("bufferView", indexValue),
	optional("byteOffset", offsetValue),
	required("componentType", code(5120, 5121, 5122, 5123, 5125, 5126)),
	optional("normalized", boolean),
	required("count", countValue),
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
	optional("byteStride", integer(1, 252)),
)

var wrapCode = code(33071, 33648, 10497)

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

var animationSchema = object(
	optional("name", text),
	required("channels", list(1, object(
		required("sampler", indexValue),
		required("target", object(
			optional("node", indexValue),
			required("path", word("translation", "rotation", "scale", "weights", "pointer")))),
	))),
	required("samplers", list(1, object(
		required("input", indexValue),
		required("output", indexValue),
		optional("interpolation", word("LINEAR", "STEP", "CUBICSPLINE")),
	))),
)
