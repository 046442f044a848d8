// Package page has the live page: the files that a browser loads. They hold nothing secret, so that they need no token;
// their data comes by the API and its WebSocket. docs/live-page.md is their page.
package page

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"strings"
	"time"
)

//go:embed assets
var assets embed.FS

// policy is what a browser lets the page do: load its own files, and talk to its own server. No script or style stands in
// a document, and nothing is evaluated.
const policy = "default-src 'none'; script-src 'self'; worker-src 'self'; style-src 'self'; img-src 'self' blob:; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// kinds are the types of the files, by the ends of their names. A browser is told, and guesses nothing.
var kinds = map[string]string{
	".html": "text/html; charset=utf-8",
	".js":   "text/javascript; charset=utf-8",
	".css":  "text/css; charset=utf-8",
	".svg":  "image/svg+xml",
	".png":  "image/png",
	".ico":  "image/x-icon",
	".json": "application/json",
}

// file is one of the page's, as it is and packed with gzip.
type file struct {
	kind          string
	plain, packed body
}

// body is what a browser is sent. Its tag is the content's: the two of a file have different ones.
type body struct {
	tag     string
	content []byte
}

func bodyOf(content []byte) body {
	sum := sha256.Sum256(content)
	return body{`"` + hex.EncodeToString(sum[:16]) + `"`, content}
}

// Files are the page's. Their methods may be called from any goroutine.
type Files struct{ byPath map[string]file }

// New reads the files that the program has in it.
func New() (*Files, error) { return read(assets) }

// read reads all files of the folder assets.
func read(from fs.FS) (*Files, error) {
	f := &Files{byPath: map[string]file{}}
	err := fs.WalkDir(from, "assets", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := fs.ReadFile(from, name)
		if err != nil {
			return err
		}
		kind, known := kinds[path.Ext(name)]
		if !known {
			return fmt.Errorf("%s: no type is known for its name", name)
		}
		f.byPath[pathOf(name)] = file{kind, bodyOf(content), bodyOf(pack(content))}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read the page's files: %w", err)
	}
	return f, nil
}

// pack compresses a file, once for all browsers.
func pack(content []byte) []byte {
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	_, _ = w.Write(content) // a buffer takes everything
	_ = w.Close()
	return packed.Bytes()
}

// unpacks reports whether a browser asks for gzip. Browsers say so without a weight.
func unpacks(r *http.Request) bool {
	for _, list := range r.Header.Values("Accept-Encoding") {
		for name := range strings.SplitSeq(list, ",") {
			if strings.TrimSpace(name) == "gzip" {
				return true
			}
		}
	}
	return false
}

// pathOf returns where a file is served: index.html at the root.
func pathOf(name string) string {
	served := strings.TrimPrefix(name, "assets")
	return strings.TrimSuffix(served, "index.html")
}

// Paths lists where the files are, in no order.
func (f *Files) Paths() []string {
	list := make([]string, 0, len(f.byPath))
	for served := range f.byPath {
		list = append(list, served)
	}
	return list
}

// ServeHTTP answers GET and HEAD for one of the Paths. A browser asks each time whether its copy is still good, by the hash
// of the content: so it never mixes the files of two versions.
func (f *Files) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	header.Set("X-Content-Type-Options", "nosniff")
	one, there := f.byPath[r.URL.Path]
	switch {
	case !there:
		http.Error(w, fmt.Sprintf("the page has no file %q", r.URL.Path), http.StatusNotFound)
		return
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		header.Set("Allow", "GET, HEAD")
		http.Error(w, fmt.Sprintf("%s takes GET and HEAD, not %s", r.URL.Path, r.Method), http.StatusMethodNotAllowed)
		return
	}
	sent := one.plain
	if unpacks(r) {
		sent = one.packed
		header.Set("Content-Encoding", "gzip")
	}
	header.Set("Content-Type", one.kind)
	header.Set("ETag", sent.tag)
	header.Set("Vary", "Accept-Encoding")
	header.Set("Cache-Control", "no-cache")
	header.Set("Content-Security-Policy", policy)
	header.Set("Referrer-Policy", "no-referrer")
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(sent.content))
}
