// Package sensors is the contract of a sensor: its definition with typed
// attributes, the registry of definitions, its life, and the outputs it
// publishes on. Each type of sensor is a folder of its own; sensors/all lists
// them.
//
// # Life
//
// A Life takes one sensor through it and enforces the order. Definition.New makes a
// sensor from a Spec (Life.Set); SetOwner tells one that is Owned what it rides on;
// Begin gives it an Env; at each firing, PreTick comes before the scene moves, where a
// sensor is a PreTicker, and Tick after; End releases it. Sensors that generate data
// on the GPU are Capturers: after Tick, Capture runs on the GL thread, and Process
// publishes what came back. A Hearer is told when its first listener comes and its last
// one goes; while nobody listens nothing of this happens but Begin and End.
package sensors
