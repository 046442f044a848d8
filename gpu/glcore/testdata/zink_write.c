// Shows that Mesa's zink writes a buffer before a dispatch has read it through a texture buffer, though
// the write comes after the dispatch. Package glcore flushes before it writes a buffer, and writes it by
// way of another, for that reason; so does -copy here.
//
//     gcc -o zink_write zink_write.c -lEGL -lGL
//     GALLIUM_DRIVER=zink LIBGL_ALWAYS_SOFTWARE=1 XDG_RUNTIME_DIR=/tmp ./zink_write [-copy]
//
// With Mesa 22.3.6 it prints about 14 of 20, with -copy 0 of 20, and 0 of 20 with llvmpipe itself.
#define GL_GLEXT_PROTOTYPES
#define EGL_EGLEXT_PROTOTYPES
#include <EGL/egl.h>
#include <EGL/eglext.h>
#include <GL/gl.h>
#include <GL/glext.h>
#include <stdio.h>

enum { RUNS = 20, WORDS = 4096 };

static const char *const source =
    "#version 450 core\n"
    "layout(local_size_x = 64) in;\n"
    "layout(binding = 0) uniform usamplerBuffer number;\n"
    "layout(std430, binding = 0) writeonly buffer Out { uint words[]; };\n"
    "void main() { words[gl_GlobalInvocationID.x] = texelFetch(number, 0).x; }\n";

static void make_current(void) {
    EGLDisplay display = eglGetPlatformDisplay(EGL_PLATFORM_SURFACELESS_MESA, EGL_DEFAULT_DISPLAY, NULL);
    const EGLint attributes[] = {EGL_CONTEXT_MAJOR_VERSION, 4, EGL_CONTEXT_MINOR_VERSION, 5, EGL_NONE};
    eglInitialize(display, NULL, NULL);
    eglBindAPI(EGL_OPENGL_API);
    eglMakeCurrent(display, EGL_NO_SURFACE, EGL_NO_SURFACE, eglCreateContext(display, EGL_NO_CONFIG_KHR, EGL_NO_CONTEXT, attributes));
}

static void write_number(GLuint buffer, GLuint number, int by_copy) {
    if (!by_copy) {
        glNamedBufferSubData(buffer, 0, 4, &number);
        return;
    }
    GLuint staged;
    glFlush();
    glCreateBuffers(1, &staged);
    glNamedBufferStorage(staged, 4, &number, 0);
    glCopyNamedBufferSubData(staged, buffer, 0, 0, 4);
    glDeleteBuffers(1, &staged);
}

int main(int argc, char **argv) {
    make_current();
    GLuint shader = glCreateShader(GL_COMPUTE_SHADER), program = glCreateProgram(), words[2], number, view;
    glShaderSource(shader, 1, &source, NULL);
    glCompileShader(shader);
    glAttachShader(program, shader);
    glLinkProgram(program);
    glUseProgram(program);
    glCreateBuffers(1, &number);
    glNamedBufferStorage(number, 16384, NULL, GL_DYNAMIC_STORAGE_BIT);
    glCreateTextures(GL_TEXTURE_BUFFER, 1, &view);
    glTextureBuffer(view, GL_R32UI, number);
    glBindTextureUnit(0, view);
    glCreateBuffers(2, words);
    for (int i = 0; i < 2; i++) glNamedBufferStorage(words[i], 4 * WORDS, NULL, 0);
    int wrong = 0;
    for (GLuint run = 0; run < RUNS; run++) {
        for (GLuint i = 0; i < 2; i++) {
            write_number(number, 2 * run + i, argc > 1);
            glBindBufferBase(GL_SHADER_STORAGE_BUFFER, 0, words[i]);
            glDispatchCompute(WORDS / 64, 1, 1);
        }
        glMemoryBarrier(GL_BUFFER_UPDATE_BARRIER_BIT);
        GLuint first;
        glGetNamedBufferSubData(words[0], 0, 4, &first);
        wrong += first != 2 * run;
    }
    printf("%s: in %d of %d runs a dispatch read what was written after it\n", glGetString(GL_RENDERER), wrong, RUNS);
    return wrong > 0;
}
