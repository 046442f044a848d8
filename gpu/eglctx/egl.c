#include <stddef.h>

#include "egl.h"

#ifndef EGL_PLATFORM_SURFACELESS_MESA
#define EGL_PLATFORM_SURFACELESS_MESA 0x31DD
#endif

const char *rbClientExtensions(void) {
	return eglQueryString(EGL_NO_DISPLAY, EGL_EXTENSIONS);
}

int rbDevices(EGLDeviceEXT *devices, int max) {
	PFNEGLQUERYDEVICESEXTPROC query = (PFNEGLQUERYDEVICESEXTPROC)eglGetProcAddress("eglQueryDevicesEXT");
	EGLint count = 0;
	if (!query || !query(max, devices, &count)) {
		return -1;
	}
	return count;
}

const char *rbDeviceString(EGLDeviceEXT device, EGLint name) {
	PFNEGLQUERYDEVICESTRINGEXTPROC query =
		(PFNEGLQUERYDEVICESTRINGEXTPROC)eglGetProcAddress("eglQueryDeviceStringEXT");
	return query ? query(device, name) : NULL;
}

static EGLDisplay platformDisplay(EGLenum platform, void *native) {
	PFNEGLGETPLATFORMDISPLAYEXTPROC get =
		(PFNEGLGETPLATFORMDISPLAYEXTPROC)eglGetProcAddress("eglGetPlatformDisplayEXT");
	return get ? get(platform, native, NULL) : EGL_NO_DISPLAY;
}

EGLDisplay rbDeviceDisplay(EGLDeviceEXT device) {
	return platformDisplay(EGL_PLATFORM_DEVICE_EXT, device);
}

EGLDisplay rbSurfacelessDisplay(void) {
	return platformDisplay(EGL_PLATFORM_SURFACELESS_MESA, (void *)EGL_DEFAULT_DISPLAY);
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
	return eglCreateContext(display, config, EGL_NO_CONTEXT, attributes);
}
