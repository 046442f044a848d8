// Package scene holds what sensors see: meshes, materials, labels, actors and
// their motion; it composes them into a World that is searched for ray hits
// and uploaded to the GPU.
package scene
