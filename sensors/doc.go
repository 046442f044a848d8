// Package sensors is the contract of a sensor: its definition with typed
// attributes, the registry of definitions, its life, and the outputs it
// publishes on. Each type of sensor is a folder of its own; sensors/all lists
// them.
//
// # Life
//
// Definition.New makes a sensor from a Spec; Begin gives it an Env; Tick fires
// it on its time grid; End releases it. Sensors that generate data on the GPU are
// Capturers: after Tick, Capture runs on the GL thread, and Process publishes
// what came back.
package sensors
