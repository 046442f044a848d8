#ifndef RAYBRIDGE_EGLCTX_H
#define RAYBRIDGE_EGLCTX_H

#include <stdint.h>

// EGL 1.5 as far as this package uses it; the library is opened at run time, so that
// neither it nor its headers are needed to build, or to start, a program.
typedef int32_t EGLint;
typedef unsigned int EGLBoolean;
typedef unsigned int EGLenum;
typedef void *EGLDisplay;
typedef void *EGLConfig;
typedef void *EGLSurface;
typedef void *EGLContext;
typedef void *EGLDeviceEXT;

enum {
	EGL_BAD_ACCESS = 0x3002,
	EGL_BAD_ALLOC = 0x3003,
	EGL_BAD_ATTRIBUTE = 0x3004,
	EGL_BAD_CONFIG = 0x3005,
	EGL_BAD_CONTEXT = 0x3006,
	EGL_BAD_DISPLAY = 0x3008,
	EGL_BAD_MATCH = 0x3009,
	EGL_BAD_PARAMETER = 0x300C,
	EGL_CONTEXT_LOST = 0x300E,
	EGL_CONTEXT_MAJOR_VERSION = 0x3098,
	EGL_CONTEXT_MINOR_VERSION = 0x30FB,
	EGL_CONTEXT_OPENGL_CORE_PROFILE_BIT = 0x00000001,
	EGL_CONTEXT_OPENGL_DEBUG = 0x31B0,
	EGL_CONTEXT_OPENGL_PROFILE_MASK = 0x30FD,
	EGL_CONTEXT_OPENGL_RESET_NOTIFICATION_STRATEGY = 0x31BD,
	EGL_EXTENSIONS = 0x3055,
	EGL_FALSE = 0,
	EGL_HEIGHT = 0x3056,
	EGL_LOSE_CONTEXT_ON_RESET = 0x31BF,
	EGL_NONE = 0x3038,
	EGL_NOT_INITIALIZED = 0x3001,
	EGL_OPENGL_API = 0x30A2,
	EGL_OPENGL_BIT = 0x0008,
	EGL_PBUFFER_BIT = 0x0001,
	EGL_PLATFORM_DEVICE_EXT = 0x313F,
	EGL_PLATFORM_SURFACELESS_MESA = 0x31DD,
	EGL_RENDERABLE_TYPE = 0x3040,
	EGL_SUCCESS = 0x3000,
	EGL_SURFACE_TYPE = 0x3033,
	EGL_TRUE = 1,
	EGL_WIDTH = 0x3057,
};

// A pointer for each function, and a function that calls through it.
#define FUNCTION(result, name, parameters, arguments) \
	extern result(*egl##name##At) parameters;     \
	static inline result egl##name parameters { return egl##name##At arguments; }
#include "functions.h"
#undef FUNCTION

// Opens EGL's library, from one thread at a time; no other function may be called before
// it succeeded. Returns NULL, or what is wrong: the loader's text, good until its next call.
const char *rbOpen(const char *library);

// What a context is asked for.
typedef struct {
	int debug;
	int loseOnReset;
	int core45; // 0: whatever version the driver gives
} rbContextWish;

const char *rbClientExtensions(void);
// Lists at most max devices; returns how many there are, or -1 where EGL can't list them.
int rbDevices(EGLDeviceEXT *devices, int max);
// May return NULL.
const char *rbDeviceString(EGLDeviceEXT device, EGLint name);
EGLDisplay rbDeviceDisplay(EGLDeviceEXT device);
EGLDisplay rbSurfacelessDisplay(void);
EGLContext rbCreateContext(EGLDisplay display, EGLConfig config, rbContextWish wish);
EGLConfig rbChooseConfig(EGLDisplay display);

#endif
