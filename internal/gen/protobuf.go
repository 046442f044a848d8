package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/bufbuild/protocompile"
	"github.com/bufbuild/protocompile/protoutil"
	"google.golang.org/protobuf/cmd/protoc-gen-go/internal_gengo"
	"google.golang.org/protobuf/compiler/protogen"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/pluginpb"
)

// protobuf writes the Go code of .proto files, without protoc. Its two arguments are folders.
// FROM has the .proto files, at the paths by which they import each other, and TO gets the code
// of all of them. The Go package is the one that their option go_package names. A file of code
// is called like the .proto file's path below TO, with _ for each slash. Where it isn't in TO,
// that is its path below FROM.
func protobuf(args []string) error {
	if len(args) != 2 {
		return errors.New("usage: gen protobuf FROM TO")
	}
	from, to := args[0], args[1]
	files, err := protoFiles(from)
	if err != nil {
		return err
	}
	compiler := protocompile.Compiler{
		Resolver:       protocompile.WithStandardImports(&protocompile.SourceResolver{ImportPaths: []string{from}}),
		SourceInfoMode: protocompile.SourceInfoStandard, // comments go into the code
	}
	compiled, err := compiler.Compile(context.Background(), files...)
	if err != nil {
		return fmt.Errorf("compile: %w", err)
	}
	request := &pluginpb.CodeGeneratorRequest{FileToGenerate: files}
	seen := map[string]bool{}
	for _, f := range compiled {
		addFile(request, f, seen)
	}
	gen, err := protogen.Options{}.New(request)
	if err != nil {
		return err
	}
	for _, f := range gen.Files {
		if f.Generate {
			f.GeneratedFilenamePrefix = codeName(from, to, f.Desc.Path())
			internal_gengo.GenerateFile(gen, f)
		}
	}
	response := gen.Response()
	if response.Error != nil {
		return errors.New(response.GetError())
	}
	for _, f := range response.File {
		if err := os.WriteFile(filepath.Join(to, f.GetName()), []byte(f.GetContent()), 0o666); err != nil {
			return err
		}
	}
	return nil
}

// protoFiles returns the .proto files below a folder, as paths below it, in order.
func protoFiles(folder string) ([]string, error) {
	var files []string
	err := fs.WalkDir(os.DirFS(folder), ".", func(file string, entry fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(file, ".proto") {
			files = append(files, file)
		}
		return err
	})
	if err == nil && len(files) == 0 {
		err = fmt.Errorf("%s has no .proto files", folder)
	}
	return files, err
}

// codeName returns what the file of code is called, without its extension.
func codeName(from, to, file string) string {
	name := strings.TrimSuffix(file, ".proto")
	if below, err := filepath.Rel(to, filepath.Join(from, name)); err == nil && filepath.IsLocal(below) {
		name = filepath.ToSlash(below)
	}
	return strings.ReplaceAll(name, "/", "_")
}

// addFile appends a file after those that it imports.
func addFile(request *pluginpb.CodeGeneratorRequest, f protoreflect.FileDescriptor, seen map[string]bool) {
	if seen[f.Path()] {
		return
	}
	seen[f.Path()] = true
	imports := f.Imports()
	for i := range imports.Len() {
		addFile(request, imports.Get(i).FileDescriptor, seen)
	}
	described := proto.CloneOf(protoutil.ProtoFromFileDescriptor(f))
	request.ProtoFile = append(request.ProtoFile, described)
}
