package bridgetest

import (
	"errors"
	"io"
	"syscall"
)

// FullDisk is a file in memory on a disk of Capacity bytes: a write that doesn't
// fit writes what does and returns ENOSPC. Cutting the file makes room.
type FullDisk struct {
	Capacity int
	// Data is what the file holds.
	Data []byte
	// Closed counts Close.
	Closed int

	pos int
}

// Write writes at the current position.
func (d *FullDisk) Write(p []byte) (int, error) {
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
func (d *FullDisk) Seek(offset int64, whence int) (int64, error) {
	if whence != io.SeekStart {
		return 0, errors.ErrUnsupported
	}
	d.pos = int(offset)
	return offset, nil
}

// Truncate cuts the file.
func (d *FullDisk) Truncate(size int64) error {
	d.Data = d.Data[:size]
	return nil
}

// Close counts.
func (d *FullDisk) Close() error {
	d.Closed++
	return nil
}
