// Package fulldisk has the disk that is full, for tests.
package fulldisk

import (
	"errors"
	"io"
	"syscall"
)

// Disk is a file in memory on a disk of Capacity bytes: a write that doesn't
// fit writes what does and returns ENOSPC. Cutting the file makes room.
type Disk struct {
	Capacity int
	// Data is what the file holds.
	Data []byte
	// Closed counts Close.
	Closed int

	pos int
}

// Write writes at the current position.
func (d *Disk) Write(p []byte) (int, error) {
	n := min(len(p), d.Capacity-d.pos)
	if grow := d.pos + n - len(d.Data); grow > 0 {
		d.Data = append(d.Data, make([]byte, grow)...)
	}
	copy(d.Data[d.pos:], p[:n])
	d.pos += n
	if n < len(p) {
		return n, syscall.ENOSPC
	}
	return n, nil
}

// Seek goes to an absolute position.
func (d *Disk) Seek(offset int64, whence int) (int64, error) {
	if whence != io.SeekStart {
		return 0, errors.ErrUnsupported
	}
	d.pos = int(offset)
	return offset, nil
}

// Truncate cuts the file.
func (d *Disk) Truncate(size int64) error {
	d.Data = d.Data[:size]
	return nil
}

// Close counts.
func (d *Disk) Close() error {
	d.Closed++
	return nil
}
