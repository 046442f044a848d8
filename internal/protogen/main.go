// Command protogen writes the Go code of .proto files, without protoc:
//
//	//go:generate go run github.com/raybridge/raybridge/internal/protogen [-M FILE.proto=IMPORT/PATH] DIR FILE.proto...
//
// FILEs are paths below DIR, which is also where their imports lie. The code goes to
// DIR beside each file; where a file has no go_package option, -M names its package.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
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

// packages collects the -M flags.
type packages []string

func (p *packages) String() string { return strings.Join(*p, " ") }

func (p *packages) Set(text string) error {
	*p = append(*p, "M"+text)
	return nil
}

func main() {
	parameters := packages{"paths=source_relative"}
	flag.Var(&parameters, "M", "`FILE.proto=IMPORT/PATH`: the Go package of a file; repeatable")
	flag.Parse()
	if flag.NArg() < 2 {
		fmt.Fprintln(os.Stderr, "usage: protogen [-M FILE.proto=IMPORT/PATH] DIR FILE.proto...")
		os.Exit(2)
	}
	if err := generate(flag.Arg(0), flag.Args()[1:], strings.Join(parameters, ",")); err != nil {
		fmt.Fprintln(os.Stderr, "protogen:", err)
		os.Exit(1)
	}
}

// generate compiles the files and writes their code.
func generate(dir string, files []string, parameter string) error {
	compiler := protocompile.Compiler{
		Resolver:       protocompile.WithStandardImports(&protocompile.SourceResolver{ImportPaths: []string{dir}}),
		SourceInfoMode: protocompile.SourceInfoStandard, // comments go into the code
	}
	compiled, err := compiler.Compile(context.Background(), files...)
	if err != nil {
		return fmt.Errorf("compile: %w", err)
	}
	request := &pluginpb.CodeGeneratorRequest{FileToGenerate: files, Parameter: &parameter}
	seen := map[string]bool{}
	for _, f := range compiled {
		add(request, f, seen)
	}
	gen, err := protogen.Options{}.New(request)
	if err != nil {
		return err
	}
	for _, f := range gen.Files {
		if f.Generate {
			internal_gengo.GenerateFile(gen, f)
		}
	}
	response := gen.Response()
	if response.Error != nil {
		return errors.New(response.GetError())
	}
	for _, f := range response.File {
		if err := os.WriteFile(filepath.Join(dir, f.GetName()), []byte(f.GetContent()), 0o666); err != nil {
			return err
		}
	}
	return nil
}

// add appends a file after those that it imports.
func add(request *pluginpb.CodeGeneratorRequest, f protoreflect.FileDescriptor, seen map[string]bool) {
	if seen[f.Path()] {
		return
	}
	seen[f.Path()] = true
	imports := f.Imports()
	for i := range imports.Len() {
		add(request, imports.Get(i).FileDescriptor, seen)
	}
	described := proto.CloneOf(protoutil.ProtoFromFileDescriptor(f))
	request.ProtoFile = append(request.ProtoFile, described)
}
