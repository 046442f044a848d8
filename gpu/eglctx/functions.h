// The functions of EGL 1.5 that this package calls, as the specification declares them:
// result, name without "egl", parameters, arguments. Define FUNCTION before including this.
FUNCTION(EGLBoolean, BindAPI, (EGLenum api), (api))
FUNCTION(EGLBoolean, ChooseConfig, (EGLDisplay display, const EGLint *attributes, EGLConfig *configs, EGLint size, EGLint *count),
	(display, attributes, configs, size, count))
FUNCTION(EGLContext, CreateContext, (EGLDisplay display, EGLConfig config, EGLContext share, const EGLint *attributes),
	(display, config, share, attributes))
FUNCTION(EGLSurface, CreatePbufferSurface, (EGLDisplay display, EGLConfig config, const EGLint *attributes), (display, config, attributes))
FUNCTION(EGLBoolean, DestroyContext, (EGLDisplay display, EGLContext context), (display, context))
FUNCTION(EGLBoolean, DestroySurface, (EGLDisplay display, EGLSurface surface), (display, surface))
FUNCTION(EGLint, GetError, (void), ())
FUNCTION(void *, GetProcAddress, (const char *name), (name))
FUNCTION(EGLBoolean, Initialize, (EGLDisplay display, EGLint *major, EGLint *minor), (display, major, minor))
FUNCTION(EGLBoolean, MakeCurrent, (EGLDisplay display, EGLSurface draw, EGLSurface read, EGLContext context), (display, draw, read, context))
FUNCTION(const char *, QueryString, (EGLDisplay display, EGLint name), (display, name))
FUNCTION(EGLBoolean, ReleaseThread, (void), ())
