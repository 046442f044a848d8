// Package compute makes sensors out of one compute shader: what is left to write is
// the GLSL that computes the data, and the Go that publishes it.
//
// # Usage
//
// A sensor embeds *Sensor[E], made by New in its Definition's New function. E is the
// record that the shader writes; see readback.Pool for what it may be. Begin opens the
// sensor's outputs and then calls the embedded Begin; the embedded Sensor is the
// Capturer. Rays and FixedRays make its shader where all that is needed is what a list of
// rays hits.
//
// # Shader
//
// The GLSL is an entry of the shader catalogue or of the sensor's own package
// (shaders.Entry.Files), and may include this repository's: lib/trace.glsl finds what
// rays hit, sensorPose(momentAt(0.0)) is where the sensor is. It is bound to
//
//   - the scene's tables, at the slots that lib/scene.glsl and lib/motion.glsl declare,
//   - Shader.Uniforms at uniform slot 0,
//   - Shader.Table at sampler slot SLOT_SENSOR, a usamplerBuffer,
//   - the results at storage slot 0: Shader.Results records of E.
//
// # Order and loss
//
// Captures are published in the order in which they were made. One that finds no free
// slot, or doesn't come back, is counted (sensors.Env.Dropped).
package compute
