// Package encode writes and reads ROS messages in the formats of the protocols. A message
// (package ros) visits its fields; an encoder and a decoder are visitors with a format.
package encode
