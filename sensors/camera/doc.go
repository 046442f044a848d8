// Package camera has the pinhole cameras: colour, depth, semantic and instance
// labels, and surface normals.
package camera
