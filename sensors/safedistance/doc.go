// Package safedistance is the sensor of CARLA's tutorial "How to add a new sensor":
// it tells which other vehicles are inside a box around the one it is attached to.
//
// It is the worked example of docs/adding-a-sensor.md. The package shows all that a
// new sensor needs, and nothing here is known anywhere else in raybridge: a message
// of its own (message.go), its bytes on the wire (wire.go), and the sensor
// (safedistance.go). One line in sensors/all puts it into the program.
package safedistance
