// Package gl has the functions and constants of OpenGL 4.5 core that the driver uses,
// under the specification's names without "gl" and "GL_". Nothing is linked: Load takes
// each function from the context's own loader, so that a program starts where there
// is no OpenGL. The functions' meaning is the specification's; none may be called
// before Load succeeded, or on a thread without a current context.
package gl
