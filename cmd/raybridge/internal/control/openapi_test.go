package control_test

import (
	"cmp"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/raybridge/raybridge/cmd/raybridge/internal/control"
	"github.com/raybridge/raybridge/pipeline"
	"github.com/raybridge/raybridge/simtime"
)

// schema is as much of a JSON Schema as openapi.yaml uses.
type schema struct {
	Ref                  string             `yaml:"$ref"`
	Type                 any                `yaml:"type"`
	Properties           map[string]*schema `yaml:"properties"`
	Required             []string           `yaml:"required"`
	Items                *schema            `yaml:"items"`
	OneOf                []*schema          `yaml:"oneOf"`
	AllOf                []*schema          `yaml:"allOf"`
	AdditionalProperties any                `yaml:"additionalProperties"`
}

type content struct {
	Content map[string]struct{ Schema *schema }
	Ref     string `yaml:"$ref"`
}

type openapi struct {
	Paths map[string]map[string]struct {
		RequestBody *content `yaml:"requestBody"`
		Responses   map[string]*content
	}
	Components struct {
		Schemas   map[string]*schema
		Responses map[string]*content
	}
}

func readOpenAPI(t *testing.T) *openapi {
	t.Helper()
	text, err := os.ReadFile("openapi.yaml")
	require.NoError(t, err)
	var page openapi
	require.NoError(t, yaml.Unmarshal(text, &page))
	for _, s := range page.Components.Schemas {
		for _, part := range s.AllOf { // which has no parts itself
			name := strings.TrimPrefix(part.Ref, "#/components/schemas/")
			require.Contains(t, page.Components.Schemas, name)
			maps.Copy(s.Properties, page.Components.Schemas[name].Properties)
			s.Required = append(s.Required, page.Components.Schemas[name].Required...)
		}
	}
	return &page
}

// TestOpenAPIHasTheRoutes: openapi.yaml has each of the server's routes and no other.
func TestOpenAPIHasTheRoutes(t *testing.T) {
	page := readOpenAPI(t)
	var told []string
	for path, methods := range page.Paths {
		for method, operation := range methods {
			told = append(told, strings.ToUpper(method)+" "+path)
			for status, answer := range operation.Responses {
				if name, ok := strings.CutPrefix(answer.Ref, "#/components/responses/"); ok {
					assert.Contains(t, page.Components.Responses, name)
				} else {
					kind := "application/json"
					switch {
					case path == "/v1/openapi.yaml":
						kind = "application/yaml"
					case strings.HasSuffix(path, ".png"):
						kind = "image/png"
					case path == "/metrics":
						kind = "text/plain"
					}
					assert.Contains(t, answer.Content, kind, "%s %s %s", method, path, status)
				}
			}
			assert.Contains(t, operation.Responses, "200")
			assert.Contains(t, operation.Responses, "default")
		}
	}
	assert.ElementsMatch(t, control.Routes(), told)
}

// TestOpenAPIIsServed as it is.
func TestOpenAPIIsServed(t *testing.T) {
	_, h := paused(t, 1)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/v1/openapi.yaml", nil))
	want, err := os.ReadFile("openapi.yaml")
	require.NoError(t, err)
	assert.Equal(t, http.StatusOK, w.Code)
	assert.Equal(t, "application/yaml", w.Header().Get("Content-Type"))
	assert.Equal(t, string(want)+"\n", w.Body.String())
}

// TestOpenAPIHasTheFields: each schema has the fields of its Go type, of the same types. Schemas of the summary require the
// keys that are always there.
func TestOpenAPIHasTheFields(t *testing.T) {
	schemas := readOpenAPI(t).Components.Schemas
	assert.ElementsMatch(t, slices.Collect(maps.Keys(control.Schemas)), slices.Collect(maps.Keys(schemas)))
	for name, value := range control.Schemas {
		s := schemas[name]
		if s == nil {
			continue
		}
		fields := fieldsOf(reflect.TypeOf(value))
		assert.ElementsMatch(t, slices.Collect(maps.Keys(fields)), slices.Collect(maps.Keys(s.Properties)), name)
		assert.Subset(t, slices.Collect(maps.Keys(fields)), s.Required, name)
		if !strings.Contains(reflect.TypeOf(value).PkgPath(), "/control") {
			assert.ElementsMatch(t, always(reflect.TypeOf(value)), s.Required, name)
		}
		if requested := s.AdditionalProperties != nil; requested {
			assert.Equal(t, false, s.AdditionalProperties, name)
		}
		for field, typ := range fields {
			if p := s.Properties[field]; p != nil {
				agree(t, schemas, name+"."+field, p, typ)
			}
		}
	}
}

// fieldsOf returns the types of a struct's fields by their names in JSON.
func fieldsOf(typ reflect.Type) map[string]reflect.Type {
	fields := map[string]reflect.Type{}
	for _, f := range reflect.VisibleFields(typ) {
		if f.Anonymous || !f.IsExported() {
			continue
		}
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		fields[name] = f.Type
	}
	return fields
}

// always returns the fields of a struct that its JSON never leaves out.
func always(typ reflect.Type) (names []string) {
	for _, f := range reflect.VisibleFields(typ) {
		if name, options, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" && options != "omitempty" {
			names = append(names, name)
		}
	}
	return names
}

// agree compares the type of a schema with that of a field.
func agree(t *testing.T, schemas map[string]*schema, where string, s *schema, typ reflect.Type) {
	t.Helper()
	if typ.Kind() == reflect.Pointer {
		typ = typ.Elem()
	}
	if name, ok := strings.CutPrefix(s.Ref, "#/components/schemas/"); ok {
		require.Contains(t, schemas, name, where)
		assert.Equal(t, reflect.TypeOf(control.Schemas[name]), typ, where)
		return
	}
	want := map[reflect.Kind]string{
		reflect.String: "string", reflect.Bool: "boolean", reflect.Float64: "number", reflect.Slice: "array", reflect.Map: "object",
		reflect.Int: "integer", reflect.Int64: "integer", reflect.Uint32: "integer", reflect.Uint64: "integer",
	}[typ.Kind()]
	switch told := s.Type.(type) {
	case string:
		assert.Equal(t, want, told, where)
	case []any: // one of several: a field that takes any, or a list that may be null
		assert.True(t, typ.Kind() == reflect.Interface || slices.Contains(told, any(want)), where)
	default:
		assert.Fail(t, "no type", where)
	}
	if typ.Kind() == reflect.Slice && s.Items.OneOf == nil {
		agree(t, schemas, where+"[]", s.Items, typ.Elem())
	}
}

// TestOpenAPIHasTheAnswers: what the server answers has the fields that openapi.yaml requires,
// and no others.
func TestOpenAPIHasTheAnswers(t *testing.T) {
	p := newRun(t, pipeline.Config{Capacity: 2})
	hearIMU(t, p)
	begin(t, p)
	run := runOf(p)
	run.Status = func() any { return control.StatusOf(p, map[string]int64{"bad_host": 1}) }
	h := control.NewHandler(run)
	page := readOpenAPI(t)
	for _, c := range []struct{ request, body, schema string }{
		{"POST /v1/step", "", "Time"},
		{"POST /v1/step", `{"spawn": [{"model": "vehicle.sedan", "name": "a", "position": [1, 2, 0], "yaw": 3}]}`, "StepAnswer"},
		{"POST /v1/step", `{"wait": "none"}`, "StepAnswer"},
		{"GET /v1/models", "", "ModelList"},
		{"GET /v1/spawn_points", "", "SpawnPointList"},
		{"GET /v1/actors", "", "ActorList"},
		{"GET /v1/sensors", "", "SensorList"},
		{"POST /v1/sensors", `{"type": "sensor.other.gnss", "name": "gnss"}`, "Sensor"},
		{"DELETE /v1/sensors/gnss", "", "Time"},
		{"DELETE /v1/actors/a", "", "StepAnswer"},
		{"POST /v1/ego/control", "{}", "Time"},
		{"PUT /v1/weather", `{"preset": "fog"}`, "Weather"},
		{"GET /v1/weather", "", "Weather"},
		{"POST /v1/reset", `{"seed": 7}`, "Time"},
		{"GET /v1/status", "", "Status"},
		{"GET /healthz", "", "Health"},
		{"GET /readyz", "", "Health"},
	} {
		method, path, _ := strings.Cut(c.request, " ")
		status, answer := ask(t, h, method, path, c.body)
		require.Equal(t, http.StatusOK, status, "%s: %v", c.request, answer)
		page.check(t, c.request, page.Components.Schemas[c.schema], answer)
	}
	path := filepath.Join(t.TempDir(), "summary.json")
	s := p.Summary()
	require.NoError(t, s.WriteJSON(path))
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	var written object
	require.NoError(t, json.Unmarshal(text, &written))
	page.check(t, "summary", page.Components.Schemas["Summary"], written)
	assert.NotEmpty(t, written["sensors"])
	assert.NotEmpty(t, written["world"], "frames were stepped")
}

// check compares an answer with a schema.
func (page *openapi) check(t *testing.T, where string, s *schema, answer any) {
	t.Helper()
	if name, ok := strings.CutPrefix(s.Ref, "#/components/schemas/"); ok {
		s = page.Components.Schemas[name]
	}
	switch v := answer.(type) {
	case object:
		if s.Properties == nil {
			return // of any keys
		}
		for _, key := range s.Required {
			assert.Contains(t, v, key, where)
		}
		for key, value := range v {
			if assert.Contains(t, s.Properties, key, where) {
				page.check(t, where+"."+key, s.Properties[key], value)
			}
		}
	case []any:
		for _, each := range v {
			page.check(t, where+"[]", s.Items, each)
		}
	default:
		kind, _ := json.Marshal(s.Type)
		want := map[reflect.Kind][]string{reflect.String: {"string"}, reflect.Bool: {"boolean"}, reflect.Float64: {"number", "integer"}, reflect.Invalid: {"null"}}
		assert.True(t, slices.ContainsFunc(want[reflect.ValueOf(v).Kind()], func(w string) bool { return strings.Contains(string(kind), w) }), "%s: %v is not of type %s", where, v, kind)
	}
}

// commands are those of docs/api.md with curl.
var commands = regexp.MustCompile(`(?m)^curl (?:-X (\w+) )?(?:--json '([^']*)' )?(?:-f )?(?:-o \S+ )?localhost:7741(\S+)`)

// TestTheDocumentedCommandsWork: each command of docs/api.md does, in their order.
func TestTheDocumentedCommandsWork(t *testing.T) {
	text, err := os.ReadFile("../../../../docs/api.md")
	require.NoError(t, err)
	p := newRun(t, pipeline.Config{Capacity: 4})
	hearIMU(t, p) // before the run begins: a reset ends those that came later
	added(t, p, "sensor.camera.rgb", "front", map[string]any{"image_size_x": 12, "image_size_y": 8})
	begin(t, p)
	run := runOf(p)
	run.Tune = func(sensor, rate string, attributes map[string]any) error {
		s, err := p.Sensor(sensor)
		if err != nil {
			return err
		}
		return s.Tune(pipeline.Tuning{Rate: simtime.MustRate(rate), Attributes: attributes})
	}
	h := control.NewHandler(run)
	found := commands.FindAllStringSubmatch(string(text), -1)
	require.Len(t, found, strings.Count(string(text), "\ncurl ")-1, "but that with a token")
	for _, m := range found {
		method, body := cmp.Or(m[1], http.MethodGet), m[2]
		if m[1] == "" && body != "" {
			method = http.MethodPost
		}
		if strings.HasSuffix(m[3], ".png") { // time stands: the first question is the camera's beginning
			get(t, h, "front")
			status, answer := ask(t, h, http.MethodPost, "/v1/step", `{"steps": 2}`)
			require.Equal(t, http.StatusOK, status, answer)
			assert.Equal(t, http.StatusOK, get(t, h, "front").Code, m[0])
			continue
		}
		status, answer := ask(t, h, method, m[3], body)
		assert.Equal(t, http.StatusOK, status, "%s: %v", m[0], answer)
		if m[3] == "/v1/resume" {
			p.Clock().Pause() // at once: the next frame's time is a constant
		}
	}
}
