// Package dataset is what bridges that write data sets have in common. A bridge of a format, such as nuscenes, is a [Format] and
// a [Writer]; all else is here.
//
// # Key frames
//
// A [Frame] at T holds what has the stamp T. A rolling lidar's scan of T comes a period later than the pictures of T, so that the
// frame waits for it. A sensor that doesn't fire at T gives the sample nearest to T, up to half its period away. Key frames lie
// where the first lidar, or else the first camera, fires nearest to a grid of Options.Keyframes a second.
//
// # A set on the disk
//
// Data files are written while the run continues. A line in the [Journal] commits a key frame, once its files are there. At the end
// Format.Tables makes the rest from the journal, by temporary names. So [Recover] of a set whose run was killed writes what a run
// of as many key frames would have written, byte by byte: it cuts the journal behind its last whole row, removes the files that
// no row names, and has the tables written.
package dataset
