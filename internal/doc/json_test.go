package doc_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/internal/doc"
)

func TestParseJSON(t *testing.T) {
	root, commas, err := doc.ParseJSON("f.json", []byte("\ufeff{\n\t\"a\": [1, 2.5e1, true, null],\n\t\"b\": {\"ü\": \"\\u00fc,]\"}\r\n}\n"))
	require.NoError(t, err)
	assert.Empty(t, commas)
	require.True(t, root.IsObject())
	entries, err := root.Entries()
	require.NoError(t, err)
	require.Len(t, entries, 2)
	items, err := root.Get("a").Items()
	require.NoError(t, err)
	require.Len(t, items, 4)
	number, err := items[1].Number()
	require.NoError(t, err)
	assert.Equal(t, 25.0, number)
	on, err := items[2].Bool()
	require.NoError(t, err)
	assert.True(t, on)
	assert.True(t, items[3].Null())
	text, err := root.Get("b").Get("ü").Text()
	require.NoError(t, err)
	assert.Equal(t, "ü,]", text)
	assert.True(t, root.Get("c").Null())
	assert.False(t, root.Get("a").IsObject())
	assert.True(t, root.Get("a").IsArray())
}

// TestPlaces: lines and columns count from 1, columns in characters.
func TestJSONPlaces(t *testing.T) {
	root, _, err := doc.ParseJSON("f.json", []byte("{\n  \"é\": [1,\n   {\"x\": \"y\"}]\n}"))
	require.NoError(t, err)
	items, err := root.Get("é").Items()
	require.NoError(t, err)
	require.EqualError(t, items[0].Errorf("bad"), "f.json:2:9: é[0]: bad")
	require.EqualError(t, items[1].Get("x").Errorf("bad"), "f.json:3:10: é[1].x: bad")
	entries, err := items[1].Entries()
	require.NoError(t, err)
	require.EqualError(t, entries[0].Place.Errorf("bad"), "f.json:3:5: é[1].x: bad")
	require.EqualError(t, entries[0].UnknownKey([]string{"y"}), "f.json:3:5: é[1].x: unknown key, known are y")
	require.EqualError(t, doc.JSONNode{}.Errorf("bad"), "bad")
}

func TestSuperfluousCommas(t *testing.T) {
	for _, c := range []struct {
		text   string
		commas []string
	}{
		{"[1,\n 2,\n]", []string{"f.json:2:3: superfluous comma"}},
		{"{\"a\": \"x,}\" , },\n ", []string{"f.json:1:13: superfluous comma", "f.json:1:16: superfluous comma"}},
		{`["a\",]", "\\"]`, nil},
	} {
		_, commas, err := doc.ParseJSON("f.json", []byte(c.text))
		require.NoError(t, err, c.text)
		var got []string
		for _, e := range commas {
			got = append(got, e.Error())
		}
		assert.Equal(t, c.commas, got, c.text)
	}
}

// TestComments: they are nothing, wherever they stand, and all else keeps its place.
func TestComments(t *testing.T) {
	root, commas, err := doc.ParseJSON("f.json", []byte("// first\r\n{ /* é \n */ \"a\": [1, // one, ]\n 2, /* two */ ],\n\"url\": \"http://x/*y*/\\\"//\" } // last"))
	require.NoError(t, err)
	require.Len(t, commas, 1)
	assert.EqualError(t, commas[0], "f.json:4:3: superfluous comma")
	text, err := root.Get("url").Text()
	require.NoError(t, err)
	assert.Equal(t, `http://x/*y*/"//`, text)
	items, err := root.Get("a").Items()
	require.NoError(t, err)
	require.Len(t, items, 2)
	assert.EqualError(t, items[1].Errorf("bad"), "f.json:4:2: a[1]: bad")
	for text, message := range map[string]string{
		"[1 /* 2]":  "f.json:1:3: not valid JSON: it ends early",
		"// [1]":    "f.json:1:1: not valid JSON: it ends early",
		"[1] / [2]": "f.json:1:5: not valid JSON: invalid character '/' looking for beginning of value",
	} {
		_, _, err := doc.ParseJSON("f.json", []byte(text))
		assert.EqualError(t, err, message)
	}
}

func TestJSONSyntaxErrors(t *testing.T) {
	for _, c := range []struct{ text, message string }{
		{"", "f.json:1:1: not valid JSON: it ends early"},
		{"[1, 2", "f.json:1:6: not valid JSON: it ends early"},
		{"{\"a\":\n 1 \"b\": 2}", "f.json:2:4: not valid JSON"},
		{"[,]", "f.json:1:2: not valid JSON"},
		{"[1,,2]", "f.json:1:4: not valid JSON"},
		{"{\"a\" 1}", "f.json:1:6: not valid JSON"},
		{"{a: 1}", "f.json:1:2: not valid JSON"},
		{"[1]\n[2]", "f.json:2:1: not valid JSON: more than one value"},
		{"[01]", "f.json:1:3: not valid JSON"},
		{"[\"a", "f.json:1:"},
		{"{\"a\": 1,\n \"a\": 2}", "f.json:2:2: a: key given twice"},
		{strings.Repeat("[", 1000), "f.json:1:101: "},
	} {
		_, _, err := doc.ParseJSON("f.json", []byte(c.text))
		require.Error(t, err, c.text)
		var placed *doc.Error
		require.ErrorAs(t, err, &placed, c.text)
		assert.True(t, strings.HasPrefix(err.Error(), c.message), "%s: %v", c.text, err)
	}
}

func TestWrongKinds(t *testing.T) {
	root, _, err := doc.ParseJSON("f.json", []byte(`{"a": [1], "b": 1e999}`))
	require.NoError(t, err)
	a, b := root.Get("a"), root.Get("b")
	_, err = a.Text()
	require.ErrorIs(t, err, doc.ErrType)
	require.EqualError(t, err, "f.json:1:7: a: wrong kind of value: an array, need a text in quotes")
	_, err = a.Number()
	require.ErrorIs(t, err, doc.ErrType)
	_, err = a.Bool()
	require.ErrorIs(t, err, doc.ErrType)
	_, err = a.Entries()
	require.ErrorIs(t, err, doc.ErrType)
	_, err = root.Items()
	require.ErrorIs(t, err, doc.ErrType)
	_, err = b.Number()
	require.ErrorIs(t, err, doc.ErrRange)
}

// FuzzParse holds the reader against encoding/json: what that accepts is read, keys
// given twice and great depths apart.
func FuzzJSON(f *testing.F) {
	for _, s := range []string{`{"a": [1, "b", null, true]}`, "[1,]", `{"a":{}},`, `"\ud83d\ude00"`, "[[[[", "1 2", `{"a":1,"a":2}`} {
		f.Add([]byte(s))
	}
	paths, _ := filepath.Glob("../../rig/testdata/*.json")
	for _, p := range paths {
		data, err := os.ReadFile(p)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		root, commas, err := doc.ParseJSON("f.json", data)
		if err == nil {
			_ = root.Errorf("somewhere")
		}
		if json.Valid(data) && err != nil && !strings.Contains(err.Error(), "twice") && !strings.Contains(err.Error(), "brackets") {
			t.Fatalf("%q is JSON: %v", data, err)
		}
		if json.Valid(data) && len(commas) > 0 {
			t.Fatalf("%q has no comma too many: %v", data, commas)
		}
	})
}
