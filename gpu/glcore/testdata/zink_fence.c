// Shows that a fence of Mesa's zink signals before the commands that were flushed ahead of it. Package
// glcore puts a small copy before each fence and each glFinish for that reason, as -copy does here.
//
//     gcc -o zink_fence zink_fence.c -lEGL -lGL
//     GALLIUM_DRIVER=zink LIBGL_ALWAYS_SOFTWARE=1 XDG_RUNTIME_DIR=/tmp ./zink_fence [-copy]
//
// With Mesa 22.3.6 it prints 19 or 20 of 20, with -copy 0 of 20, and 0 of 20 with llvmpipe itself.
#define GL_GLEXT_PROTOTYPES
#define EGL_EGLEXT_PROTOTYPES
#include <EGL/egl.h>
#include <EGL/eglext.h>
#include <GL/gl.h>
#include <GL/glext.h>
#include <stdio.h>

enum { RUNS = 20, WORDS = 4096 };

// Long enough that a fence which doesn't wait for it is seen.
static const char *const source =
    "#version 450 core\n"
    "layout(local_size_x = 64) in;\n"
    "layout(std430, binding = 0) writeonly buffer Out { uint words[]; };\n"
    "void main() {\n"
    "    uint x = gl_GlobalInvocationID.x;\n"
    "    for (int i = 0; i < 4000; i++) x = x * 1664525u + 1013904223u;\n"
    "    words[gl_GlobalInvocationID.x] = x;\n"
    "}\n";

static void make_current(void) {
    EGLDisplay display = eglGetPlatformDisplay(EGL_PLATFORM_SURFACELESS_MESA, EGL_DEFAULT_DISPLAY, NULL);
    const EGLint attributes[] = {EGL_CONTEXT_MAJOR_VERSION, 4, EGL_CONTEXT_MINOR_VERSION, 5, EGL_NONE};
    eglInitialize(display, NULL, NULL);
    eglBindAPI(EGL_OPENGL_API);
    eglMakeCurrent(display, EGL_NO_SURFACE, EGL_NO_SURFACE, eglCreateContext(display, EGL_NO_CONFIG_KHR, EGL_NO_CONTEXT, attributes));
}

static void wait_for(GLsync fence) {
    while (glClientWaitSync(fence, GL_SYNC_FLUSH_COMMANDS_BIT, 1000000) == GL_TIMEOUT_EXPIRED) {}
}

int main(int argc, char **argv) {
    make_current();
    GLuint shader = glCreateShader(GL_COMPUTE_SHADER), program = glCreateProgram(), words, small;
    glShaderSource(shader, 1, &source, NULL);
    glCompileShader(shader);
    glAttachShader(program, shader);
    glLinkProgram(program);
    glUseProgram(program);
    glCreateBuffers(1, &words);
    glNamedBufferStorage(words, 4 * WORDS, NULL, 0);
    glBindBufferBase(GL_SHADER_STORAGE_BUFFER, 0, words);
    glCreateBuffers(1, &small);
    glNamedBufferStorage(small, 8, NULL, 0);
    int early = 0;
    for (int run = 0; run < RUNS; run++) {
        glDispatchCompute(WORDS / 64, 1, 1);
        GLsync first = glFenceSync(GL_SYNC_GPU_COMMANDS_COMPLETE, 0);
        glFlush();
        if (argc > 1) glCopyNamedBufferSubData(small, small, 0, 4, 4);
        GLsync second = glFenceSync(GL_SYNC_GPU_COMMANDS_COMPLETE, 0);
        wait_for(second);
        early += glClientWaitSync(first, 0, 0) == GL_TIMEOUT_EXPIRED;
        wait_for(first);
        glDeleteSync(first);
        glDeleteSync(second);
    }
    printf("%s: in %d of %d runs the second fence signalled before the first\n", glGetString(GL_RENDERER), early, RUNS);
    return early > 0;
}
