//go:build cgo

package glcore

// #include "gl.h"
import "C"

import (
	"errors"
	"unsafe"
)

// The functions of OpenGL 4.5 core that the driver uses, under the specification's names;
// their meaning is the specification's. Nothing is linked: glLoad takes each from the
// context's own loader, so that a program starts without OpenGL too. They are called only
// after glLoad has succeeded, and on a thread with a current context.

// glLoad takes the address of every function from loader. The error names the first one without
// an address; no function may be called then.
func glLoad(loader func(name string) unsafe.Pointer) error {
	for i := C.int(0); ; i++ {
		c := C.rbFunctionName(i)
		if c == nil {
			return nil
		}
		name := C.GoString(c)
		address := loader(name)
		if address == nil {
			return errors.New(name)
		}
		C.rbSetFunction(i, address)
	}
}

func boolean(b bool) C.GLboolean {
	if b {
		return 1
	}
	return 0
}

// glShaderSource sets a shader's text, which is not empty.
func glShaderSource(shader uint32, text string) {
	C.rbShaderSource(C.GLuint(shader), (*C.GLchar)(unsafe.Pointer(unsafe.StringData(text))), C.GLint(len(text)))
}

func glAttachShader(program, shader uint32) { C.glAttachShader(C.GLuint(program), C.GLuint(shader)) }

func glBindBuffer(target, buffer uint32) { C.glBindBuffer(C.GLuint(target), C.GLuint(buffer)) }

func glBindBufferRange(target, index, buffer uint32, offset, size int) {
	C.glBindBufferRange(C.GLuint(target), C.GLuint(index), C.GLuint(buffer), C.GLsizeiptr(offset), C.GLsizeiptr(size))
}

func glBindFramebuffer(target, framebuffer uint32) {
	C.glBindFramebuffer(C.GLuint(target), C.GLuint(framebuffer))
}

func glBindImageTexture(unit, texture uint32, level int32, layered bool, layer int32, access, format uint32) {
	C.glBindImageTexture(C.GLuint(unit), C.GLuint(texture), C.GLint(level), boolean(layered), C.GLint(layer), C.GLuint(access), C.GLuint(format))
}

func glBindTextureUnit(unit, texture uint32) { C.glBindTextureUnit(C.GLuint(unit), C.GLuint(texture)) }

func glBindVertexArray(array uint32) { C.glBindVertexArray(C.GLuint(array)) }

func glCheckNamedFramebufferStatus(framebuffer, target uint32) uint32 {
	return uint32(C.glCheckNamedFramebufferStatus(C.GLuint(framebuffer), C.GLuint(target)))
}

func glClearNamedFramebufferfv(framebuffer, buffer uint32, drawbuffer int32, value *float32) {
	C.glClearNamedFramebufferfv(C.GLuint(framebuffer), C.GLuint(buffer), C.GLint(drawbuffer), (*C.GLfloat)(value))
}

func glClearNamedFramebufferuiv(framebuffer, buffer uint32, drawbuffer int32, value *uint32) {
	C.glClearNamedFramebufferuiv(C.GLuint(framebuffer), C.GLuint(buffer), C.GLint(drawbuffer), (*C.GLuint)(value))
}

func glClientWaitSync(sync uintptr, flags uint32, timeout uint64) uint32 {
	return uint32(C.glClientWaitSync(C.GLsync(sync), C.GLuint(flags), C.GLuint64(timeout)))
}

func glClipControl(origin, depth uint32) { C.glClipControl(C.GLuint(origin), C.GLuint(depth)) }

func glCompileShader(shader uint32) { C.glCompileShader(C.GLuint(shader)) }

func glCopyNamedBufferSubData(readBuffer, writeBuffer uint32, readOffset, writeOffset, size int) {
	C.glCopyNamedBufferSubData(C.GLuint(readBuffer), C.GLuint(writeBuffer), C.GLsizeiptr(readOffset), C.GLsizeiptr(writeOffset), C.GLsizeiptr(size))
}

func glCreateBuffers(n int32, buffers *uint32) { C.glCreateBuffers(C.GLint(n), (*C.GLuint)(buffers)) }

func glCreateFramebuffers(n int32, framebuffers *uint32) {
	C.glCreateFramebuffers(C.GLint(n), (*C.GLuint)(framebuffers))
}

func glCreateProgram() uint32 { return uint32(C.glCreateProgram()) }

func glCreateQueries(target uint32, n int32, ids *uint32) {
	C.glCreateQueries(C.GLuint(target), C.GLint(n), (*C.GLuint)(ids))
}

func glCreateShader(kind uint32) uint32 { return uint32(C.glCreateShader(C.GLuint(kind))) }

func glCreateTextures(target uint32, n int32, textures *uint32) {
	C.glCreateTextures(C.GLuint(target), C.GLint(n), (*C.GLuint)(textures))
}

func glCreateVertexArrays(n int32, arrays *uint32) {
	C.glCreateVertexArrays(C.GLint(n), (*C.GLuint)(arrays))
}

func glCullFace(mode uint32) { C.glCullFace(C.GLuint(mode)) }

func glDebugMessageControl(source, kind, severity uint32, count int32, ids *uint32, enabled bool) {
	C.glDebugMessageControl(C.GLuint(source), C.GLuint(kind), C.GLuint(severity), C.GLint(count), (*C.GLuint)(ids), boolean(enabled))
}

func glDeleteBuffers(n int32, buffers *uint32) { C.glDeleteBuffers(C.GLint(n), (*C.GLuint)(buffers)) }

func glDeleteFramebuffers(n int32, framebuffers *uint32) {
	C.glDeleteFramebuffers(C.GLint(n), (*C.GLuint)(framebuffers))
}

func glDeleteProgram(program uint32) { C.glDeleteProgram(C.GLuint(program)) }

func glDeleteQueries(n int32, ids *uint32) { C.glDeleteQueries(C.GLint(n), (*C.GLuint)(ids)) }

func glDeleteShader(shader uint32) { C.glDeleteShader(C.GLuint(shader)) }

func glDeleteSync(sync uintptr) { C.glDeleteSync(C.GLsync(sync)) }

func glDeleteTextures(n int32, textures *uint32) {
	C.glDeleteTextures(C.GLint(n), (*C.GLuint)(textures))
}

func glDepthFunc(compare uint32) { C.glDepthFunc(C.GLuint(compare)) }

func glDisable(capability uint32) { C.glDisable(C.GLuint(capability)) }

func glDispatchCompute(x, y, z uint32) { C.glDispatchCompute(C.GLuint(x), C.GLuint(y), C.GLuint(z)) }

func glDrawArraysInstanced(mode uint32, first, count, instancecount int32) {
	C.glDrawArraysInstanced(C.GLuint(mode), C.GLint(first), C.GLint(count), C.GLint(instancecount))
}

func glEnable(capability uint32) { C.glEnable(C.GLuint(capability)) }

func glFenceSync(condition, flags uint32) uintptr {
	return uintptr(C.glFenceSync(C.GLuint(condition), C.GLuint(flags)))
}

func glFinish() { C.glFinish() }

func glFlush() { C.glFlush() }

func glGenerateTextureMipmap(texture uint32) { C.glGenerateTextureMipmap(C.GLuint(texture)) }

func glGetDebugMessageLog(count uint32, bufSize int32, sources, types, ids, severities *uint32, lengths *int32, messageLog *uint8) uint32 {
	return uint32(C.glGetDebugMessageLog(C.GLuint(count), C.GLint(bufSize), (*C.GLuint)(sources), (*C.GLuint)(types), (*C.GLuint)(ids), (*C.GLuint)(severities), (*C.GLint)(lengths), (*C.GLchar)(unsafe.Pointer(messageLog))))
}

func glGetError() uint32 { return uint32(C.glGetError()) }

func glGetGraphicsResetStatus() uint32 { return uint32(C.glGetGraphicsResetStatus()) }

func glGetInteger64v(pname uint32, data *int64) {
	C.glGetInteger64v(C.GLuint(pname), (*C.GLint64)(data))
}

func glGetIntegeri_v(target, index uint32, data *int32) {
	C.glGetIntegeri_v(C.GLuint(target), C.GLuint(index), (*C.GLint)(data))
}

func glGetIntegerv(pname uint32, data *int32) { C.glGetIntegerv(C.GLuint(pname), (*C.GLint)(data)) }

func glGetNamedBufferSubData(buffer uint32, offset, size int, data unsafe.Pointer) {
	C.glGetNamedBufferSubData(C.GLuint(buffer), C.GLsizeiptr(offset), C.GLsizeiptr(size), data)
}

func glGetProgramInfoLog(program uint32, bufSize int32, length *int32, infoLog *uint8) {
	C.glGetProgramInfoLog(C.GLuint(program), C.GLint(bufSize), (*C.GLint)(length), (*C.GLchar)(unsafe.Pointer(infoLog)))
}

func glGetProgramInterfaceiv(program, programInterface, pname uint32, params *int32) {
	C.glGetProgramInterfaceiv(C.GLuint(program), C.GLuint(programInterface), C.GLuint(pname), (*C.GLint)(params))
}

func glGetProgramResourceiv(program, programInterface, index uint32, propCount int32, props *uint32, count int32, length, params *int32) {
	C.glGetProgramResourceiv(C.GLuint(program), C.GLuint(programInterface), C.GLuint(index), C.GLint(propCount), (*C.GLuint)(props), C.GLint(count), (*C.GLint)(length), (*C.GLint)(params))
}

func glGetProgramiv(program, pname uint32, params *int32) {
	C.glGetProgramiv(C.GLuint(program), C.GLuint(pname), (*C.GLint)(params))
}

func glGetQueryObjecti64v(id, pname uint32, params *int64) {
	C.glGetQueryObjecti64v(C.GLuint(id), C.GLuint(pname), (*C.GLint64)(params))
}

func glGetQueryObjectiv(id, pname uint32, params *int32) {
	C.glGetQueryObjectiv(C.GLuint(id), C.GLuint(pname), (*C.GLint)(params))
}

func glGetQueryiv(target, pname uint32, params *int32) {
	C.glGetQueryiv(C.GLuint(target), C.GLuint(pname), (*C.GLint)(params))
}

func glGetShaderInfoLog(shader uint32, bufSize int32, length *int32, infoLog *uint8) {
	C.glGetShaderInfoLog(C.GLuint(shader), C.GLint(bufSize), (*C.GLint)(length), (*C.GLchar)(unsafe.Pointer(infoLog)))
}

func glGetShaderiv(shader, pname uint32, params *int32) {
	C.glGetShaderiv(C.GLuint(shader), C.GLuint(pname), (*C.GLint)(params))
}

func glGetString(name uint32) string { return C.GoString(C.glGetString(C.GLuint(name))) }

func glGetTextureImage(texture uint32, level int32, format, kind uint32, bufSize int32, pixels unsafe.Pointer) {
	C.glGetTextureImage(C.GLuint(texture), C.GLint(level), C.GLuint(format), C.GLuint(kind), C.GLint(bufSize), pixels)
}

func glIsBuffer(buffer uint32) bool { return C.glIsBuffer(C.GLuint(buffer)) != 0 }

func glIsFramebuffer(framebuffer uint32) bool { return C.glIsFramebuffer(C.GLuint(framebuffer)) != 0 }

func glIsProgram(program uint32) bool { return C.glIsProgram(C.GLuint(program)) != 0 }

func glIsQuery(id uint32) bool { return C.glIsQuery(C.GLuint(id)) != 0 }

func glIsTexture(texture uint32) bool { return C.glIsTexture(C.GLuint(texture)) != 0 }

func glLinkProgram(program uint32) { C.glLinkProgram(C.GLuint(program)) }

func glMapNamedBufferRange(buffer uint32, offset, length int, access uint32) unsafe.Pointer {
	return C.glMapNamedBufferRange(C.GLuint(buffer), C.GLsizeiptr(offset), C.GLsizeiptr(length), C.GLuint(access))
}

func glMemoryBarrier(barriers uint32) { C.glMemoryBarrier(C.GLuint(barriers)) }

func glNamedBufferStorage(buffer uint32, size int, data unsafe.Pointer, flags uint32) {
	C.glNamedBufferStorage(C.GLuint(buffer), C.GLsizeiptr(size), data, C.GLuint(flags))
}

func glNamedBufferSubData(buffer uint32, offset, size int, data unsafe.Pointer) {
	C.glNamedBufferSubData(C.GLuint(buffer), C.GLsizeiptr(offset), C.GLsizeiptr(size), data)
}

func glNamedFramebufferDrawBuffer(framebuffer, buf uint32) {
	C.glNamedFramebufferDrawBuffer(C.GLuint(framebuffer), C.GLuint(buf))
}

func glNamedFramebufferDrawBuffers(framebuffer uint32, n int32, bufs *uint32) {
	C.glNamedFramebufferDrawBuffers(C.GLuint(framebuffer), C.GLint(n), (*C.GLuint)(bufs))
}

func glNamedFramebufferReadBuffer(framebuffer, src uint32) {
	C.glNamedFramebufferReadBuffer(C.GLuint(framebuffer), C.GLuint(src))
}

func glNamedFramebufferTexture(framebuffer, attachment, texture uint32, level int32) {
	C.glNamedFramebufferTexture(C.GLuint(framebuffer), C.GLuint(attachment), C.GLuint(texture), C.GLint(level))
}

func glNamedFramebufferTextureLayer(framebuffer, attachment, texture uint32, level, layer int32) {
	C.glNamedFramebufferTextureLayer(C.GLuint(framebuffer), C.GLuint(attachment), C.GLuint(texture), C.GLint(level), C.GLint(layer))
}

func glObjectLabel(identifier, name uint32, length int32, label *uint8) {
	C.glObjectLabel(C.GLuint(identifier), C.GLuint(name), C.GLint(length), (*C.GLchar)(unsafe.Pointer(label)))
}

func glPixelStorei(pname uint32, param int32) { C.glPixelStorei(C.GLuint(pname), C.GLint(param)) }

func glPolygonOffset(factor, units float32) { C.glPolygonOffset(C.GLfloat(factor), C.GLfloat(units)) }

func glProgramUniform1i(program uint32, location, v0 int32) {
	C.glProgramUniform1i(C.GLuint(program), C.GLint(location), C.GLint(v0))
}

func glQueryCounter(id, target uint32) { C.glQueryCounter(C.GLuint(id), C.GLuint(target)) }

func glTextureBuffer(texture, internalformat, buffer uint32) {
	C.glTextureBuffer(C.GLuint(texture), C.GLuint(internalformat), C.GLuint(buffer))
}

func glTextureParameteri(texture, pname uint32, param int32) {
	C.glTextureParameteri(C.GLuint(texture), C.GLuint(pname), C.GLint(param))
}

func glTextureStorage2D(texture uint32, levels int32, internalformat uint32, width, height int32) {
	C.glTextureStorage2D(C.GLuint(texture), C.GLint(levels), C.GLuint(internalformat), C.GLint(width), C.GLint(height))
}

func glTextureStorage3D(texture uint32, levels int32, internalformat uint32, width, height, depth int32) {
	C.glTextureStorage3D(C.GLuint(texture), C.GLint(levels), C.GLuint(internalformat), C.GLint(width), C.GLint(height), C.GLint(depth))
}

func glTextureSubImage2D(texture uint32, level, xoffset, yoffset, width, height int32, format, kind uint32, pixels unsafe.Pointer) {
	C.glTextureSubImage2D(C.GLuint(texture), C.GLint(level), C.GLint(xoffset), C.GLint(yoffset), C.GLint(width), C.GLint(height), C.GLuint(format), C.GLuint(kind), pixels)
}

func glTextureSubImage3D(texture uint32, level, xoffset, yoffset, zoffset, width, height, depth int32, format, kind uint32, pixels unsafe.Pointer) {
	C.glTextureSubImage3D(C.GLuint(texture), C.GLint(level), C.GLint(xoffset), C.GLint(yoffset), C.GLint(zoffset), C.GLint(width), C.GLint(height), C.GLint(depth), C.GLuint(format), C.GLuint(kind), pixels)
}

func glUseProgram(program uint32) { C.glUseProgram(C.GLuint(program)) }

func glViewport(x, y, width, height int32) {
	C.glViewport(C.GLint(x), C.GLint(y), C.GLint(width), C.GLint(height))
}
