// Package save writes received sensor data to files: pictures as PNG or JPEG, point
// clouds and radar sweeps as PCD or PLY, everything else as lines of JSON.
//
// # Files
//
// Below a [Folder], a stream has a folder of its name: /front/image_raw lies in
// front/image_raw. A message is the file SEQUENCE_STAMP there, such as
// 00000012_1.200000000.png: the sensor's capture, and simulated seconds. A file that
// is there already is never replaced: the next one of its name gets a number. The
// lines of JSON of /imu/data are imu/data.jsonl, which is appended to.
//
// # Formats
//
// PNG shows an image as people see it (package picture): depth, labels, ids, normals
// and optical flow in colours. Compressed images are written as they were received,
// whatever they are compressed by. PCD and PLY have the points in the sensor's frame,
// binary and little-endian, with the fields of [Points]. JSON has the keys of the
// logging bridge, and every value as it was measured.
package save
