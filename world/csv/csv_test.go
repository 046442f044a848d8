package csv_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/spatial"
	"github.com/raybridge/raybridge/world"
	"github.com/raybridge/raybridge/world/csv"
	"github.com/raybridge/raybridge/world/worldtest"
)

func TestConformance(t *testing.T) {
	worldtest.Run(t, worldtest.Harness{Kind: csv.Kind, Play: func(t *testing.T, w worldtest.World) string {
		var text strings.Builder
		text.WriteString("id,time,model,x,y,yaw\n")
		for _, now := range w.Instants {
			for _, a := range now.Actors {
				fmt.Fprintf(&text, "car%d,%d.%09d,vehicle.sedan,%v,%v,%v\n", a.ID, now.At/1e9, now.At%1e9, a.X, a.Y, mgl64.RadToDeg(a.Yaw))
			}
		}
		switch w.End {
		case worldtest.Garbage:
			text.WriteString("\x00\x01,\xff,,\"")
		case worldtest.Dead:
			text.WriteString("car1,9.5,vehicle.sed")
		}
		return write(t, text.String())
	}})
}

// write makes a file.
func write(t testing.TB, text string) string {
	path := filepath.Join(t.TempDir(), "log.csv")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

func still() world.State { return world.State{Pose: spatial.Identity()} }

// read returns all frames of a file, and the error after them.
func read(t testing.TB, path string, o world.Options) ([]world.Frame, error) {
	return worldtest.Frames(t, csv.Kind, path, o)
}

func TestTenLinesDriveActors(t *testing.T) {
	frames, err := read(t, "testdata/overtake.csv", world.Options{Start: 5e9, EgoTheirs: true})
	require.ErrorIs(t, err, io.EOF)
	require.Len(t, frames, 4)
	var until []simtime.Stamp
	for _, f := range frames {
		until = append(until, f.Until)
		assert.True(t, f.Complete)
	}
	assert.Equal(t, []simtime.Stamp{5e9, 5.1e9, 5.2e9, 5.3e9}, until)

	first, second, last := frames[0], frames[1], frames[3]
	require.Len(t, first.Spawn, 1)
	truck := first.Spawn[0]
	assert.Equal(t, "slow", truck.Name)
	assert.Equal(t, "vehicle.truck", truck.Model)
	assert.True(t, truck.OnGround)
	assert.True(t, first.AtEnd)
	assert.Equal(t, mgl64.Vec3{30, 0, 0}, truck.State.Pose.Position, "where the first time has it")
	assert.Empty(t, first.Actors)
	require.Len(t, second.Actors, 1)
	assert.Equal(t, mgl64.Vec3{30.8, 0, 0}, second.Actors[0].Pose.Position)
	assert.Equal(t, mgl64.Vec3{8, 0, 0}, second.Actors[0].Velocity)
	assert.True(t, second.Actors[0].VelocityKnown)

	require.Len(t, frames[2].Spawn, 1)
	biker := frames[2].Spawn[0]
	assert.True(t, frames[2].AtEnd, "it comes at the time of its first line")
	assert.Equal(t, world.FrontBumper, biker.Reference)
	assert.Equal(t, 40.0, biker.State.Pose.Position[0])
	assert.InDelta(t, -1, biker.State.Pose.Rotate(mgl64.Vec3{1, 0, 0})[0], 1e-12)
	assert.Empty(t, last.Spawn)
	assert.Len(t, last.Actors, 2)

	require.NotNil(t, first.Ego)
	assert.Equal(t, mgl64.Vec3{}, first.Ego.Pose.Position, "its first line counts")
	assert.True(t, first.Ego.Jump, "nobody knows how it came there")
	assert.False(t, second.Ego.Jump)
	assert.Equal(t, mgl64.Vec3{4.2, 0.08, 0}, last.Ego.Pose.Position)
	_, _, yaw := last.Ego.Pose.RPY()
	assert.InDelta(t, 3, yaw, 1e-12)

	ours, err := read(t, "testdata/overtake.csv", world.Options{})
	require.ErrorIs(t, err, io.EOF)
	assert.Nil(t, ours[1].Ego, "the ego is ours")
	assert.Len(t, ours[1].Actors, 1, "and theirs is left out")
}

func TestColumns(t *testing.T) {
	frames, err := read(t, write(t, "\ufeffyaw , reference,roll,pitch,x,y,z,model,id,time,length,width,height,vy,vx,vz,color\r\n"+
		"90,rear_axle,3,-2,1.5,-2.5,0.25,\"a, b\",\"7\",-1e-05,4,1.8,1.5,2,1,3,#1e90FF\r\n"+
		"90,rear_axle,3,-2,1.5,-2.5,0.25,\"a, b\",\"7\",1e-05,,,,,,,\r\n"), world.Options{})
	require.ErrorIs(t, err, io.EOF)
	require.Len(t, frames, 2)
	want := world.Spawn{
		Name: "7", Model: "a, b", Size: mgl64.Vec3{4, 1.8, 1.5}, Reference: world.RearAxle, Color: world.Color{R: 0x1e, G: 0x90, B: 0xff, Known: true},
		State: world.State{Pose: spatial.FromRPY(mgl64.Vec3{1.5, -2.5, 0.25}, 3, -2, 90), Velocity: mgl64.Vec3{1, 2, 3}, VelocityKnown: true},
	}
	assert.Equal(t, []world.Spawn{want}, frames[0].Spawn)
	assert.Equal(t, simtime.Stamp(20_000), frames[1].Until)
	assert.False(t, frames[1].Actors[0].VelocityKnown)
}

// TestEgoByAnotherPoint: the middle of a car of 4 m that stands at a slope is 1.08 m before its rear axle.
func TestEgoByAnotherPoint(t *testing.T) {
	const header = "time,id,model,x,y,z,yaw,pitch,length,height,reference,vx,vy\n"
	path := write(t, header+"0,ego,,10,20,3,90,0,4,1.5,box_centre,1,0\n1,ego,,10,20,3,90,0,4,1.5,box_centre,1,0\n")
	frames, err := read(t, path, world.Options{EgoTheirs: true})
	require.ErrorIs(t, err, io.EOF)
	got := frames[0].Ego.Pose.Position
	assert.InDeltaSlice(t, []float64{10, 20 - 1.08, 3 - 0.75}, got[:], 1e-12)
	assert.Equal(t, mgl64.Vec3{1, 0, 0}, frames[1].Ego.Velocity, "it doesn't turn")
	for row, want := range map[string]string{
		"0,ego,,10,20,3,90,0,,1.5,box_centre,,\n": ":2: column length: the field is empty: the ego's is needed to find its rear axle",
		"0,ego,,10,20,3,90,0,4,,box_centre,,\n":   ":2: column height: the field is empty: the ego's is needed to find the ground below it",
	} {
		_, err := read(t, write(t, header+row), world.Options{EgoTheirs: true})
		assert.ErrorContains(t, err, want)
	}
}

// TestEgoThatTurns: its front bumper is told on a circle. The rear axle goes along its heading.
func TestEgoThatTurns(t *testing.T) {
	const length, radius = 4.0, 10.0 // of the axle's circle
	arm := (0.5 + 0.27) * length
	var text strings.Builder
	text.WriteString("time,id,model,x,y,yaw,length,reference,vx,vy\n")
	for k := range 3 {
		turn := 0.1 * float64(k)
		sin, cos := math.Sincos(turn)
		x, y := radius*sin+arm*cos, -radius*cos+arm*sin
		fmt.Fprintf(&text, "%d,ego,,%v,%v,%v,%v,front_bumper,%v,%v\n", k, x, y, mgl64.RadToDeg(turn), length, -0.1*y, 0.1*x)
	}
	frames, err := read(t, write(t, text.String()), world.Options{EgoTheirs: true})
	require.ErrorIs(t, err, io.EOF)
	for _, f := range frames[1:] {
		ahead := f.Ego.Pose.Rotate(mgl64.Vec3{0.1 * radius, 0, 0})
		assert.InDelta(t, 0, f.Ego.Velocity.Sub(ahead).Len(), 1e-9)
	}
}

// TestEgoThatIsNotHeard: lines that are left out are told of once, and so is an ego that has none.
func TestEgoThatIsNotHeard(t *testing.T) {
	const header, ego, other = "time,id,model,x,y,yaw\n", "%d,ego,,0,0,0\n", "%d,a,m,0,0,0\n"
	for _, c := range []struct {
		row    string
		theirs bool
		want   string
	}{{ego, true, ""}, {ego, false, "the lines of the id ego are left out"}, {other, true, "the file has no line of the id ego"}, {other, false, ""}} {
		var told []string
		_, err := read(t, write(t, header+fmt.Sprintf(c.row+c.row+c.row, 0, 1, 2)), world.Options{EgoTheirs: c.theirs, Warn: func(text string, _ ...any) { told = append(told, text) }})
		require.ErrorIs(t, err, io.EOF)
		require.Equal(t, c.want != "", len(told) == 1, "%q", told)
		assert.Contains(t, strings.Join(told, ""), c.want)
	}
}

// TestEgoOnTheGround: without z the ego keeps the height that it has.
func TestEgoOnTheGround(t *testing.T) {
	path := write(t, "time,id,model,x,y,yaw\n0,ego,,0,0,0\n1,ego,,1,0,0\n")
	source, err := csv.Kind.Open(context.Background(), path, world.Options{EgoTheirs: true})
	require.NoError(t, err)
	defer source.Close()
	present := still()
	present.Pose.Position[2] = 12.5
	f, err := source.Next(context.Background(), present)
	require.NoError(t, err)
	assert.Equal(t, mgl64.Vec3{0, 0, 12.5}, f.Ego.Pose.Position)
}

func TestFaults(t *testing.T) {
	const header, a = "time,id,model,x,y,z,yaw\n", "0,a,m,1,2,,0\n"
	for _, c := range []struct {
		name, text, want string
		is               error
		frames           int
	}{
		{"empty", "", "log.csv: value is not usable: want a line that names the columns, and rows", world.ErrValue, 0},
		{"no rows", header, "log.csv: value is not usable: want a line that names the columns, and rows", world.ErrValue, 0},
		{"unknown column", "time,id,model,x,y,yaw,lenght\n" + a, `log.csv:1: value is not usable: unknown column "lenght": did you mean length?`, world.ErrValue, 0},
		{"column twice", "time,id,model,x,y,yaw,x\n" + a, "log.csv:1: value is not usable: column x is there twice", world.ErrValue, 0},
		{"missing column", "time,id,model,x,y,z\n" + a, "log.csv:1: value is not usable: no column yaw: a header line names the columns, time, id, model, x, y, yaw at least", world.ErrValue, 0},
		{"semicolons", "time;id;model;x;y;yaw\n", "log.csv:1: value is not usable: the columns are not separated by commas", world.ErrValue, 0},
		{"hole", header + a + "1,a,m,,2,,0\n", "log.csv:3: column x: value is not usable: the field is empty", world.ErrValue, 1},
		{"no id", header + a + "1, ,m,1,2,,0\n", "log.csv:3: column id: value is not usable: the field is empty", world.ErrValue, 1},
		{"half a velocity", "time,id,model,x,y,yaw,vx\n0,a,m,1,2,0,3\n", "log.csv:2: column vy: value is not usable: the field is empty", world.ErrValue, 0},
		{"NaN", header + a + "1,a,m,1,NaN,,0\n", `log.csv:3: column y: value is not usable: "NaN": want a finite number`, world.ErrValue, 1},
		{"infinite", header + a + "1,a,m,1,1e999,,0\n", `log.csv:3: column y: value is not usable: "1e999": want a finite number`, world.ErrValue, 1},
		{"word", header + a + "1,a,m,1,2,,left\n", `log.csv:3: column yaw: value is not usable: "left": want a finite number`, world.ErrValue, 1},
		{"time", header + "1:30,a,m,1,2,,0\n", `log.csv:2: column time: value is not usable: "1:30": want seconds as a decimal number, below 4.6e9`, world.ErrValue, 0},
		{"negative size", "time,id,model,x,y,yaw,width\n0,a,m,1,2,0,-1\n", "log.csv:2: column width: value is not usable: -1: want a length in metres, 0 or more", world.ErrValue, 0},
		{"reference", "time,id,model,x,y,yaw,reference\n0,a,m,1,2,0,nose\n", `log.csv:2: column reference: value is not usable: reference "nose": want ground_centre, box_centre, rear_axle or front_bumper`, world.ErrValue, 0},
		{"color", "time,id,model,x,y,yaw,color\n0,a,m,1,2,0,red\n", `log.csv:2: column color: value is not usable: color "red": want #rrggbb`, world.ErrValue, 0},
		{"missing field", header + a + "1,a,m,1,2,0\n", "log.csv:3: value is not usable: the line has 6 fields, the header 7", world.ErrValue, 1},
		{"quote", header + a + "1,\"a\"b,m,1,2,,0\n", `log.csv:3: value is not usable: extraneous or missing " in quoted-field`, world.ErrValue, 1},
		{"open quote", header + a + "1,\"a,m\n", `log.csv:3: value is not usable: extraneous or missing " in quoted-field`, world.ErrValue, 1},
		{"long line", header + a + "1," + strings.Repeat("a", 100_000), "value is not usable: a line has more than 65536 bytes: is this a CSV file?", world.ErrValue, 1},
		{"time goes back", header + a + "1,a,m,1,2,,0\n0.5,a,m,1,2,,0\n", "log.csv:4: column time: time is not ahead: 0.5 s comes after 1 s: sort the lines by time", world.ErrTime, 2},
		{"twice", header + a + "1,b,m,1,2,,0\n1,a,m,1,2,,0\n1,b,m,1,2,,0\n", `log.csv:5: column id: "b": it is named twice`, world.ErrDuplicate, 1},
		{"ego twice", header + "0,ego,,1,2,,0\n0,ego,,1,2,,0\n", `log.csv:3: column id: "ego": it is named twice`, world.ErrDuplicate, 0},
		{"height that comes", header + a + "1,a,m,1,2,3,0\n", `log.csv:3: column z: "a": value is not usable: its height is known at some instants and not at others`, world.ErrValue, 1},
		{"reference that changes", "time,id,model,x,y,yaw,reference\n0,a,m,1,2,0,\n1,a,m,1,2,0,rear_axle\n", `log.csv:3: column reference: "a": value is not usable: reference rear_axle was ground_centre before`, world.ErrValue, 1},
		{"one instant", header + a, "log.csv: the world has fewer than two instants: want two or more, to move between", nil, 1},
		{"hole at the end", header + a + "1,a,m,1,2,,0\n2,a,m,1,2,,\n", "log.csv:4: column yaw: value is not usable: the field is empty", world.ErrValue, 2},
		{"hole later", header + a + "1,a,m,1,2,,0\n2,a,m,1,2,,0\n3,a,m,1,2,,0\n3,b,m,1,2,,\n", "log.csv:6: column yaw: value is not usable: the field is empty", world.ErrValue, 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			frames, err := read(t, write(t, c.text), world.Options{})
			assert.ErrorContains(t, err, c.want)
			if c.is != nil {
				assert.ErrorIs(t, err, c.is)
			}
			assert.NotErrorIs(t, err, io.EOF)
			assert.Len(t, frames, c.frames)
		})
	}
}

func TestCrowdAtOneInstant(t *testing.T) {
	if testing.Short() {
		t.Skip("reads 65,537 rows")
	}
	var text strings.Builder
	text.WriteString("time,id,model,x,y,yaw\n")
	for i := range 1<<16 + 1 {
		fmt.Fprintf(&text, "0,%d,m,0,0,0\n", i)
	}
	_, err := read(t, write(t, text.String()), world.Options{})
	require.ErrorIs(t, err, world.ErrFull)
	assert.ErrorContains(t, err, "log.csv:65538: ")
}

// TestRefusedFramesHaveALine: what the run refuses is named by its place in the file.
func TestRefusedFramesHaveALine(t *testing.T) {
	path := write(t, "time,id,model,x,y,yaw\n0,a,m,0,0,0\n0,ego,,0,0,0\n0,b,m,0,0,0\n1.7e9,a,m,0,0,0\n")
	source, err := csv.Kind.Open(context.Background(), path, world.Options{EgoTheirs: true})
	require.NoError(t, err)
	defer source.Close()
	refused := func(err error) string {
		return strings.TrimPrefix(source.(world.Refuser).Refused(err).Error(), path)
	}
	_, err = source.Next(context.Background(), still())
	require.NoError(t, err)
	assert.Equal(t, ":4: spawn[1] (actor \"b\"): no room for another actor", refused(&world.ActorError{List: "spawn", Index: 1, Actor: world.Ref{Name: "b"}, Err: world.ErrFull}))
	assert.Equal(t, ":3: ego: value is not usable", refused(&world.ActorError{List: "ego", Err: world.ErrValue}))
	_, err = source.Next(context.Background(), still())
	require.NoError(t, err)
	assert.Equal(t, ":5: time is not ahead", refused(world.ErrTime))
}

func TestNotAFile(t *testing.T) {
	dir := t.TempDir()
	_, err := read(t, filepath.Join(dir, "nobody.csv"), world.Options{})
	assert.ErrorIs(t, err, os.ErrNotExist)
	_, err = read(t, dir, world.Options{})
	assert.ErrorContains(t, err, "is not a file: name a CSV file")
}

// FuzzRead: whatever a file has, frames rise in time and have usable numbers, and the
// reading ends.
func FuzzRead(f *testing.F) {
	overtake, err := os.ReadFile("testdata/overtake.csv")
	require.NoError(f, err)
	f.Add(string(overtake))
	f.Add("time,id,model,x,y,yaw\n0,a,m,1,2,0\n1e-9,a,m,1,2,0\n")
	f.Fuzz(func(t *testing.T, text string) {
		frames, err := read(t, write(t, text), world.Options{Start: 1, EgoTheirs: true})
		require.Error(t, err)
		until := simtime.Stamp(0)
		for _, frame := range frames {
			require.Greater(t, frame.Until, until)
			until = frame.Until
			for _, a := range frame.Actors {
				require.False(t, math.IsNaN(a.Pose.Position.Len()) || math.IsNaN(a.Pose.Orientation.Len()))
			}
		}
		if !errors.Is(err, io.EOF) {
			require.Contains(t, err.Error(), "log.csv")
		}
	})
}

func BenchmarkNext200(b *testing.B) {
	var text strings.Builder
	text.WriteString("time,id,model,x,y,z,yaw,vx,vy\n")
	const instants = 100
	for k := range instants {
		for i := range 200 {
			fmt.Fprintf(&text, "%d.%02d,car%d,vehicle.sedan,%d.25,%d.125,0,%d,1,0\n", k/100, k%100, i, k+i, i, i)
		}
	}
	path := write(b, text.String())
	ctx, ego := context.Background(), still()
	var source world.Source
	b.ReportAllocs()
	begun := time.Now()
	for k := 0; b.Loop(); k++ {
		if k%(instants-1) == 0 {
			var err error
			source, err = csv.Kind.Open(ctx, path, world.Options{})
			require.NoError(b, err)
			defer source.Close()
		}
		if _, err := source.Next(ctx, ego); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(time.Since(begun).Nanoseconds())/float64(200*b.N), "ns/row")
}

// TestThePageShowsTheFile: what docs/world.md shows is what the tests read.
func TestThePageShowsTheFile(t *testing.T) {
	page, err := os.ReadFile("../../docs/world.md")
	require.NoError(t, err)
	file, err := os.ReadFile("testdata/overtake.csv")
	require.NoError(t, err)
	assert.Contains(t, string(page), "```csv\n"+string(file)+"```\n")
}
