//go:build cgo && linux

package main

import (
	"encoding/json"
	"fmt"
	"image"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/go-gl/mathgl/mgl64"
	"github.com/raybridge/raybridge/sensors/camera"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// cityRig has a sensor of each kind that the 3-D view draws. The sensors after the lidar have fields of view.
const cityRig = `sensors:
  - {id: sensor.lidar.ray_cast, name: lidar, topic: /lidar, rate: 10, channels: 16, points_per_second: 200000, range: 60, upper_fov: 5, lower_fov: -25, rotation_frequency: 10, dropoff_general_rate: 0, dropoff_zero_intensity: 0, pose: {z: 2}}
  - {id: sensor.camera.rgb, name: front, topic: /front, rate: 10, image_size_x: 64, image_size_y: 48, pose: {x: 1.5, z: 1.5}}
  - {id: sensor.other.radar, name: radar, topic: /radar, rate: 10, points_per_second: 3000, pose: {x: 2, z: 1}}
`

// inCity is the page of a paused run in the city, in which each sensor of cityRig has fired.
func inCity(t *testing.T) *tab {
	t.Helper()
	ctx := browse(t, software()...)
	require.NoError(t, chromedp.Do(ctx, chromedp.EmulateViewport(800, 700))) // a picture of the screen takes as long as it is large
	run := runWithPage(t, cityRig, nil, "--scene", "city", "--step", "--paused", "--api", "0")
	p := openTab(t, ctx, run.url)
	p.listeners(points, 1)
	p.listeners("/radar/points", 1)
	// A sensor that fires again has been drawn before, as have the lane marks, which come once.
	again := `['%s', '/radar/points'].every((t) => [...document.querySelectorAll('#page-topics tbody tr')].some((r) => r.cells[0].innerText === t && parseFloat(r.cells[3].innerText) > 0))`
	for deadline := time.Now().Add(patience); !eval[bool](p, fmt.Sprintf(again, points)); p.step10() {
		require.True(t, time.Now().Before(deadline), "the page is sent nothing")
	}
	p.until("Number(document.querySelector('.scene').dataset.points) > 0")
	return p
}

// step10 makes ten steps, and waits until their end is shown.
func (p *tab) step10() {
	p.Helper()
	end := p.time() + 0.1
	p.redraw(func() {
		p.press("N")
		p.until(fmt.Sprintf("parseFloat(document.querySelector('.now').textContent) > %f", end-0.005))
	})
}

// redraw does something, and waits for the 3-D view to be drawn again.
func (p *tab) redraw(act func()) {
	p.Helper()
	before := p.shown(".scene")
	act()
	p.until(fmt.Sprintf("Number(document.querySelector('.scene').dataset.frames) > %d", before))
}

// changes waits for a part of the screen to differ from before in more pixels than that, and returns it.
func (p *tab) changes(before image.Image, part image.Rectangle, least int, what string) image.Image {
	p.Helper()
	n := 0
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(glance) {
		now := p.part(part)
		if n = differ(before, now); n > least {
			return now
		}
	}
	p.Fatalf("%s: %d pixels differ", what, n)
	return nil
}

// differ counts the pixels in which two pictures of one size differ visibly.
func differ(a, b image.Image) (n int) {
	for y := range a.Bounds().Dy() {
		for x := range a.Bounds().Dx() {
			c, d := pixelOf(a, x, y), pixelOf(b, x, y)
			if max(c.R, d.R)-min(c.R, d.R) > 20 || max(c.G, d.G)-min(c.G, d.G) > 20 || max(c.B, d.B)-min(c.B, d.B) > 20 {
				n++
			}
		}
	}
	return n
}

// drag moves the pointer over the 3-D view with a button held.
func (p *tab) drag(button input.MouseButton, dx, dy float64) {
	p.Helper()
	box := p.box(".scene")
	x, y := (box[0]+box[2])/2, (box[1]+box[3])/2
	held := func(e *input.DispatchMouseEventParams) {
		e.Button = button
		e.Buttons = map[input.MouseButton]int64{input.MouseButtonLeft: 1, input.MouseButtonRight: 2}[button]
	}
	require.NoError(p, chromedp.Do(p.ctx, chromedp.MouseEvent(input.DispatchMouseEventTypeMousePressed, x, y, held),
		chromedp.MouseEvent(input.DispatchMouseEventTypeMouseMoved, x+dx, y+dy, held), chromedp.MouseEvent(input.DispatchMouseEventTypeMouseReleased, x+dx, y+dy, held)))
}

// TestPageDrawsTheScene: each layer of the 3-D view is on the screen while it is chosen, each colouring has colours of its own, and the
// eye goes where the user takes it.
func TestPageDrawsTheScene(t *testing.T) {
	p := inCity(t)
	part := p.place(".scene")

	t.Run("layers", func(t *testing.T) {
		p := p.in(t)
		for name, least := range map[string]int{
			"grid": 300, "vehicles and walkers": 300, "traffic lights and signs": 50, "frames of sensors": 20, "fields of view": 100,
			"/lane_marks": 300, "/radar/points": 50, points: 1000,
		} {
			for range 2 { // off and on, or on and off
				before := p.part(part)
				p.layer(name)
				p.changes(before, part, least, name)
			}
		}
		p.until("Number(document.querySelector('.scene').dataset.points) > 0")
	})
	t.Run("colours", func(t *testing.T) {
		p := p.in(t)
		var before image.Image
		for _, by := range []string{"return", "intensity", "height", "ring", "tag", "instance"} {
			p.redraw(func() { p.enter(`[aria-label="Colour points by"]`, by) })
			if before == nil {
				before = p.part(part)
			} else {
				before = p.changes(before, part, 500, by)
			}
		}
	})
	t.Run("decay", func(t *testing.T) {
		p := p.in(t)
		p.enter(`[aria-label="Keep older points for"]`, "10")
		for range 4 {
			p.step10()
		}
		kept := p.ofCloud(p.screen, part) // which hides the cloud, and so forgets the older points
		assert.Greater(t, kept, p.ofCloud(p.screen, part)*3/2, "older points stay")
		p.enter(`[aria-label="Keep older points for"]`, "0")
	})
	t.Run("eye", func(t *testing.T) {
		p := p.in(t)
		eye := func() string { return eval[string](p, "new URLSearchParams(location.hash.slice(1)).get('eye') ?? ''") }
		moved := func(how string) {
			t.Helper()
			before, screen := eye(), p.part(part)
			switch how {
			case "turned":
				p.drag(input.MouseButtonLeft, 80, 20)
			case "shifted":
				p.drag(input.MouseButtonRight, 80, 20)
			case "nearer":
				require.NoError(t, chromedp.Do(p.ctx, chromedp.MouseEvent(input.DispatchMouseEventTypeMouseWheel, float64(part.Min.X+50), float64(part.Min.Y+50),
					func(e *input.DispatchMouseEventParams) { e.DeltaX, e.DeltaY = 1, -200 })))
			default:
				p.press(how)
			}
			p.until(fmt.Sprintf("(new URLSearchParams(location.hash.slice(1)).get('eye') ?? '') !== %q", before))
			p.changes(screen, part, 1000, how)
		}
		for _, how := range []string{"1", "turned", "2", "nearer", "3", "shifted", "2"} {
			moved(how)
		}
	})
	t.Run("followed", func(t *testing.T) {
		p := p.in(t)
		p.click("#tab-actors")
		p.until("[...document.querySelectorAll('#page-actors tr')].some((r) => /vehicle/.test(r.innerText) && parseFloat(r.cells[4].innerText) > 5)")
		name := eval[string](p, `(() => { const row = [...document.querySelectorAll('#page-actors tr')].find((r) => /vehicle/.test(r.innerText) && parseFloat(r.cells[4].innerText) > 5 && r.cells[1].innerText !== '0');
			row.querySelector('button').click(); return row.querySelector('button').textContent; })()`)
		p.redraw(func() { p.click(fmt.Sprintf(`[aria-label="follow %s"]`, name)) })
		p.until("/follow=\\d+/.test(location.hash)")
		middle := image.Rect(part.Min.X+part.Dx()/2-60, part.Min.Y+part.Dy()/2-60, part.Min.X+part.Dx()/2+60, part.Min.Y+part.Dy()/2+60)
		for range 6 { // it goes more than three metres
			marked := 0
			screen := p.part(middle)
			for y := range middle.Dy() {
				for x := range middle.Dx() {
					c := pixelOf(screen, x, y)
					if c.R > 220 && c.G > 160 && c.G < 220 && c.B < 110 {
						marked++
					}
				}
			}
			assert.Greater(t, marked, 20, "the chosen car's box is in the middle")
			p.step10()
		}
		assert.True(t, eval[bool](p, fmt.Sprintf(`document.querySelector('[aria-label="move %s"]').disabled`, name)))
		assert.Contains(t, eval[string](p, fmt.Sprintf(`document.querySelector('[aria-label="remove %s"]').title`, name)), "scene's own")
	})
}

// TestPageDrawsWhereThingsAre: over a picture where its camera sees them, whatever its lens; radar's points with where each is half a
// second later; the grid at the ego's height.
func TestPageDrawsWhereThingsAre(t *testing.T) {
	ctx := browse(t, software()...)
	run := runWithPage(t, "sensors: []", nil, "--step", "--paused", "--api", "0")
	p := openTab(t, ctx, run.url)
	p.until("document.querySelector('.state')")
	t.Run("lenses", func(t *testing.T) { drawsWhereLensesSee(p.in(t)) })

	const call = `import('/sketches.js').then((m) => {
		const put = [];
		const lines = { put: (p, c) => put.push(...p, ...c), line: (a, b, c) => put.push(...a, ...c, ...b, ...c) };
		%s;
		return put;
	})`
	// A sensor at (1, 2, 3) that looks along y. The detection is 10 m to its left, thus along -x, and comes nearer with 4 m/s.
	drawn := eval[[]float64](p, fmt.Sprintf(call, `m.drawRadar(lines, { position: [1, 2, 3], orientation: [0, 0, Math.SQRT1_2, Math.SQRT1_2] },
		{ detections: [{ altitude: 0, azimuth: Math.PI / 2, depth: 10, velocity: -4 }] })`), chromedp.EvalAwaitPromise)
	require.GreaterOrEqual(t, len(drawn), 14)
	arrow := drawn[len(drawn)-14:] // two ends, each with a colour
	assert.InDeltaSlice(t, []float64{-9, 2, 3}, arrow[:3], 1e-9)
	assert.InDeltaSlice(t, []float64{-7, 2, 3}, arrow[7:10], 1e-9, "half a second later")
	assert.Greater(t, arrow[3], 2*arrow[5], "red comes nearer")

	grid := eval[[]float64](p, fmt.Sprintf(call, `m.drawGrid(lines, [104, -31, 7.5], [1, 2, 3])`), chromedp.EvalAwaitPromise)
	for i := 0; i+7 <= len(grid); i += 7 {
		require.InDelta(t, 7.5, grid[i+2], 0, "the ego's height")
		require.LessOrEqual(t, max(grid[i]-100, 100-grid[i], grid[i+1]+30, -30-grid[i+1]), 120.0)
	}
	require.NotEmpty(t, grid)
}

// drawsWhereLensesSee compares where the page draws points over a picture with where the camera sees them.
func drawsWhereLensesSee(p *tab) {
	p.Helper()
	pinhole, err := camera.NewLens(640, 480, 80)
	require.NoError(p, err)
	skewed := pinhole
	skewed.Skew = 3
	for name, c := range map[string]struct {
		lens func() (camera.Lens, error)
		off  float64 // pixels
	}{
		"pinhole":   {func() (camera.Lens, error) { return skewed, nil }, 1e-6},
		"plumb_bob": {func() (camera.Lens, error) { return pinhole.PlumbBob(-0.25, 0.08, 0.002, -0.001, 0.01) }, 1e-6},
		"barrel":    {func() (camera.Lens, error) { return pinhole.PlumbBob(-0.3, 0, 0, 0, 0) }, 1e-6}, // which turns back at the radius 1.05
		"rational": {func() (camera.Lens, error) {
			return pinhole.Rational([]float64{0.3, 0.05, 0.001, -0.001, 0.01, 0.6, 0.1, 0.02})
		}, 1e-6},
		"thin_prism": {func() (camera.Lens, error) {
			return pinhole.Rational([]float64{-0.3, 0, 0, 0, 0, 0, 0, 0, 1e-3, 2e-3, 3e-3, 4e-3})
		}, 1e-6},
		"equidistant":   {func() (camera.Lens, error) { return skewed.Equidistant([4]float64{-0.02, 0.003}) }, 1e-6},
		"fold":          {func() (camera.Lens, error) { return pinhole.Equidistant([4]float64{-0.25}) }, 1e-6},
		"double_sphere": {func() (camera.Lens, error) { return pinhole.DoubleSphere(-0.2, 0.55) }, 0.5}, // fitted, and in the picture alone
	} {
		lens, err := c.lens()
		require.NoError(p, err)
		for fromCorner, origin := range map[bool]camera.PrincipalPoint{false: camera.CenterOrigin, true: camera.CornerOrigin} {
			var info sample.CameraInfo
			lens.Info(origin, &info)
			for _, point := range [][3]float64{{10, 0, 0}, {4, 1.5, 0.7}, {2, -1.2, -0.9}, {1, 1.4, 0.3}, {5, -0.1, 2.9}, {0, 2, 0.5}, {-1, 3, 1}, {-1, 0, 0}} {
				about, err := json.Marshal(map[string]any{"k": info.K, "d": info.D, "distortion_model": info.DistortionModel})
				require.NoError(p, err)
				got := eval[[]float64](p, fmt.Sprintf("import('/lens.js').then(({ lensOf }) => lensOf(%s, %v).at([%v, %v, %v]) ?? [])",
					about, fromCorner, point[0], point[1], point[2]), chromedp.EvalAwaitPromise)
				u, v, ok := lens.Project(mgl64.Vec3{-point[1], -point[2], point[0]}) // from the first pixel's centre
				if c.off > 0.1 && !(ok && lens.Contains(u, v)) {
					continue
				}
				if !ok {
					assert.Empty(p, got, "%s %v", name, point)
					continue
				}
				require.Len(p, got, 2, "%s %v", name, point)
				assert.InDeltaSlice(p, []float64{u + 0.5, v + 0.5}, got, c.off, "%s %v from the corner: %v", name, point, fromCorner)
			}
		}
	}
	const known = "import('/lens.js').then(({ lensOf }) => lensOf({k: [%d, 0, 8, 0, 9, 8, 0, 0, 1], d: [], distortion_model: %q}) === null)"
	assert.True(p, eval[bool](p, fmt.Sprintf(known, 9, "of tomorrow"), chromedp.EvalAwaitPromise), "another lens")
	assert.True(p, eval[bool](p, fmt.Sprintf(known, 0, ""), chromedp.EvalAwaitPromise), "no calibration")
}

// TestPageTellsOfTheRun: plots and tables have what the run and the page itself tell, and what was lost stands where and why.
func TestPageTellsOfTheRun(t *testing.T) {
	p, _, _ := stepped(t)
	p.click("#tab-plots")
	p.press(" ")
	for _, plot := range []string{"speed", "acceleration", "turning", "real-time factor", "rates", "latency by stage"} {
		p.until(fmt.Sprintf("/%s: .*\\d/.test(document.querySelector('#page-plots canvas[aria-label^=%[1]q]')?.ariaLabel)", plot))
	}
	p.until("[...document.querySelectorAll('.stages tbody tr')].some((r) => /^lidar\\s+\\w+/.test(r.innerText) && Number(r.cells[3].innerText.replace(',', '')) > 0)")

	p.click("#tab-topics")
	row := fmt.Sprintf("[...document.querySelectorAll('#page-topics tbody tr')].find((r) => r.cells[0].innerText === %q)", depths)
	number := regexp.MustCompile(`^[\d,.]+$`)
	p.until(row + "?.cells[2].innerText.startsWith('10.')") // as many as the rig asks for
	p.until("parseFloat(" + row + ".cells[3].innerText) > 0")
	cells := eval[[]string](p, "[...("+row+").cells].map((c) => c.innerText)")
	assert.Equal(t, "sensor_msgs/CompressedImage", cells[1])
	assert.Regexp(t, number, cells[4], "kB/s of this page")
	assert.Equal(t, "1", cells[5], "listeners")
	assert.Regexp(t, `^[\d.]+ / [\d.]+$`, cells[6], "latency")

	p.click("#tab-losses") // a run that goes as fast as it can, and a page that draws snapshots at its leisure
	p.until("/this page, .snapshot\\s+slow\\s+[\\d,]+\\s+this page had not drawn the one before/.test(document.querySelector('#page-losses').innerText)")
	p.until("/bridge page\\s+peer slow\\s+[\\d,]+\\s+the receiver was too slow/.test(document.querySelector('#page-losses').innerText)")
	p.press(" ")
	p.until("document.querySelector('[aria-label=Play]')")
	assert.False(t, strings.Contains(p.text("#page-losses"), "Nothing was lost"))
}

// TestPageOfARunThatWaits: it says for what, and that nothing is published for that reason.
func TestPageOfARunThatWaits(t *testing.T) {
	ctx := browse(t, software()...)
	run := runWithPage(t, pageRig, nil, "--realtime", "--api", "0", "--bridge", "stream:127.0.0.1:0", "--wait-for", points+"=2")
	p := openTab(t, ctx, run.url)
	p.listeners(points, 1)
	p.until("document.querySelector('#notice').innerText.includes('waits for the receivers that --wait-for names')")
	(&shownRun{url: run.url}).watch(t)
	p.until("document.querySelector('#notice').hidden")
	p.until("Number(document.querySelector('.scene').dataset.points) > 0")
}
