// Package gl has the functions and constants of OpenGL 4.5 core that the driver uses,
// under the specification's names without "gl" and "GL_". Nothing is linked: Load takes
// each function from the context's own loader, so that a program starts without
// OpenGL too. The functions' meaning is the specification's. Call them only after Load has
// succeeded, and on a thread with a current context.
package gl
