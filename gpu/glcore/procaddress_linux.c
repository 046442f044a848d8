#include <dlfcn.h>
#include <stddef.h>

// go-gl's own loader links one of these two functions: its gl.Init calls glXGetProcAddress,
// or eglGetProcAddress with the build tag egl. They forward to the library, opened when they
// are first called, so that a program starts without it. Hidden: drivers must find their own.
#define HIDDEN __attribute__((visibility("hidden")))

typedef void (*function)(void);
typedef function (*lookup)(const char *name);

// find looks a function up by the one that a library has for it; NULL without the library.
static function find(const char *library, const char *by, const char *name) {
	void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL); // opened before, it is counted alone
	lookup get = handle ? (lookup)dlsym(handle, by) : NULL;
	return get ? get(name) : NULL;
}

HIDDEN function glXGetProcAddress(const unsigned char *name) {
	return find("libGL.so.1", "glXGetProcAddress", (const char *)name);
}

HIDDEN function eglGetProcAddress(const char *name) {
	return find("libEGL.so.1", "eglGetProcAddress", name);
}
