package readback

import "reflect"

// Mirrors of GLSL vector types for element structs (std430: OpenGL 4.5 core,
// section 7.6.2.2). Their GLSL alignment is 8 bytes for two components and 16
// for four, which Go doesn't know: New checks that every such field stands
// where GLSL puts it, and that the struct is as long as GLSL's array stride.
// A vec3 has no mirror, since GLSL lets the next scalar into its last 4 bytes:
// declare a Vec4, or three float32 in a GLSL struct of three floats.
type (
	// Vec2 mirrors vec2.
	Vec2 [2]float32
	// Vec4 mirrors vec4.
	Vec4 [4]float32
	// IVec2 mirrors ivec2.
	IVec2 [2]int32
	// IVec4 mirrors ivec4.
	IVec4 [4]int32
	// UVec2 mirrors uvec2.
	UVec2 [2]uint32
	// UVec4 mirrors uvec4.
	UVec4 [4]uint32
)

// std430Align is the GLSL alignment of the mirrors, which is stricter than Go's.
var std430Align = map[reflect.Type]uintptr{
	reflect.TypeFor[Vec2]():  8,
	reflect.TypeFor[IVec2](): 8,
	reflect.TypeFor[UVec2](): 8,
	reflect.TypeFor[Vec4]():  16,
	reflect.TypeFor[IVec4](): 16,
	reflect.TypeFor[UVec4](): 16,
}
