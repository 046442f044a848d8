// Package scenetest has what tests of sensors need: Tracer, a plain float64 ray
// caster that works from a scene.Scene alone and shares nothing with
// scene.World; Agreement, which holds a sensor's ranges beside it; and small scenes
// whose geometry, labels and colours are known.
package scenetest
