#ifndef RAYBRIDGE_EGLCTX_H
#define RAYBRIDGE_EGLCTX_H

#include <EGL/egl.h>
#include <EGL/eglext.h>

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
