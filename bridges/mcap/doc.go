// Package mcap is the bridge that records to MCAP files as ROS 2 does: profile
// ros2, messages in CDR, schemas in ros2msg, the offered quality of service in
// each channel's metadata. ROS 2 and Foxglove tools open them.
//
// # Connection
//
// "mcap:PATH" with PATH ending in .mcap writes that file. Any other PATH is a
// rosbag2 folder: PATH/NAME_0.mcap and PATH/metadata.yaml, with NAME the
// folder's own name, as `ros2 bag record` lays it out. Relative paths lie below
// the run's output folder; folders are made as needed; an older recording of
// the same name is replaced. After a question mark:
//
//	metadata=5|9            form of metadata.yaml: 5 (default) is read by ROS 2
//	                        Humble and later, 9 by Jazzy and later; it decides
//	                        on the form of the offered QoS in the file too
//	compression=zstd|lz4|none   of the chunks; zstd by default
//	chunk=BYTES             size from which a chunk is closed, 1048576 by default
//
// # Times
//
// A message's log time is the simulation time at which it was handed over
// (bridges.Env.Now), its publish time the capture stamp. Its sequence counts
// the topic's recorded messages from 1. Channels are numbered in the order in
// which publishers were added. Equal messages in equal order give equal bytes
// (law T5).
//
// # Failure
//
// A chunk is closed when it has its size, or when a message comes a second of
// log time after its first; it then goes to the operating system, so that a
// killed process loses the open chunk alone. When a write fails the file is cut
// back to its last complete chunk and finished there: it stays readable.
// Messages after that are counted lost (write_failed), the bridge's status is
// unexpectedly_disconnected, and Err tells what happened.
package mcap
