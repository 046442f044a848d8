package page

import (
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// ask asks for a file.
func ask(t *testing.T, f *Files, method, path string, headers ...string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequest(method, path, nil)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	f.ServeHTTP(w, r)
	return w
}

// Each file has its type, and what keeps a browser from doing more with it than the page needs.
func TestFiles(t *testing.T) {
	f, err := read(fstest.MapFS{
		"assets/index.html":    {Data: []byte("<!doctype html>")},
		"assets/app.js":        {Data: []byte("import './draw/cloud.js'")},
		"assets/draw/cloud.js": {Data: []byte("export {}")},
		"assets/style.css":     {Data: []byte("body {}")},
	})
	require.NoError(t, err)
	assert.ElementsMatch(t, []string{"/", "/app.js", "/draw/cloud.js", "/style.css"}, f.Paths())
	for path, kind := range map[string]string{
		"/": "text/html; charset=utf-8", "/app.js": "text/javascript; charset=utf-8", "/draw/cloud.js": "text/javascript; charset=utf-8", "/style.css": "text/css; charset=utf-8",
	} {
		response := ask(t, f, http.MethodGet, path)
		assert.Equal(t, http.StatusOK, response.Code, path)
		for name, value := range map[string]string{
			"Content-Type": kind, "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "Cache-Control": "no-cache", "Set-Cookie": "",
			"Content-Security-Policy": "default-src 'none'; script-src 'self'; worker-src 'self'; style-src 'self'; img-src 'self' blob:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
		} {
			assert.Equal(t, value, response.Header().Get(name), "%s of %s", name, path)
		}
		tag := response.Header().Get("ETag")
		assert.Equal(t, http.StatusNotModified, ask(t, f, http.MethodGet, path, "If-None-Match", tag).Code, path)
		assert.Equal(t, http.StatusOK, ask(t, f, http.MethodGet, path, "If-None-Match", `"another"`).Code, path)
		head := ask(t, f, http.MethodHead, path)
		assert.Equal(t, tag, head.Header().Get("ETag"))
	}
	assert.NotEqual(t, ask(t, f, http.MethodGet, "/app.js").Header().Get("ETag"), ask(t, f, http.MethodGet, "/draw/cloud.js").Header().Get("ETag"), "the tag is the content's")
	for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodDelete, http.MethodOptions} {
		response := ask(t, f, method, "/app.js")
		assert.Equal(t, http.StatusMethodNotAllowed, response.Code, method)
		assert.Equal(t, "GET, HEAD", response.Header().Get("Allow"))
	}
	for _, path := range []string{"/index.html", "/no.js", "/assets/app.js", "/draw/"} {
		assert.Equal(t, http.StatusNotFound, ask(t, f, http.MethodGet, path).Code, path)
	}
}

// A browser that unpacks gzip is sent less, under another tag: a cache between keeps both apart.
func TestPackedFiles(t *testing.T) {
	f, err := New()
	require.NoError(t, err)
	plain, packed := 0, 0
	for _, path := range f.Paths() {
		whole := ask(t, f, http.MethodGet, path, "Accept-Encoding", "br, gzip;q=0")
		assert.Empty(t, whole.Header().Get("Content-Encoding"), path)
		response := ask(t, f, http.MethodGet, path, "Accept-Encoding", "gzip, deflate, br, zstd")
		assert.Equal(t, "gzip", response.Header().Get("Content-Encoding"), path)
		plain, packed = plain+whole.Body.Len(), packed+response.Body.Len()
		reader, err := gzip.NewReader(response.Body)
		require.NoError(t, err, path)
		content, err := io.ReadAll(reader)
		require.NoError(t, err, path)
		assert.Equal(t, whole.Body.String(), string(content), path)
		tags := []string{whole.Header().Get("ETag"), response.Header().Get("ETag")}
		assert.NotEqual(t, tags[0], tags[1], path)
		for i, encoding := range []string{"identity", "gzip"} {
			again := ask(t, f, http.MethodGet, path, "Accept-Encoding", encoding, "If-None-Match", tags[i])
			assert.Equal(t, http.StatusNotModified, again.Code, path)
			assert.Equal(t, "Accept-Encoding", again.Header().Get("Vary"), path)
			assert.Equal(t, http.StatusOK, ask(t, f, http.MethodGet, path, "Accept-Encoding", encoding, "If-None-Match", tags[1-i]).Code, path)
		}
	}
	assert.Less(t, 2*packed, plain)
	t.Logf("%d bytes are sent as %d", plain, packed)
}

// A file of which a browser would guess the type isn't served.
func TestFilesOfNoType(t *testing.T) {
	_, err := read(fstest.MapFS{"assets/notes.txt": {}})
	assert.ErrorContains(t, err, "assets/notes.txt: no type is known for its name")
}

// The program has the page.
func TestThePageIsThere(t *testing.T) {
	f, err := New()
	require.NoError(t, err)
	assert.Equal(t, http.StatusOK, ask(t, f, http.MethodGet, "/").Code)
}
