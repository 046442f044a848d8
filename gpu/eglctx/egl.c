#include <dlfcn.h>
#include <stddef.h>

#include "egl.h"

#define FUNCTION(result, name, parameters, arguments) result(*egl##name##At) parameters;
#include "functions.h"
#undef FUNCTION

const char *rbOpen(const char *library) {
	static const struct {
		const char *name;
		void **pointer;
	} functions[] = {
#define FUNCTION(result, name, parameters, arguments) {"egl" #name, (void **)&egl##name##At},
#include "functions.h"
#undef FUNCTION
	};
	const size_t count = sizeof functions / sizeof functions[0];
	void *found[sizeof functions / sizeof functions[0]];
	void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
	if (!handle) {
		return dlerror();
	}
	for (size_t i = 0; i < count; i++) {
		if (!(found[i] = dlsym(handle, functions[i].name))) {
			return dlerror();
		}
	}
	for (size_t i = 0; i < count; i++) {
		*functions[i].pointer = found[i];
	}
	return NULL;
}

const char *rbClientExtensions(void) {
	return eglQueryString(NULL, EGL_EXTENSIONS);
}

int rbDevices(EGLDeviceEXT *devices, int max) {
	EGLBoolean (*query)(EGLint max, EGLDeviceEXT *devices, EGLint *count) = eglGetProcAddress("eglQueryDevicesEXT");
	EGLint count = 0;
	if (!query || !query(max, devices, &count)) {
		return -1;
	}
	return count;
}

const char *rbDeviceString(EGLDeviceEXT device, EGLint name) {
	const char *(*query)(EGLDeviceEXT device, EGLint name) = eglGetProcAddress("eglQueryDeviceStringEXT");
	return query ? query(device, name) : NULL;
}

static EGLDisplay platformDisplay(EGLenum platform, void *native) {
	EGLDisplay (*get)(EGLenum platform, void *native, const EGLint *attributes) = eglGetProcAddress("eglGetPlatformDisplayEXT");
	return get ? get(platform, native, NULL) : NULL;
}

EGLDisplay rbDeviceDisplay(EGLDeviceEXT device) {
	return platformDisplay(EGL_PLATFORM_DEVICE_EXT, device);
}

EGLDisplay rbSurfacelessDisplay(void) {
	return platformDisplay(EGL_PLATFORM_SURFACELESS_MESA, NULL);
}

EGLConfig rbChooseConfig(EGLDisplay display) {
	// The default EGL_SURFACE_TYPE is a window, which headless displays lack.
	const EGLint attributes[] = {
		EGL_SURFACE_TYPE, EGL_PBUFFER_BIT,
		EGL_RENDERABLE_TYPE, EGL_OPENGL_BIT,
		EGL_NONE,
	};
	EGLConfig config = NULL;
	EGLint count = 0;
	if (!eglChooseConfig(display, attributes, &config, 1, &count) || count < 1) {
		return NULL;
	}
	return config;
}

EGLContext rbCreateContext(EGLDisplay display, EGLConfig config, rbContextWish wish) {
	EGLint attributes[16];
	int n = 0;
	if (wish.core45) {
		attributes[n++] = EGL_CONTEXT_MAJOR_VERSION;
		attributes[n++] = 4;
		attributes[n++] = EGL_CONTEXT_MINOR_VERSION;
		attributes[n++] = 5;
		attributes[n++] = EGL_CONTEXT_OPENGL_PROFILE_MASK;
		attributes[n++] = EGL_CONTEXT_OPENGL_CORE_PROFILE_BIT;
	}
	if (wish.debug) {
		attributes[n++] = EGL_CONTEXT_OPENGL_DEBUG;
		attributes[n++] = EGL_TRUE;
	}
	if (wish.loseOnReset) {
		attributes[n++] = EGL_CONTEXT_OPENGL_RESET_NOTIFICATION_STRATEGY;
		attributes[n++] = EGL_LOSE_CONTEXT_ON_RESET;
	}
	attributes[n] = EGL_NONE;
	return eglCreateContext(display, config, NULL, attributes);
}
