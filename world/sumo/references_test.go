package sumo_test

import (
	"bytes"
	"compress/gzip"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/world/sumo"
)

func TestVersion(t *testing.T) {
	asSUMO(t, "1.15.0")
	version, err := sumo.Version(t.Context())
	require.NoError(t, err)
	assert.Equal(t, "SUMO 1.15.0, Linux-6.1 x86_64 GNU 12.2.0 Release", version)
	t.Setenv("PATH", t.TempDir())
	t.Setenv("SUMO_HOME", "")
	_, err = sumo.Version(t.Context())
	assert.ErrorContains(t, err, "apt-get install sumo")
}

// write writes files below a folder.
func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	}
}

// TestReferences: whatever SUMO reads is named, in all the ways that it takes, and in turn; what it writes isn't.
func TestReferences(t *testing.T) {
	t.Parallel()
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	_, err := w.Write([]byte(`<additional><include href="deep.xml"/></additional>`))
	require.NoError(t, err)
	require.NoError(t, w.Close())
	for name, c := range map[string]struct {
		config string
		files  map[string]string
		want   []string
	}{
		"options":     {`<input><net-file value="a.net.xml"/><route-files value="r1.xml, r2.xml"/><additional-files v="x.xml y.xml"/></input>`, nil, []string{"a.net.xml", "r1.xml", "r2.xml", "x.xml", "y.xml"}},
		"short forms": {`<n value="a.net.xml"/><routes value="r.xml"/><w v="w.xml"/><load-state value="s.xml.gz"/>`, map[string]string{"s.xml.gz": "\x1f\x8bbroken"}, []string{"a.net.xml", "r.xml", "s.xml.gz", "w.xml"}},
		"text":        {`<input><net-file>a.net.xml</net-file></input>`, nil, []string{"a.net.xml"}},
		"blanks":      {`<net-file value="my town.net.xml"/>`, map[string]string{"my town.net.xml": "<net/>"}, []string{"my town.net.xml"}},
		"others":      {`<device.fcd-replay.file value="f.xml"/><begin value="0"/><tripinfo-output value="old.xml"/><log value="old.xml"/>`, map[string]string{"f.xml": "<fcd/>", "old.xml": ""}, []string{"f.xml"}},
		"in turn": {`<route-files value="sub/r.xml"/><additional-files value="a.xml"/>`, map[string]string{
			"sub/r.xml": `<routes><include href="more.xml"/><include href="../top.xml"/></routes>`, "sub/more.xml": `<routes><include href="r.xml"/></routes>`, "top.xml": "",
			"a.xml": `<additional><rerouter id="1" file="re.xml"/><variableSpeedSign file="v.xml"/><e1Detector file="written.xml"/><edgeData edgesFile="e.txt" file="written.xml"/></additional>`,
			"e.txt": "edge:1", "written.xml": "",
		}, []string{"a.xml", "e.txt", "re.xml", "sub/more.xml", "sub/r.xml", "top.xml", "v.xml"}},
		"gzip": {`<additional-files value="a.xml.gz"/>`, map[string]string{"a.xml.gz": packed.String()}, []string{"a.xml.gz", "deep.xml"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			write(t, dir, c.files)
			write(t, dir, map[string]string{"a.sumocfg": "<configuration>" + c.config + "</configuration>"})
			names, err := sumo.References(filepath.Join(dir, "a.sumocfg"))
			if name == "short forms" {
				require.ErrorContains(t, err, "s.xml.gz")
				return
			}
			require.NoError(t, err)
			assert.Equal(t, c.want, names)
		})
	}
}

func TestReferencesStayInTheFolder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, map[string]string{"sub/r.xml": `<routes><include href="../../secret.xml"/></routes>`})
	for text, want := range map[string]string{
		`<net-file value="../a.net.xml"/>`:      "../a.net.xml lies outside of the configuration's folder",
		`<net-file value="/etc/passwd"/>`:       "/etc/passwd lies outside",
		`<net-file value="${HOME}/a.net.xml"/>`: "${HOME}/a.net.xml lies outside",
		`<route-files value="sub/r.xml"/>`:      "../../secret.xml lies outside",
	} {
		write(t, dir, map[string]string{"a.sumocfg": text})
		_, err := sumo.References(filepath.Join(dir, "a.sumocfg"))
		require.ErrorIs(t, err, sumo.ErrOutside, text)
		assert.ErrorContains(t, err, want)
	}
	write(t, dir, map[string]string{"a.sumocfg": `<net-file value="a.net.xml">`[:10]})
	_, err := sumo.References(filepath.Join(dir, "a.sumocfg"))
	require.ErrorContains(t, err, "a.sumocfg: read XML")
	_, err = sumo.References(filepath.Join(dir, "b.sumocfg"))
	require.ErrorIs(t, err, os.ErrNotExist)
}

func TestReferencesOfRunsThatDiffer(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for text, want := range map[string]error{
		`<random value="true"/>`: sumo.ErrRandom, `<random>yes</random>`: sumo.ErrRandom, `<random v="1"/>`: sumo.ErrRandom,
		`<random value="false"/>`: nil, `<random-depart-offset value="1"/>`: nil, `<seed value="1"/>`: nil,
	} {
		write(t, dir, map[string]string{"a.sumocfg": text})
		_, err := sumo.References(filepath.Join(dir, "a.sumocfg"))
		require.ErrorIs(t, err, want, text)
	}
}
