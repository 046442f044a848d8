//go:build peers

package sumo_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/world"
	"github.com/raybridge/raybridge/world/sumo"
)

// multiIntersections is a configuration of the assets, whose net lies at -50, 240 of its road.
func multiIntersections(t *testing.T) string {
	t.Helper()
	config := filepath.Join("..", "..", "..", "shared", "assets", "maps", "multi_intersections.sumocfg")
	if _, err := os.Stat(config); err != nil {
		t.Skip("no ../shared/assets/maps beside the checkout; TestPeerSUMOWithThreeHundredVehicles has a net of our own")
	}
	return config
}

// needSUMO fails the test where SUMO is missing.
func needSUMO(t *testing.T) {
	t.Helper()
	for _, program := range []string{"sumo", "netgenerate"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Fatalf("%v: run make setup-peers", err)
		}
	}
}

func openSUMO(t *testing.T, address string, o world.Options) world.Source {
	t.Helper()
	needSUMO(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	s, err := sumo.Kind.Open(ctx, address, o)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, s.Close()) })
	return s
}

// play returns so many frames as text.
func play(t *testing.T, s world.Source, steps int) (text []string, last world.Frame) {
	t.Helper()
	for range steps {
		f, err := s.Next(t.Context(), at(0, 0, 0))
		require.NoError(t, err)
		text = append(text, fmt.Sprintf("%+v", *f))
		last = *f
	}
	return text, last
}

func TestPeerSUMODrivesTheSameCarsTwice(t *testing.T) {
	o, address := world.Options{Start: 5e9}, multiIntersections(t)+"?ego=off"
	first, last := play(t, openSUMO(t, address, o), 500)
	second, _ := play(t, openSUMO(t, address, o), 500)
	require.Equal(t, first, second)
	assert.Equal(t, simtime.Stamp(5e9+499*10e6), last.Until)
	assert.True(t, last.Complete)
	assert.Greater(t, len(last.Actors), 20)
	for _, a := range last.Actors {
		p := a.Pose.Position // the road's map spans 600 m by 480 m
		assert.True(t, p[0] > 40 && p[0] < 660 && p[1] > -250 && p[1] < 250, "%s is at %v", a.Name, p)
	}
}

// TestPeerSUMOsLightsFollowTheirProgram: light 146 of the net has "GGgrrrGGgrrr" for 42 s, "yyyrrryyyrrr"
// for 3 s, "rrrGGgrrrGGg" for 42 s.
func TestPeerSUMOsLightsFollowTheirProgram(t *testing.T) {
	folder, err := filepath.Abs(filepath.Dir(multiIntersections(t)))
	require.NoError(t, err)
	config := filepath.Join(t.TempDir(), "lights.sumocfg")
	require.NoError(t, os.WriteFile(config, fmt.Appendf(nil, `<configuration><input><net-file value="%[1]s/multi_intersections.net.xml"/>
		<route-files value="%[1]s/multi_intersections.rou.xml"/></input><time><step-length value="1"/></time></configuration>`, folder), 0o600))
	warned := 0
	s := openSUMO(t, config+"?ego=off", world.Options{Lights: func() []string { return []string{"146", "146:3", "nobody"} }, Warn: func(string, ...any) { warned++ }})
	shown := map[int][2]world.SignalState{}
	for step := 1; step <= 60; step++ {
		f, err := s.Next(t.Context(), at(0, 0, 0))
		require.NoError(t, err)
		require.Len(t, f.Signals, 2)
		assert.Equal(t, []string{"146", "146:3"}, []string{f.Signals[0].Name, f.Signals[1].Name})
		shown[step] = [2]world.SignalState{f.Signals[0].State, f.Signals[1].State}
	}
	for step, want := range map[int][2]world.SignalState{
		1: {world.SignalGreen, world.SignalRed}, 41: {world.SignalGreen, world.SignalRed}, 44: {world.SignalYellow, world.SignalRed}, 50: {world.SignalRed, world.SignalGreen},
	} {
		assert.Equal(t, want, shown[step], "at %d s", step)
	}
	assert.Equal(t, 1, warned, "of the four others")
}

func TestPeerSUMOsCarsMoveAtTheirVelocity(t *testing.T) {
	s := openSUMO(t, multiIntersections(t)+"?ego=off", world.Options{})
	play(t, s, 1000)
	before := map[string]world.State{}
	moved, off := 0, 0 // SUMO's cars jump a little from one lane's end to the next
	for range 100 {
		f, err := s.Next(t.Context(), world.State{})
		require.NoError(t, err)
		for _, a := range f.Actors {
			was, known := before[a.Name]
			if speed := a.Velocity.Len(); known && !a.Jump && speed > 5 {
				moved++
				if math.Abs(speed*0.01-a.Pose.Position.Sub(was.Pose.Position).Len()) > 0.02*speed*0.01 {
					off++
				}
			}
			before[a.Name] = a.State
		}
	}
	assert.Greater(t, moved, 1000)
	assert.Less(t, off, moved/50)
}

// netOf makes a net and traffic on it: vehicles of several classes, and persons.
func netOf(t *testing.T, vehicles, persons int) string {
	t.Helper()
	dir := t.TempDir()
	needSUMO(t)
	write := func(name, text string) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	out, err := exec.CommandContext(t.Context(), "netgenerate", "--grid", "--grid.number", "8", "--grid.length", "120", "--default.lanenumber", "2",
		"--sidewalks.guess", "--sidewalks.guess.max-speed", "20", "--crossings.guess", "--offset.x", "1000", "--offset.y", "-500",
		"-o", filepath.Join(dir, "grid.net.xml")).CombinedOutput()
	require.NoError(t, err, "%s", out)
	var routes strings.Builder
	routes.WriteString(`<routes>
<vType id="car"/><vType id="bus" vClass="bus" color="30,144,255"/><vType id="bike" vClass="bicycle"/><vType id="lorry" vClass="truck"/>
`)
	types := []string{"car", "car", "car", "bus", "bike", "lorry"}
	column := func(i int) string { return string(rune('A' + i%8)) }
	for i := range vehicles {
		row := 1 + i/8%6
		fmt.Fprintf(&routes, "<trip id=\"%d\" type=\"%s\" depart=\"%d\" departLane=\"best\" from=\"%s%d%s%d\" to=\"%s%d%s%d\"/>\n", i, types[i%len(types)], i/100,
			column(i), row, column(i), row-1+2*(i%2), column(i*5+3), 4, column(i*5+3), 5)
	}
	for i := range persons {
		fmt.Fprintf(&routes, "<person id=\"%d\" depart=\"%d\"><walk edges=\"B1B2 B2B3\"/></person>\n", i, vehicles/100+i)
	}
	write("grid.rou.xml", routes.String()+"</routes>")
	write("grid.sumocfg", `<configuration><input><net-file value="grid.net.xml"/><route-files value="grid.rou.xml"/></input>
<time><step-length value="0.1"/></time><processing><time-to-teleport value="20"/></processing></configuration>`)
	return filepath.Join(dir, "grid.sumocfg")
}

func TestPeerSUMOWithThreeHundredVehicles(t *testing.T) {
	config := netOf(t, 300, 6)
	s := openSUMO(t, config+"?ego=off", world.Options{})
	models, most, known := map[string]int{}, 0, map[string]bool{}
	run := func(s world.Source) (all []string) {
		for range 600 {
			f, err := s.Next(t.Context(), world.State{})
			require.NoError(t, err)
			for _, spawn := range f.Spawn {
				models[spawn.Model]++
				known[spawn.Name] = true
				assert.Equal(t, world.FrontBumper, spawn.Reference)
				assert.True(t, spawn.OnGround, "a grid has no heights")
				color := world.Color{}
				if spawn.Model == "vehicle.bus" { // its type's
					color = world.Color{R: 30, G: 144, B: 255, Known: true}
				}
				assert.Equal(t, color, spawn.Color, spawn.Model)
			}
			for _, a := range f.Actors {
				assert.True(t, known[a.Name], "%s moves without a spawn", a.Name)
				p := a.Pose.Position // the grid spans 840 m from 0
				assert.True(t, p[0] > -20 && p[0] < 860 && p[1] > -20 && p[1] < 860, "%s is at %v", a.Name, p)
			}
			most = max(most, len(f.Actors))
			all = append(all, fmt.Sprintf("%+v", *f))
		}
		return all
	}
	first := run(s)
	t.Logf("most %d, models %v", most, models)
	assert.Greater(t, most, 250)
	assert.Equal(t, 6, models["walker.pedestrian.0001"])
	for _, model := range []string{"vehicle.sedan", "vehicle.bus", "vehicle.bicycle", "vehicle.truck"} {
		assert.Positive(t, models[model], model)
	}
	assert.Equal(t, first, run(openSUMO(t, config+"?ego=off", world.Options{})))
}

// The first car of a lane meets our ego, which stands there.
func TestPeerSUMOsCarsStopForOurEgo(t *testing.T) {
	needSUMO(t)
	dir := t.TempDir()
	out, err := exec.CommandContext(t.Context(), "netgenerate", "--grid", "--grid.x-number", "2", "--grid.y-number", "1", "--grid.length", "400",
		"-o", filepath.Join(dir, "line.net.xml")).CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "line.rou.xml"), []byte(`<routes><vehicle id="car" depart="0"><route edges="A0B0"/></vehicle></routes>`), 0o600))
	config := filepath.Join(dir, "line.sumocfg")
	require.NoError(t, os.WriteFile(config, []byte(`<configuration><input><net-file value="line.net.xml"/><route-files value="line.rou.xml"/></input>
<time><step-length value="0.1"/></time></configuration>`), 0o600))
	place := func(options string) float64 { // of the car after 25 s
		s := openSUMO(t, config+options, world.Options{})
		x := -1.0
		for range 250 {
			f, err := s.Next(t.Context(), at(200, -1.6, 0))
			require.NoError(t, err)
			for _, a := range f.Actors {
				require.Equal(t, "car", a.Name, "our ego is not told as traffic")
				x = a.Pose.Position[0]
			}
		}
		return x
	}
	assert.Greater(t, place("?ego=off"), 250.0)
	// The ego of 5 m has its rear 1.15 m behind the axle. SUMO's cars keep 2.5 m.
	assert.InDelta(t, 200-1.15-2.5, place(""), 1)
}

func TestPeerSUMOMovesTheEgo(t *testing.T) {
	s := openSUMO(t, netOf(t, 20, 0)+"?ego=0", world.Options{EgoTheirs: true})
	seen := false
	for range 200 {
		f, err := s.Next(t.Context(), world.State{})
		require.NoError(t, err)
		if f.Ego != nil {
			seen = true
		}
		for _, a := range f.Actors {
			assert.NotEqual(t, "0", a.Name)
		}
	}
	assert.True(t, seen)
}

func TestPeerSUMOEndsWhenAllHaveLeft(t *testing.T) {
	s := openSUMO(t, netOf(t, 5, 0), world.Options{})
	for k := 0; ; k++ {
		require.Less(t, k, 10000)
		if _, err := s.Next(t.Context(), at(-100, -100, 0)); err != nil {
			assert.ErrorIs(t, err, io.EOF)
			return
		}
	}
}

func TestPeerSUMOServesTwoClients(t *testing.T) {
	port := freePort(t)
	cmd := exec.Command("sumo", "-c", netOf(t, 20, 0), "--remote-port", port, "--num-clients", "2", "--no-step-log",
		"--xml-validation", "never", "--xml-validation.net", "never", "--xml-validation.routes", "never")
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	type result struct {
		s   world.Source
		err error
	}
	both := make(chan result, 2)
	for _, order := range []string{"1", "2"} {
		go func() {
			ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
			defer cancel()
			s, err := sumo.Kind.Open(ctx, "127.0.0.1:"+port+"?ego=off&order="+order, world.Options{})
			if err == nil {
				for range 50 {
					if _, err = s.Next(ctx, world.State{}); err != nil {
						break
					}
				}
				_ = s.Close()
			}
			both <- result{s, err}
		}()
	}
	for range 2 {
		r := <-both
		require.NoError(t, r.err)
		assert.Zero(t, r.s.Gaps())
	}
}

func TestPeerSUMOSaysWhyItDoesNotStart(t *testing.T) {
	needSUMO(t)
	config := filepath.Join(t.TempDir(), "x.sumocfg")
	require.NoError(t, os.WriteFile(config, []byte(`<configuration><input><net-file value="nowhere.net.xml"/></input></configuration>`), 0o600))
	_, err := sumo.Kind.Open(t.Context(), config, world.Options{})
	require.ErrorIs(t, err, sumo.ErrEnded)
	assert.ErrorContains(t, err, "nowhere.net.xml")
}

func TestPeerSUMOThatIsKilled(t *testing.T) {
	s := openSUMO(t, netOf(t, 20, 0)+"?ego=off", world.Options{})
	play(t, s, 3)
	pid := sumo.Process(s)
	require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
	_, err := s.Next(t.Context(), world.State{})
	require.ErrorIs(t, err, sumo.ErrEnded)
	assert.ErrorContains(t, err, "signal: killed")
	assert.ErrorIs(t, syscall.Kill(pid, 0), syscall.ESRCH, "it was waited for")
}

// TestPeerSUMODiesWithUs kills a program that has started SUMO.
func TestPeerSUMODiesWithUs(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(self, "-test.run", "^TestHelperOpensSUMO$")
	cmd.Env = append(os.Environ(), "RAYBRIDGE_TEST_SUMO="+netOf(t, 20, 0))
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	pid := 0
	for lines := bufio.NewScanner(out); pid == 0 && lines.Scan(); {
		_, _ = fmt.Sscanf(lines.Text(), "SUMO is process %d", &pid)
	}
	require.NoError(t, cmd.Process.Kill())
	_ = cmd.Wait()
	require.Positive(t, pid)
	require.Eventually(t, func() bool { return gone(pid) }, 10*time.Second, 10*time.Millisecond)
}

// gone reports whether a process has ended. One that has ended and waits for its parent counts.
func gone(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return true
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err != nil || strings.Contains(string(stat), ") Z ")
}

func TestHelperOpensSUMO(t *testing.T) {
	config := os.Getenv("RAYBRIDGE_TEST_SUMO")
	if config == "" {
		t.Skip("TestPeerSUMODiesWithUs runs this in a program of its own")
	}
	s, err := sumo.Kind.Open(t.Context(), config, world.Options{})
	require.NoError(t, err)
	fmt.Printf("SUMO is process %d\n", sumo.Process(s))
	_, _ = io.Copy(io.Discard, os.Stdin)
	time.Sleep(time.Minute)
}
