// Package ranging has the sensors that measure how far away something is: Radar,
// Ultrasonic and Obstacle cast rays on the GPU (sensors/compute); SafeDistance compares
// boxes.
//
// SafeDistance is the worked example of docs/adding-a-sensor.md. One file shows all that
// a new sensor needs: a message of its own, its bytes on the wire, and the sensor.
// Nothing in it is known anywhere else in raybridge; one line in sensors/all puts it
// into the program.
package ranging
