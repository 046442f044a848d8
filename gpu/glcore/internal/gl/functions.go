//go:build cgo

package gl

// #include "gl.h"
import "C"

import "unsafe"

func boolean(b bool) C.GLboolean {
	if b {
		return 1
	}
	return 0
}

// ShaderSource sets a shader's text, which is not empty.
func ShaderSource(shader uint32, text string) {
	C.rbShaderSource(C.GLuint(shader), (*C.GLchar)(unsafe.Pointer(unsafe.StringData(text))), C.GLint(len(text)))
}

func AttachShader(program, shader uint32) { C.glAttachShader(C.GLuint(program), C.GLuint(shader)) }

func BindBuffer(target, buffer uint32) { C.glBindBuffer(C.GLuint(target), C.GLuint(buffer)) }

func BindBufferRange(target, index, buffer uint32, offset, size int) {
	C.glBindBufferRange(C.GLuint(target), C.GLuint(index), C.GLuint(buffer), C.GLsizeiptr(offset), C.GLsizeiptr(size))
}

func BindFramebuffer(target, framebuffer uint32) {
	C.glBindFramebuffer(C.GLuint(target), C.GLuint(framebuffer))
}

func BindImageTexture(unit, texture uint32, level int32, layered bool, layer int32, access, format uint32) {
	C.glBindImageTexture(C.GLuint(unit), C.GLuint(texture), C.GLint(level), boolean(layered), C.GLint(layer), C.GLuint(access), C.GLuint(format))
}

func BindTextureUnit(unit, texture uint32) { C.glBindTextureUnit(C.GLuint(unit), C.GLuint(texture)) }

func BindVertexArray(array uint32) { C.glBindVertexArray(C.GLuint(array)) }

func CheckNamedFramebufferStatus(framebuffer, target uint32) uint32 {
	return uint32(C.glCheckNamedFramebufferStatus(C.GLuint(framebuffer), C.GLuint(target)))
}

func ClearNamedFramebufferfv(framebuffer, buffer uint32, drawbuffer int32, value *float32) {
	C.glClearNamedFramebufferfv(C.GLuint(framebuffer), C.GLuint(buffer), C.GLint(drawbuffer), (*C.GLfloat)(value))
}

func ClearNamedFramebufferuiv(framebuffer, buffer uint32, drawbuffer int32, value *uint32) {
	C.glClearNamedFramebufferuiv(C.GLuint(framebuffer), C.GLuint(buffer), C.GLint(drawbuffer), (*C.GLuint)(value))
}

func ClientWaitSync(sync uintptr, flags uint32, timeout uint64) uint32 {
	return uint32(C.glClientWaitSync(C.GLsync(sync), C.GLuint(flags), C.GLuint64(timeout)))
}

func ClipControl(origin, depth uint32) { C.glClipControl(C.GLuint(origin), C.GLuint(depth)) }

func CompileShader(shader uint32) { C.glCompileShader(C.GLuint(shader)) }

func CopyNamedBufferSubData(readBuffer, writeBuffer uint32, readOffset, writeOffset, size int) {
	C.glCopyNamedBufferSubData(C.GLuint(readBuffer), C.GLuint(writeBuffer), C.GLsizeiptr(readOffset), C.GLsizeiptr(writeOffset), C.GLsizeiptr(size))
}

func CreateBuffers(n int32, buffers *uint32) { C.glCreateBuffers(C.GLint(n), (*C.GLuint)(buffers)) }

func CreateFramebuffers(n int32, framebuffers *uint32) {
	C.glCreateFramebuffers(C.GLint(n), (*C.GLuint)(framebuffers))
}

func CreateProgram() uint32 { return uint32(C.glCreateProgram()) }

func CreateQueries(target uint32, n int32, ids *uint32) {
	C.glCreateQueries(C.GLuint(target), C.GLint(n), (*C.GLuint)(ids))
}

func CreateShader(kind uint32) uint32 { return uint32(C.glCreateShader(C.GLuint(kind))) }

func CreateTextures(target uint32, n int32, textures *uint32) {
	C.glCreateTextures(C.GLuint(target), C.GLint(n), (*C.GLuint)(textures))
}

func CreateVertexArrays(n int32, arrays *uint32) {
	C.glCreateVertexArrays(C.GLint(n), (*C.GLuint)(arrays))
}

func CullFace(mode uint32) { C.glCullFace(C.GLuint(mode)) }

func DebugMessageControl(source, kind, severity uint32, count int32, ids *uint32, enabled bool) {
	C.glDebugMessageControl(C.GLuint(source), C.GLuint(kind), C.GLuint(severity), C.GLint(count), (*C.GLuint)(ids), boolean(enabled))
}

func DeleteBuffers(n int32, buffers *uint32) { C.glDeleteBuffers(C.GLint(n), (*C.GLuint)(buffers)) }

func DeleteFramebuffers(n int32, framebuffers *uint32) {
	C.glDeleteFramebuffers(C.GLint(n), (*C.GLuint)(framebuffers))
}

func DeleteProgram(program uint32) { C.glDeleteProgram(C.GLuint(program)) }

func DeleteQueries(n int32, ids *uint32) { C.glDeleteQueries(C.GLint(n), (*C.GLuint)(ids)) }

func DeleteShader(shader uint32) { C.glDeleteShader(C.GLuint(shader)) }

func DeleteSync(sync uintptr) { C.glDeleteSync(C.GLsync(sync)) }

func DeleteTextures(n int32, textures *uint32) { C.glDeleteTextures(C.GLint(n), (*C.GLuint)(textures)) }

func DepthFunc(compare uint32) { C.glDepthFunc(C.GLuint(compare)) }

func Disable(capability uint32) { C.glDisable(C.GLuint(capability)) }

func DispatchCompute(x, y, z uint32) { C.glDispatchCompute(C.GLuint(x), C.GLuint(y), C.GLuint(z)) }

func DrawArraysInstanced(mode uint32, first, count, instancecount int32) {
	C.glDrawArraysInstanced(C.GLuint(mode), C.GLint(first), C.GLint(count), C.GLint(instancecount))
}

func Enable(capability uint32) { C.glEnable(C.GLuint(capability)) }

func FenceSync(condition, flags uint32) uintptr {
	return uintptr(C.glFenceSync(C.GLuint(condition), C.GLuint(flags)))
}

func Finish() { C.glFinish() }

func Flush() { C.glFlush() }

func GenerateTextureMipmap(texture uint32) { C.glGenerateTextureMipmap(C.GLuint(texture)) }

func GetDebugMessageLog(count uint32, bufSize int32, sources, types, ids, severities *uint32, lengths *int32, messageLog *uint8) uint32 {
	return uint32(C.glGetDebugMessageLog(C.GLuint(count), C.GLint(bufSize), (*C.GLuint)(sources), (*C.GLuint)(types), (*C.GLuint)(ids), (*C.GLuint)(severities), (*C.GLint)(lengths), (*C.GLchar)(unsafe.Pointer(messageLog))))
}

func GetError() uint32 { return uint32(C.glGetError()) }

func GetGraphicsResetStatus() uint32 { return uint32(C.glGetGraphicsResetStatus()) }

func GetInteger64v(pname uint32, data *int64) { C.glGetInteger64v(C.GLuint(pname), (*C.GLint64)(data)) }

func GetIntegeri_v(target, index uint32, data *int32) {
	C.glGetIntegeri_v(C.GLuint(target), C.GLuint(index), (*C.GLint)(data))
}

func GetIntegerv(pname uint32, data *int32) { C.glGetIntegerv(C.GLuint(pname), (*C.GLint)(data)) }

func GetNamedBufferSubData(buffer uint32, offset, size int, data unsafe.Pointer) {
	C.glGetNamedBufferSubData(C.GLuint(buffer), C.GLsizeiptr(offset), C.GLsizeiptr(size), data)
}

func GetProgramInfoLog(program uint32, bufSize int32, length *int32, infoLog *uint8) {
	C.glGetProgramInfoLog(C.GLuint(program), C.GLint(bufSize), (*C.GLint)(length), (*C.GLchar)(unsafe.Pointer(infoLog)))
}

func GetProgramInterfaceiv(program, programInterface, pname uint32, params *int32) {
	C.glGetProgramInterfaceiv(C.GLuint(program), C.GLuint(programInterface), C.GLuint(pname), (*C.GLint)(params))
}

func GetProgramResourceiv(program, programInterface, index uint32, propCount int32, props *uint32, count int32, length, params *int32) {
	C.glGetProgramResourceiv(C.GLuint(program), C.GLuint(programInterface), C.GLuint(index), C.GLint(propCount), (*C.GLuint)(props), C.GLint(count), (*C.GLint)(length), (*C.GLint)(params))
}

func GetProgramiv(program, pname uint32, params *int32) {
	C.glGetProgramiv(C.GLuint(program), C.GLuint(pname), (*C.GLint)(params))
}

func GetQueryObjecti64v(id, pname uint32, params *int64) {
	C.glGetQueryObjecti64v(C.GLuint(id), C.GLuint(pname), (*C.GLint64)(params))
}

func GetQueryObjectiv(id, pname uint32, params *int32) {
	C.glGetQueryObjectiv(C.GLuint(id), C.GLuint(pname), (*C.GLint)(params))
}

func GetQueryiv(target, pname uint32, params *int32) {
	C.glGetQueryiv(C.GLuint(target), C.GLuint(pname), (*C.GLint)(params))
}

func GetShaderInfoLog(shader uint32, bufSize int32, length *int32, infoLog *uint8) {
	C.glGetShaderInfoLog(C.GLuint(shader), C.GLint(bufSize), (*C.GLint)(length), (*C.GLchar)(unsafe.Pointer(infoLog)))
}

func GetShaderiv(shader, pname uint32, params *int32) {
	C.glGetShaderiv(C.GLuint(shader), C.GLuint(pname), (*C.GLint)(params))
}

func GetString(name uint32) string { return C.GoString(C.glGetString(C.GLuint(name))) }

func GetTextureImage(texture uint32, level int32, format, kind uint32, bufSize int32, pixels unsafe.Pointer) {
	C.glGetTextureImage(C.GLuint(texture), C.GLint(level), C.GLuint(format), C.GLuint(kind), C.GLint(bufSize), pixels)
}

func IsBuffer(buffer uint32) bool { return C.glIsBuffer(C.GLuint(buffer)) != 0 }

func IsFramebuffer(framebuffer uint32) bool { return C.glIsFramebuffer(C.GLuint(framebuffer)) != 0 }

func IsProgram(program uint32) bool { return C.glIsProgram(C.GLuint(program)) != 0 }

func IsQuery(id uint32) bool { return C.glIsQuery(C.GLuint(id)) != 0 }

func IsTexture(texture uint32) bool { return C.glIsTexture(C.GLuint(texture)) != 0 }

func LinkProgram(program uint32) { C.glLinkProgram(C.GLuint(program)) }

func MapNamedBufferRange(buffer uint32, offset, length int, access uint32) unsafe.Pointer {
	return C.glMapNamedBufferRange(C.GLuint(buffer), C.GLsizeiptr(offset), C.GLsizeiptr(length), C.GLuint(access))
}

func MemoryBarrier(barriers uint32) { C.glMemoryBarrier(C.GLuint(barriers)) }

func NamedBufferStorage(buffer uint32, size int, data unsafe.Pointer, flags uint32) {
	C.glNamedBufferStorage(C.GLuint(buffer), C.GLsizeiptr(size), data, C.GLuint(flags))
}

func NamedBufferSubData(buffer uint32, offset, size int, data unsafe.Pointer) {
	C.glNamedBufferSubData(C.GLuint(buffer), C.GLsizeiptr(offset), C.GLsizeiptr(size), data)
}

func NamedFramebufferDrawBuffer(framebuffer, buf uint32) {
	C.glNamedFramebufferDrawBuffer(C.GLuint(framebuffer), C.GLuint(buf))
}

func NamedFramebufferDrawBuffers(framebuffer uint32, n int32, bufs *uint32) {
	C.glNamedFramebufferDrawBuffers(C.GLuint(framebuffer), C.GLint(n), (*C.GLuint)(bufs))
}

func NamedFramebufferReadBuffer(framebuffer, src uint32) {
	C.glNamedFramebufferReadBuffer(C.GLuint(framebuffer), C.GLuint(src))
}

func NamedFramebufferTexture(framebuffer, attachment, texture uint32, level int32) {
	C.glNamedFramebufferTexture(C.GLuint(framebuffer), C.GLuint(attachment), C.GLuint(texture), C.GLint(level))
}

func NamedFramebufferTextureLayer(framebuffer, attachment, texture uint32, level, layer int32) {
	C.glNamedFramebufferTextureLayer(C.GLuint(framebuffer), C.GLuint(attachment), C.GLuint(texture), C.GLint(level), C.GLint(layer))
}

func ObjectLabel(identifier, name uint32, length int32, label *uint8) {
	C.glObjectLabel(C.GLuint(identifier), C.GLuint(name), C.GLint(length), (*C.GLchar)(unsafe.Pointer(label)))
}

func PixelStorei(pname uint32, param int32) { C.glPixelStorei(C.GLuint(pname), C.GLint(param)) }

func PolygonOffset(factor, units float32) { C.glPolygonOffset(C.GLfloat(factor), C.GLfloat(units)) }

func ProgramUniform1i(program uint32, location, v0 int32) {
	C.glProgramUniform1i(C.GLuint(program), C.GLint(location), C.GLint(v0))
}

func QueryCounter(id, target uint32) { C.glQueryCounter(C.GLuint(id), C.GLuint(target)) }

func TextureBuffer(texture, internalformat, buffer uint32) {
	C.glTextureBuffer(C.GLuint(texture), C.GLuint(internalformat), C.GLuint(buffer))
}

func TextureParameteri(texture, pname uint32, param int32) {
	C.glTextureParameteri(C.GLuint(texture), C.GLuint(pname), C.GLint(param))
}

func TextureStorage2D(texture uint32, levels int32, internalformat uint32, width, height int32) {
	C.glTextureStorage2D(C.GLuint(texture), C.GLint(levels), C.GLuint(internalformat), C.GLint(width), C.GLint(height))
}

func TextureStorage3D(texture uint32, levels int32, internalformat uint32, width, height, depth int32) {
	C.glTextureStorage3D(C.GLuint(texture), C.GLint(levels), C.GLuint(internalformat), C.GLint(width), C.GLint(height), C.GLint(depth))
}

func TextureSubImage2D(texture uint32, level, xoffset, yoffset, width, height int32, format, kind uint32, pixels unsafe.Pointer) {
	C.glTextureSubImage2D(C.GLuint(texture), C.GLint(level), C.GLint(xoffset), C.GLint(yoffset), C.GLint(width), C.GLint(height), C.GLuint(format), C.GLuint(kind), pixels)
}

func TextureSubImage3D(texture uint32, level, xoffset, yoffset, zoffset, width, height, depth int32, format, kind uint32, pixels unsafe.Pointer) {
	C.glTextureSubImage3D(C.GLuint(texture), C.GLint(level), C.GLint(xoffset), C.GLint(yoffset), C.GLint(zoffset), C.GLint(width), C.GLint(height), C.GLint(depth), C.GLuint(format), C.GLuint(kind), pixels)
}

func UseProgram(program uint32) { C.glUseProgram(C.GLuint(program)) }

func Viewport(x, y, width, height int32) {
	C.glViewport(C.GLint(x), C.GLint(y), C.GLint(width), C.GLint(height))
}
