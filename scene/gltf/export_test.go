package gltf

import (
	"context"
	"io/fs"
	"path"

	"github.com/raybridge/raybridge/scene"
)

// LoadFS is Load from a file system.
func LoadFS(fsys fs.FS, name string, o Options) (*scene.Asset, error) {
	return LoadFSContext(context.Background(), fsys, name, o)
}

// LoadFSContext is LoadFS until a context ends.
func LoadFSContext(ctx context.Context, fsys fs.FS, name string, o Options) (*scene.Asset, error) {
	files, err := fs.Sub(fsys, path.Dir(name))
	if err != nil {
		return nil, &Error{File: name, Err: err}
	}
	base := path.Base(name)
	return load(ctx, source{name: name, base: base, model: files, files: files}, o)
}
