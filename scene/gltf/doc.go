// Package gltf loads glTF 2.0 models (.gltf and .glb) as scene assets: meshes,
// metallic-roughness materials, textures, the node hierarchy with its labels,
// and node animations.
//
// # Axes and units
//
// glTF's axes are y up, z forward, x left; raybridge's are REP-103's: x
// forward, y left, z up. The loader turns everything once, positions, normals,
// node transforms and animation values alike, so that the asset's (x, y, z) is
// the file's (z, x, y). Options.Up and Options.Forward name other axes for
// files that were modelled otherwise; Options.Scale is metres per unit.
//
// Front faces are counter-clockwise in each mesh and stay so in the scene: a
// node that mirrors (a negative scale) becomes one that does not, and the
// reflection goes into a copy of its mesh.
//
// # What is read
//
// The file's default scene and what it uses; buffers from files, data URIs and
// the .glb's own chunk; PNG and JPEG pictures; sparse, interleaved, normalized
// and quantized accessors; triangles, strips and fans. Missing normals are
// computed flat, as section 3.7.2.1 of the specification asks. One set of
// texture coordinates a material is used: that of its base colour, of whatever
// number, with KHR_texture_transform worked in.
//
// Extensions: KHR_mesh_quantization, KHR_texture_transform,
// KHR_materials_emissive_strength, and KHR_materials_unlit, which becomes a
// matte surface, since sensors need light. Any other is an error if the file
// requires it and a warning if it doesn't. Left out with a warning: skins (the
// mesh stays in its bind pose), morph targets, vertex colours, points and lines.
// Normal and occlusion textures and cameras are ignored.
//
// A material's extras may hold lidar_reflectance (0 to 1) and retroreflective
// (true or false).
//
// # Bad input
//
// Everything wrong with a file is an *Error that says where; no input makes
// the loader panic, read outside the model's folder, or allocate far more than
// the input's size explains. External files are named by relative URIs
// (percent-decoded) at or below the model's folder, symbolic links included.
package gltf
