#ifndef RAYBRIDGE_GL_H
#define RAYBRIDGE_GL_H

#include <stddef.h>
#include <stdint.h>

typedef unsigned char GLboolean;
typedef char GLchar;
typedef int32_t GLint;
typedef uint32_t GLuint;
typedef int64_t GLint64;
typedef uint64_t GLuint64;
typedef float GLfloat;
typedef ptrdiff_t GLsizeiptr;
typedef uintptr_t GLsync; // a pointer, which Go must not take for one of its own

// A pointer for each function, and a function that calls through it.
#define FUNCTION(result, name, parameters, arguments) \
	extern result(*gl##name##At) parameters;      \
	static inline result gl##name parameters { return gl##name##At arguments; }
#include "functions.h"
#undef FUNCTION

static inline void rbShaderSource(GLuint shader, const GLchar *text, GLint length) {
	glShaderSource(shader, 1, &text, &length);
}

// The i-th function's name, NULL behind the last.
const char *rbFunctionName(int i);
void rbSetFunction(int i, void *address);

#endif
