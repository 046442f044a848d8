// Package mcap is the bridge that records to MCAP files, and the reader of such
// recordings.
//
// # Connection
//
// "mcap:PATH" with PATH ending in .mcap writes that file. Any other PATH is a
// rosbag2 folder: PATH/NAME_0.mcap and PATH/metadata.yaml, with NAME the
// folder's own name, as `ros2 bag record` lays it out. Relative paths lie below
// the run's output folder; folders are made as needed; an older recording of
// the same name is replaced. After a question mark:
//
//	profile=ros2|ros1|foxglove  what the messages are, ros2 by default
//	split=SIZE              a new file when one has this size, such as 500MB
//	split_time=TIME         a new file when one covers this simulation time, such as 60s
//	metadata=5|9            form of metadata.yaml: 5 (default) is read by ROS 2
//	                        Humble and later, 9 by Jazzy and later; it decides
//	                        on the form of the offered QoS in the file too
//	compression=zstd|lz4|none   of the chunks; zstd by default
//	chunk=SIZE              size from which a chunk is closed, 1MiB by default
//	flush=TIME              close chunks that are older, by the wall clock
//
// # Profiles
//
// ros2 is what rosbag2 writes: CDR with ros2msg schemas, the offered quality of
// service in each channel's metadata. ros1 is ROS 1's serialisation with its
// definitions and md5 sums; boxes are lgsvl_msgs' there, all else is as in
// ROS 2. foxglove is protobuf with Foxglove's own schemas, and ROS 2 messages
// for samples that they have no schema for. A rosbag2 folder is always ros2.
//
// # Split recordings
//
// Files are then NAME_0.mcap, NAME_1.mcap and so on. Each is complete in itself:
// it has all schemas and channels, and begins with what latched topics
// (transient local, such as /tf_static) had published last, with its number and
// its own publish time, at the log time of the split. A file ends with the chunk
// that makes it as large as split, so it is larger by up to a chunk and the
// summary.
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
// killed process loses the open chunk alone. flush bounds that in wall time too,
// for runs that are slower than time or paused: the first message that comes so
// long after a chunk's first closes it. Such a recording's bytes depend on how
// fast the machine was, so it is off by default. [Open] reads what a killed
// process leaves, and [Recover] finishes it.
//
// When a write fails the file is cut back to its last complete chunk and
// finished there: it stays readable. Messages after that are counted lost
// (write_failed), the bridge's status is unexpectedly_disconnected, and Err
// tells what happened. It is the same for a file that was removed, which the next chunk
// tells, and for files that are not at their place at the end.
//
// # Reading
//
// [Open] gives a recording's messages as samples, in the order of their log
// times: of all three profiles, of other programs' files as far as the types are
// known, without chunks or a summary too. A cloud is read by its fields. What a
// message doesn't carry is lost: the pose of the sensor, a cloud's lasers that
// gave no return, an actor's type. What carries several samples is read as the
// most common one: nav_msgs/Odometry as Odometry, Foxglove's SceneUpdate as boxes.
// Of a ROS 2 message whose definition differs from ours nothing but its decoding
// tells: it fails, and is counted.
package mcap
