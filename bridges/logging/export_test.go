package logging

// SetLimit makes a reader take lines of so many bytes at most.
func (r *Reader) SetLimit(bytes int) { r.limit = bytes }
