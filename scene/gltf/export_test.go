package gltf

import (
	"io/fs"
	"path"

	"github.com/raybridge/raybridge/scene"
)

// LoadFS is Load from a file system.
func LoadFS(fsys fs.FS, name string, o Options) (*scene.Asset, error) {
	files, err := fs.Sub(fsys, path.Dir(name))
	if err != nil {
		return nil, &Error{File: name, Err: err}
	}
	base := path.Base(name)
	return load(source{name: name, base: base, model: files, files: files}, o)
}
