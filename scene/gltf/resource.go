package gltf

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"path"
	"regexp"
	"strings"
)

// maxFileBytes is the largest file that is read; a .glb can't be larger.
const maxFileBytes = 1<<32 - 1

// readFile reads at most limit bytes of a regular file of fsys.
func (l *loader) readFile(fsys fs.FS, name string, limit int64) ([]byte, error) {
	info, err := fs.Stat(fsys, name)
	if err != nil {
		return nil, missing(name, err)
	}
	if !info.Mode().IsRegular() {
		return nil, invalid("%s is not a regular file", name)
	}
	if info.Size() > maxFileBytes {
		return nil, faultf(ErrTooLarge, "%s has %d bytes: at most %d are read", name, info.Size(), int64(maxFileBytes))
	}
	f, err := fsys.Open(name)
	if err != nil {
		return nil, missing(name, err)
	}
	defer f.Close()
	size := min(info.Size(), limit)
	if err := l.memory.Take("file "+name, size); err != nil {
		return nil, err
	}
	l.read += size
	data := make([]byte, size)
	if _, err := io.ReadFull(&endingReader{l.ctx, f}, data); err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	if bytes.HasPrefix(data, []byte("version https://git-lfs")) {
		return nil, invalid("%s is a Git LFS pointer, not the file itself: run git lfs pull", name)
	}
	return data, nil
}

// endingReader reads pieces of at most pieceBytes, until its context ends.
type endingReader struct {
	ctx  context.Context
	from io.Reader
}

const pieceBytes = 1 << 20

// Read implements io.Reader.
func (r *endingReader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.from.Read(p[:min(len(p), pieceBytes)])
}

// fileError is why a file can't be read.
type fileError struct {
	name string
	err  error
}

func (e *fileError) Error() string { return fmt.Sprintf("file %q: %v", e.name, e.err) }
func (e *fileError) Unwrap() error { return e.err }

// ofModel makes an error of the model's own file, whose name is not said twice.
func ofModel(name string, err error) *Error {
	if f := new(fileError); errors.As(err, &f) {
		err = f.err
	}
	return &Error{File: name, Err: err}
}

// missing shortens the file system's error to its cause.
func missing(name string, err error) error {
	var p *fs.PathError
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return &fileError{name, fs.ErrNotExist}
	case errors.As(err, &p) && strings.Contains(p.Err.Error(), "escapes"):
		return faultf(ErrPath, "file %q leads out of the model's folder: %w", name, err)
	}
	if p != nil {
		err = p.Err
	}
	return &fileError{name, err}
}

var schemePattern = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]*:`)

// localName turns a relative URI into a file name below the model's folder.
func localName(uri string) (string, error) {
	if scheme := schemePattern.FindString(uri); scheme != "" {
		return "", faultf(ErrUnsupported, "URI %q: only relative files and data URIs are read: put the file beside the model", cut(uri))
	}
	name := uri
	if decoded, err := url.PathUnescape(uri); err == nil {
		name = decoded // a stray % stands for itself
	}
	name = path.Clean(strings.ReplaceAll(name, `\`, "/"))
	if name == "." {
		return "", invalid("URI %q names no file", cut(uri))
	}
	if !fs.ValidPath(name) {
		return "", faultf(ErrPath, "URI %q leads out of the model's folder: put the file there or below", cut(uri))
	}
	return name, nil
}

// readURI reads at most limit bytes of what a URI names or holds.
func (l *loader) readURI(uri string, limit int64) ([]byte, error) {
	if strings.HasPrefix(uri, "data:") {
		return dataURI(uri)
	}
	name, err := localName(uri)
	if err != nil {
		return nil, err
	}
	return l.readFile(l.files, name, limit)
}

// dataURI decodes a data URI (RFC 2397).
func dataURI(uri string) ([]byte, error) {
	header, body, ok := strings.Cut(strings.TrimPrefix(uri, "data:"), ",")
	if !ok {
		return nil, invalid("data URI %q has no comma before its data", cut(uri))
	}
	if strings.Contains(body, "%") {
		decoded, err := url.PathUnescape(body)
		if err != nil {
			return nil, invalid("data URI: %w", err)
		}
		body = decoded
	}
	if !strings.HasSuffix(header, ";base64") {
		return []byte(body), nil
	}
	data, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(body, "="))
	if err != nil {
		return nil, invalid("data URI: %w", err)
	}
	return data, nil
}

// buffer returns the bytes of a buffer, of exactly its byteLength.
func (l *loader) buffer(i int) ([]byte, error) {
	if err := checkIndex("buffers", i, len(l.doc.Buffers)); err != nil {
		return nil, err
	}
	b := l.doc.Buffers[i]
	if b.Data != nil {
		return b.Data, nil
	}
	data, err := l.bufferSource(i)
	if err != nil {
		return nil, fmt.Errorf("buffers[%d]: %w", i, err)
	}
	if len(data) < b.ByteLength {
		return nil, invalid("buffers[%d] has %d bytes, its byteLength says %d", i, len(data), b.ByteLength)
	}
	l.allow(b.ByteLength)
	b.Data = data[:b.ByteLength:b.ByteLength]
	return b.Data, nil
}

// placeholder reports whether a buffer has no bytes, but stands for those that a compression
// unpacks to.
func (l *loader) placeholder(i int, compression string) bool {
	if checkIndex("buffers", i, len(l.doc.Buffers)) != nil || l.doc.Buffers[i].URI != "" {
		return false
	}
	_, marked := l.doc.Buffers[i].Extensions[compression]
	return marked || i != 0 || l.bin == nil
}

func (l *loader) bufferSource(i int) ([]byte, error) {
	b := l.doc.Buffers[i]
	switch {
	case b.URI != "":
		return l.readURI(b.URI, int64(b.ByteLength))
	case i == 0 && l.bin != nil:
		return l.bin, nil
	}
	return nil, invalid("has no URI, and the file has no binary chunk for it")
}

// view returns the bytes of a buffer view.
func (l *loader) view(i int) ([]byte, error) {
	if err := checkIndex("bufferViews", i, len(l.doc.BufferViews)); err != nil {
		return nil, err
	}
	v := l.doc.BufferViews[i]
	if name := extensionAmong(v.Extensions, viewCompressions); name != "" && l.placeholder(v.Buffer, name) {
		return nil, faultf(ErrUnsupported, "bufferViews[%d] is compressed by %s, which is not supported: export the model without it", i, name)
	}
	data, err := l.buffer(v.Buffer)
	if err != nil {
		return nil, fmt.Errorf("bufferViews[%d]: %w", i, err)
	}
	end := int64(v.ByteOffset) + int64(v.ByteLength)
	if v.ByteOffset < 0 || v.ByteLength < 0 || end > int64(len(data)) {
		return nil, invalid("bufferViews[%d] ends at byte %d, buffers[%d] has %d", i, end, v.Buffer, len(data))
	}
	return data[v.ByteOffset:end:end], nil
}
