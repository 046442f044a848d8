//go:build cgo && linux

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"io"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/cdproto"
	"github.com/chromedp/cdproto/input"
	cdplog "github.com/chromedp/cdproto/log"
	cdpruntime "github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/coder/websocket"
	"github.com/raybridge/raybridge/cmd/raybridge/internal/page"
	"github.com/raybridge/raybridge/scene"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// errNoBrowser says that no Chromium is installed.
var errNoBrowser = errors.New("no chromium: scripts/setup.sh browser installs it")

// chromium returns a browser's flags, with more.
func chromium(more ...chromedp.ExecAllocatorOption) ([]chromedp.ExecAllocatorOption, error) {
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return append([]chromedp.ExecAllocatorOption{
				chromedp.ExecPath(path), chromedp.Headless, chromedp.NoSandbox, chromedp.NoFirstRun, chromedp.Flag("disable-quic", true),
				chromedp.Flag("disable-background-networking", true), chromedp.Flag("disable-component-update", true),
			}, more...), nil
		}
	}
	return nil, errNoBrowser
}

// browse starts a browser that ends with the test. The test is skipped where there is none, or fails with
// REQUIRE_CHROMIUM=1. It fails where a page throws an exception that nobody catches, or does what its policy forbids.
func browse(t testing.TB, more ...chromedp.ExecAllocatorOption) context.Context {
	t.Helper()
	if testing.Short() {
		t.Skip("a browser takes seconds")
	}
	options, err := chromium(more...)
	if err != nil {
		if os.Getenv("REQUIRE_CHROMIUM") == "1" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	allocated, stop := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(stop)
	ctx, cancel := chromedp.NewContext(allocated)
	t.Cleanup(cancel)
	var (
		mu    sync.Mutex
		wrong []string
	)
	require.NoError(t, chromedp.Listen(ctx, func(event any) {
		mu.Lock()
		defer mu.Unlock()
		switch e := event.(type) {
		case *cdpruntime.EventExceptionThrown:
			text := e.ExceptionDetails.Text
			if e.ExceptionDetails.Exception != nil {
				text += " " + e.ExceptionDetails.Exception.Description
			}
			wrong = append(wrong, text)
		case *cdplog.EventEntryAdded:
			if e.Entry.Source == cdplog.EntrySourceSecurity {
				wrong = append(wrong, e.Entry.Text)
			}
		}
	}))
	t.Cleanup(func() {
		mu.Lock()
		defer mu.Unlock()
		assert.Empty(t, wrong, "the page's errors")
	})
	require.NoError(t, chromedp.Do(ctx, chromedp.EmulateViewport(1600, 1200)))
	return ctx
}

// software draws WebGL on the CPU, by the OpenGL that other tests have, too.
func software() []chromedp.ExecAllocatorOption {
	return []chromedp.ExecAllocatorOption{
		chromedp.Flag("use-gl", "angle"), chromedp.Flag("use-angle", "gl-egl"), chromedp.Flag("ignore-gpu-blocklist", true),
	}
}

// tab is the page in a browser.
type tab struct {
	*testing.T
	ctx context.Context
}

func openTab(t *testing.T, ctx context.Context, url string) *tab {
	t.Helper()
	require.NoError(t, chromedp.Do(ctx, chromedp.Navigate(url)))
	return &tab{t, ctx}
}

// eval returns what an expression is in the page.
func eval[R any](p *tab, expression string, options ...chromedp.EvaluateOption) R {
	p.Helper()
	result, err := chromedp.Run(p.ctx, chromedp.Evaluate[R](expression, options...))
	require.NoError(p, err, expression)
	return result
}

// until waits for an expression to be true, also of a page that is being loaded.
func (p *tab) until(expression string) {
	p.Helper()
	deadline := time.Now().Add(patience)
	for {
		is, err := chromedp.Run(p.ctx, chromedp.Evaluate[bool]("Boolean("+expression+")"))
		var left *cdproto.Error // the page before
		if !errors.As(err, &left) {
			require.NoError(p, err, expression)
		}
		if is {
			return
		}
		if time.Now().After(deadline) {
			p.Fatalf("%s is never true (%v); the page says:\n%s", expression, err, eval[string](p, "document.body.innerText"))
		}
		time.Sleep(glance)
	}
}

func (p *tab) click(selector string) {
	p.Helper()
	p.until(fmt.Sprintf("document.querySelector(%q) && !document.querySelector(%[1]q).disabled", selector))
	eval[any](p, fmt.Sprintf("void document.querySelector(%q).click()", selector))
}

// enter writes a value into an input and leaves it.
func (p *tab) enter(selector, value string) {
	p.Helper()
	p.until(fmt.Sprintf("document.querySelector(%q)", selector))
	eval[any](p, fmt.Sprintf("{const e = document.querySelector(%q); e.value = %q; e.dispatchEvent(new Event('change')); void 0}", selector, value))
}

func (p *tab) press(key string) {
	p.Helper()
	require.NoError(p, chromedp.Do(p.ctx, chromedp.KeyEvent(key)))
}

func (p *tab) text(selector string) string {
	p.Helper()
	return eval[string](p, fmt.Sprintf("document.querySelector(%q)?.textContent ?? ''", selector))
}

// time is the simulation time that the page shows, seconds.
func (p *tab) time() float64 {
	p.Helper()
	seconds, err := strconv.ParseFloat(strings.TrimSuffix(p.text(".now"), " s"), 64)
	require.NoError(p, err)
	return seconds
}

// box is an element's left, upper, right and lower border on the screen.
func (p *tab) box(selector string) []float64 {
	p.Helper()
	return eval[[]float64](p, fmt.Sprintf("(({x, y, right, bottom}) => [x, y, right, bottom])(document.querySelector(%q).getBoundingClientRect())", selector))
}

// place is an element's rectangle in pixels of the screen.
func (p *tab) place(selector string) image.Rectangle {
	p.Helper()
	box := p.box(selector)
	return image.Rect(int(box[0])+1, int(box[1])+1, int(box[2]), int(box[3]))
}

// screen is what the browser shows.
func (p *tab) screen() image.Image {
	p.Helper()
	return p.capture(nil)
}

// part is what the browser shows in a rectangle, from (0, 0) on.
func (p *tab) part(r image.Rectangle) image.Image {
	p.Helper()
	return p.capture(map[string]any{"x": r.Min.X, "y": r.Min.Y, "width": r.Dx(), "height": r.Dy(), "scale": 1})
}

func (p *tab) capture(clip map[string]any) image.Image {
	p.Helper()
	params := map[string]any{"format": "png", "optimizeForSpeed": true}
	if clip != nil {
		params["clip"] = clip
	}
	var shot struct {
		Data []byte `json:"data"`
	}
	require.NoError(p, chromedp.Do(p.ctx, chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		return target.Call(ctx, "Page.captureScreenshot", params, &shot)
	})))
	screen, err := png.Decode(bytes.NewReader(shot.Data))
	require.NoError(p, err)
	return screen
}

// point moves the pointer to a share of an element's width and height.
func (p *tab) point(selector string, x, y float64) {
	p.Helper()
	box := p.box(selector)
	require.NoError(p, chromedp.Do(p.ctx, chromedp.MouseEvent(input.DispatchMouseEventTypeMouseMoved, box[0]+x*(box[2]-box[0]), box[1]+y*(box[3]-box[1]))))
}

// layer shows or hides a stream in the 3-D view.
func (p *tab) layer(name string) {
	p.Helper()
	eval[any](p, fmt.Sprintf(`void [...document.querySelectorAll('#scene .menu label')].find((l) => l.textContent === %q).click()`, name))
}

// ofCloud counts the coloured pixels of a part of a picture of the page that are the cloud's: that are gone when it is hidden.
func (p *tab) ofCloud(picture func() image.Image, part image.Rectangle) int {
	p.Helper()
	with := coloured(picture(), part)
	p.layer(points)
	p.until("document.querySelector('.scene').dataset.points === '0'")
	without := coloured(picture(), part)
	p.layer(points)
	p.until("document.querySelector('.scene').dataset.points > 0")
	return with - without
}

// in is the tab for a part of the test.
func (p *tab) in(t *testing.T) *tab { return &tab{t, p.ctx} }

// tile is the selector of a topic's picture.
func tile(topic string) string { return fmt.Sprintf(`.tile[data-topic="%s"]`, topic) }

// valueAt is what the page says of a place in a topic's picture.
func (p *tab) valueAt(topic string, x, y float64) string {
	p.Helper()
	p.point(tile(topic)+" .frame", x, y)
	p.until(fmt.Sprintf("document.querySelector('%s .value').textContent", tile(topic)))
	return p.text(tile(topic) + " .value")
}

// shown counts the messages of a picture's topic, or of the 3-D view, that were drawn.
func (p *tab) shown(canvas string) int {
	p.Helper()
	return eval[int](p, fmt.Sprintf("Number(document.querySelector('%s')?.dataset.frames ?? 0)", canvas))
}

// viewed is a run with the live page, in a process of its own.
type viewed struct {
	*exec.Cmd
	url string
}

var pageLine = regexp.MustCompile(`page on (http://\S+)`)

// runWithPage begins a run with the page. The rig is a text.
func runWithPage(t *testing.T, rig string, environment []string, args ...string) *viewed {
	t.Helper()
	v := &viewed{Cmd: command(t, append([]string{
		"run", "--view", "--gpu", "host", "--scene", "plane", "--rig", write(t, t.TempDir(), "rig.yaml", rig),
	}, args...)...)}
	v.Env = append(v.Env, environment...)
	out, err := v.StdoutPipe() // it ends with the process
	require.NoError(t, err)
	v.Stderr = v.Stdout
	require.NoError(t, v.Start())
	t.Cleanup(func() {
		_ = v.Process.Kill()
		_ = v.Wait()
	})
	lines := bufio.NewScanner(out)
	var said strings.Builder
	for v.url == "" && lines.Scan() {
		said.WriteString(lines.Text() + "\n")
		if m := pageLine.FindStringSubmatch(lines.Text()); m != nil {
			v.url = m[1]
		}
	}
	require.NotEmpty(t, v.url, said.String())
	go func() { _, _ = io.Copy(io.Discard, out) }() // until the process ends
	return v
}

// end ends the run as Ctrl-C does.
func (v *viewed) end(t *testing.T) {
	t.Helper()
	require.NoError(t, v.Process.Signal(syscall.SIGINT))
	_ = v.Wait()
}

// post sends a request to the run's API.
func (v *viewed) post(t *testing.T, path, body string) map[string]any {
	t.Helper()
	base, _, _ := strings.Cut(v.url, "#")
	response, err := http.Post(strings.TrimSuffix(base, "/")+path, "application/json", strings.NewReader(body))
	require.NoError(t, err)
	defer response.Body.Close()
	answer := map[string]any{}
	require.NoError(t, json.NewDecoder(response.Body).Decode(&answer))
	require.Equal(t, http.StatusOK, response.StatusCode, answer)
	return answer
}

// picture is the answer to a request for a sensor's newest picture.
func (v *viewed) picture(t *testing.T, sensor string) []byte {
	t.Helper()
	response, err := http.Get(v.url + "v1/sensors/" + sensor + "/image.png")
	require.NoError(t, err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return body
}

// pageRig looks ahead from three metres before the origin, and around from above it. CameraInfo counts from the first pixel's
// corner for one of the cameras, and from its centre for the others.
const pageRig = `sensors:
  - {id: sensor.camera.rgb, name: front, topic: /front, rate: 10, image_size_x: 320, image_size_y: 240, fov: 90, pose: {x: 3, z: 1}}
  - {id: sensor.camera.depth, name: depth, topic: /depth, rate: 10, image_size_x: 320, image_size_y: 240, fov: 90, pose: {x: 3, z: 1}}
  - {id: sensor.camera.semantic_segmentation, name: tags, topic: /tags, rate: 10, image_size_x: 320, image_size_y: 240, fov: 90, pose: {x: 3, z: 1}}
  - {id: sensor.camera.instance_segmentation, name: ids, topic: /ids, rate: 10, image_size_x: 320, image_size_y: 240, fov: 90, principal_point: corner, pose: {x: 3, z: 1}}
  - {id: sensor.lidar.ray_cast, name: lidar, topic: /lidar, rate: 10, channels: 16, points_per_second: 200000, range: 60, upper_fov: 5, lower_fov: -25, rotation_frequency: 10, dropoff_general_rate: 0, dropoff_zero_intensity: 0, pose: {z: 2}}
  - {id: sensor.other.imu, name: imu, topic: /imu, rate: 100, pose: {x: 1}}
`

// The topics of pageRig.
const (
	colours = "/front/image_raw"
	depths  = "/depth/image_raw"
	tagsOf  = "/tags/image_raw"
	idsOf   = "/ids/image_raw"
	points  = "/lidar/points"
)

// stepped is a paused run of pageRig with a box 4 m long whose near side is 10 m before the cameras, and its page.
func stepped(t *testing.T) (*tab, *viewed, int) {
	t.Helper()
	ctx := browse(t, software()...)
	run := runWithPage(t, pageRig, nil, "--step", "--paused", "--api", "0")
	answer := run.post(t, "/v1/actors", `{"model": "box", "name": "crate", "size": [4, 2, 2], "position": [15, 0, 0], "yaw": 0, "on_ground": true}`)
	p := openTab(t, ctx, run.url)
	p.until("document.querySelector('.state').dataset.phase === 'open'")
	for _, topic := range []string{colours, depths, tagsOf, idsOf, points} { // a step that is over before the page listens shows nothing
		p.listeners(topic, 1)
	}
	p.fire()
	return p, run, int(answer["spawned"].([]any)[0].(float64))
}

// listeners waits for a topic to have so many.
func (p *tab) listeners(topic string, want int) {
	p.Helper()
	require.Eventually(p, func() bool {
		return eval[int](p, fmt.Sprintf(`fetch('/v1/status').then((r) => r.json()).then((s) => s.sensors.find((x) => x.topic === %q)?.listeners ?? 0)`, topic),
			chromedp.EvalAwaitPromise) == want
	}, patience, glance, "%s has not %d listeners", topic, want)
}

// fire makes ten steps, in which each sensor fires, and waits for what comes of it to be on the screen.
func (p *tab) fire() {
	p.Helper()
	canvases := []string{".scene", tile(colours) + " canvas", tile(depths) + " canvas", tile(tagsOf) + " canvas", tile(idsOf) + " canvas"}
	before := make([]int, len(canvases))
	for i, canvas := range canvases {
		before[i] = p.shown(canvas)
	}
	p.press("N")
	for i, canvas := range canvases {
		p.until(fmt.Sprintf("Number(document.querySelector('%s').dataset.frames ?? 0) > %d", canvas, before[i]))
	}
	p.until("Number(document.querySelector('.scene').dataset.points) > 0")
}

// pixelOf is a pixel of a picture. The browser's are of the first kind, for which this is fast: they have millions.
func pixelOf(m image.Image, x, y int) color.NRGBA {
	switch m := m.(type) {
	case *image.RGBA: // which is opaque
		return color.NRGBA(m.RGBAAt(x, y))
	case *image.NRGBA:
		return m.NRGBAAt(x, y)
	default:
		return color.NRGBAModel.Convert(m.At(x, y)).(color.NRGBA)
	}
}

// coloured counts the pixels of a part of a picture that are not grey.
func coloured(screen image.Image, part image.Rectangle) (n int) {
	for y := part.Min.Y; y < part.Max.Y; y++ {
		for x := part.Min.X; x < part.Max.X; x++ {
			c := pixelOf(screen, x, y)
			if max(c.R, c.G, c.B)-min(c.R, c.G, c.B) > 60 {
				n++
			}
		}
	}
	return n
}

// mean is the mean colour of a part of a picture.
func mean(screen image.Image, part image.Rectangle) [3]float64 {
	var sum [3]float64
	for y := part.Min.Y; y < part.Max.Y; y++ {
		for x := part.Min.X; x < part.Max.X; x++ {
			c := pixelOf(screen, x, y)
			for i, v := range []uint8{c.R, c.G, c.B} {
				sum[i] += float64(v)
			}
		}
	}
	for i := range sum {
		sum[i] /= float64(part.Dx() * part.Dy())
	}
	return sum
}

// half returns the upper or lower half of a rectangle, without its rim.
func half(r image.Rectangle, lower bool) image.Rectangle {
	r = r.Inset(4)
	middle := (r.Min.Y + r.Max.Y) / 2
	if lower {
		r.Min.Y = middle + 4
	} else {
		r.Max.Y = middle - 4
	}
	return r
}

// TestPageShowsWhatSensorsSee: the cloud and each picture are on the screen, and under the pointer stand the values themselves.
func TestPageShowsWhatSensorsSee(t *testing.T) {
	p, run, crate := stepped(t)

	t.Run("cloud", func(t *testing.T) {
		p := p.in(t)
		assert.Greater(t, p.ofCloud(p.screen, p.place(".scene")), 400, "pixels of points")
	})
	t.Run("pictures", func(t *testing.T) {
		p := p.in(t)
		run.picture(t, "front") // which the run keeps from the first request on
		p.fire()
		want, err := png.Decode(bytes.NewReader(run.picture(t, "front")))
		require.NoError(t, err)
		screen := p.screen()
		for _, lower := range []bool{false, true} {
			got, wanted := mean(screen, half(p.place(tile(colours)+" .frame"), lower)), mean(want, half(want.Bounds(), lower))
			for i := range got {
				assert.InDelta(t, wanted[i], got[i], 6, "lower half %v, channel %d", lower, i)
			}
		}
		for _, topic := range []string{depths, tagsOf, idsOf} {
			assert.Greater(t, coloured(screen, p.place(tile(topic)+" .frame")), 500, topic)
		}
	})
	t.Run("boxes", func(t *testing.T) {
		p := p.in(t)
		lines := fmt.Sprintf(`(() => { const c = document.querySelector('%s .boxes');
			return c.getContext('2d').getImageData(0, 0, c.width, c.height).data.some((v) => v > 0); })()`, tile(depths))
		assert.False(t, eval[bool](p, lines))
		eval[any](p, "void document.querySelector('#pictures .tools input').click()")
		p.until(lines) // time stands: they come over the picture that is there
		// The near side's left edge is 10 m before the camera and 1 m to the left of its axis, which is at 160 from the left: its
		// line lies between the pixels 143 and 144. The far edge's is at 148.6.
		edge := `(() => { const c = document.querySelector('%s .boxes'); let [sum, all] = [0, 0];
			c.getContext('2d').getImageData(140, 120, 8, 1).data.forEach((v, i) => { if (i %% 4 === 3) { sum += v * (140.5 + (i - 3) / 4); all += v; } });
			return sum / all; })()`
		for _, topic := range []string{depths, idsOf} { // counted from a pixel's centre, and from its corner
			p.until(strings.ReplaceAll(lines, tile(depths), tile(topic)))
			assert.InDelta(t, 144, eval[float64](p, fmt.Sprintf(edge, tile(topic))), 0.1, topic)
		}
		assert.Regexp(t, `^id 1 at 143, 120$`, p.valueAt(idsOf, 143.7/320, 0.5021), "the ground beside it")
		assert.Regexp(t, `^id [1-9]\d* crate at 144, 120$`, p.valueAt(idsOf, 144.3/320, 0.5021))
		eval[any](p, "void document.querySelector('#pictures .tools input').click()")
		p.until("!" + lines)
	})
	t.Run("outputs", func(t *testing.T) {
		p := p.in(t)
		choose := fmt.Sprintf("void [...document.querySelectorAll('#pictures .menu label')].find((l) => l.textContent === %q).click()", tagsOf)
		eval[any](p, choose)
		p.until(fmt.Sprintf("!document.querySelector('%s')", tile(tagsOf)))
		p.listeners(tagsOf, 0)
		eval[any](p, choose)
		p.listeners(tagsOf, 1)
		p.until(fmt.Sprintf("Number(document.querySelector('%s canvas').dataset.frames) > 0", tile(tagsOf))) // the last one, while time stands
	})
	t.Run("values", func(t *testing.T) {
		p := p.in(t)
		assert.Regexp(t, `^10\.00\d m at 16\d, 12\d$`, p.valueAt(depths, 0.51, 0.51))
		assert.Regexp(t, `^out of range at `, p.valueAt(depths, 0.51, 0.05))
		assert.Regexp(t, fmt.Sprintf(`^id %d crate at `, crate), p.valueAt(idsOf, 0.51, 0.51))
		assert.Regexp(t, `^rgb \d+ \d+ \d+ at `, p.valueAt(colours, 0.5, 0.5))
		ground := p.valueAt(tagsOf, 0.5, 0.95)
		number := regexp.MustCompile(`^(\w+) \((\d+)\) at `).FindStringSubmatch(ground)
		require.NotNil(t, number, ground)
		tag, err := strconv.Atoi(number[2])
		require.NoError(t, err)
		assert.Equal(t, scene.Tag(tag).String(), number[1])
		box := p.place(tile(tagsOf) + " .frame")
		assert.Equal(t, scene.Tag(tag).Color(), pixelOf(p.screen(), box.Min.X+box.Dx()/2, box.Max.Y-box.Dy()/12), "the tag's colour on the screen")
	})
}

// TestPageDrivesTime: the buttons on top stop, step and continue the run, and the page shows its time.
func TestPageDrivesTime(t *testing.T) {
	p, _, _ := stepped(t)
	begin := p.time()
	p.click("[aria-label=Step]")
	p.until(fmt.Sprintf("Math.abs(parseFloat(document.querySelector('.now').textContent) - %f) < 0.001", begin+0.01))
	frames := p.shown(".scene")
	p.click("[aria-label=Play]")
	p.until(fmt.Sprintf("Number(document.querySelector('.scene').dataset.frames) > %d", frames+2))
	p.until(fmt.Sprintf("parseFloat(document.querySelector('.now').textContent) > %f", begin+0.2))
	p.click("[aria-label=Pause]")
	p.until("document.querySelector('[aria-label=Play]')")
	p.enter("[aria-label=Speed]", "0.5")
	require.Eventually(t, func() bool {
		return eval[bool](p, "fetch('/v1/status').then((r) => r.json()).then((s) => s.time.scale === 0.5 && s.time.paused)", chromedp.EvalAwaitPromise)
	}, patience, glance, "the run has the scale that was chosen, and stands")
	p.until("document.querySelector('[aria-label=Speed]').value === '0.5'")
}

// TestPageChangesTheRun: what is changed in the panels changes the data.
func TestPageChangesTheRun(t *testing.T) {
	p, _, crate := stepped(t)
	number := func(expression string) int { return eval[int](p, "Number("+expression+")") }

	before := number("document.querySelector('.scene').dataset.points")
	p.click("#tab-rig")
	p.until("[...document.querySelectorAll('#page-rig [role=option]')].some((o) => o.textContent.startsWith('lidar'))")
	eval[any](p, "void [...document.querySelectorAll('#page-rig [role=option]')].find((o) => o.textContent.startsWith('lidar')).click()")
	p.enter("[data-attribute=range]", "8")
	p.until("document.querySelector('[data-attribute=range]').defaultValue === '8'") // as the run tells
	p.enter("[data-attribute=range]", "")
	assert.Equal(t, "8", eval[string](p, "document.querySelector('[data-attribute=range]').value"), "an emptied box changes nothing")
	eval[any](p, "document.querySelector('[data-attribute=range]').focus(); void 0")
	p.enter("[data-attribute=range]", "7.5")
	p.until("document.activeElement.dataset.attribute === 'range' && document.activeElement.defaultValue === '7.5'")
	eval[any](p, "document.activeElement.blur(); void 0")
	p.fire()
	p.fire() // the scan that was under way began with the old range
	p.until(fmt.Sprintf("Number(document.querySelector('.scene').dataset.points) < %d", before*3/4))

	p.click("#tab-actors")
	p.click(`[aria-label="move crate"]`)
	eval[any](p, "document.querySelector('#page-actors [name=x]').value = '25'; void 0")
	eval[any](p, "void document.querySelector('#page-actors form').requestSubmit()")
	p.until("document.querySelector('#page-actors').innerText.includes('25.0')")
	p.fire()
	assert.Regexp(t, `^20\.00\d m at `, p.valueAt(depths, 0.51, 0.51))
	assert.Regexp(t, fmt.Sprintf(`^id %d crate at `, crate), p.valueAt(idsOf, 0.51, 0.51))

	p.click(`[aria-label="remove crate"]`)
	p.until(`!document.querySelector('[aria-label="remove crate"]')`)
	p.fire()
	assert.Regexp(t, `^id 0 at `, p.valueAt(idsOf, 0.51, 0.4))

	eval[any](p, "{const f = document.querySelector('#page-actors form').elements; f.model.value = 'vehicle.sedan'; f.name.value = 'mine'; f.x.value = '12'; void 0}")
	eval[any](p, "void document.querySelector('#page-actors form').requestSubmit()")
	p.until(`document.querySelector('[aria-label="move mine"]')?.disabled === false`)
	p.fire()
	assert.Regexp(t, `^id \d+ mine at `, p.valueAt(idsOf, 0.51, 0.51))
	assert.Contains(t, p.text(".card"), "vehicle.sedan", "who has come is chosen")
	p.press(" ")
	p.until(`document.querySelector('[aria-label="move mine"]').title.includes('Pause the run first')`)
	assert.True(t, eval[bool](p, `document.querySelector('[aria-label="move mine"]').disabled`))
}

// TestPageTellsOfWhatIsClicked: a point has its own fields, and a box its actor.
func TestPageTellsOfWhatIsClicked(t *testing.T) {
	p, _, _ := stepped(t)
	scenePart := p.place(".scene")
	screen := p.screen()
	var lit image.Point // of the cloud, away from the boxes in the middle
	for y := scenePart.Max.Y - 40; y > scenePart.Min.Y && lit == (image.Point{}); y-- {
		for x := scenePart.Min.X + 10; x < scenePart.Min.X+scenePart.Dx()/3; x++ {
			if coloured(screen, image.Rect(x, y, x+1, y+1)) == 1 {
				lit = image.Pt(x, y)
				break
			}
		}
	}
	require.NotZero(t, lit, "no point of the cloud is on the screen")
	require.NoError(t, chromedp.Do(p.ctx, chromedp.MouseClickXY(float64(lit.X), float64(lit.Y))))
	p.until("/distance[\\d.]+/.test(document.querySelector('.card').textContent)")
	assert.Contains(t, p.text(".card"), "point of "+points)

	p.layer(points) // else a click means a point
	p.press("3")
	p.until("location.hash.includes('eye=top')")
	p.until("document.querySelector('.scene').dataset.points === '0'")
	// From the top, the middle is the ego and up is ahead: the crate's roof is 13 m nearer to the ego than its far end, and 88 m below the eye.
	high := float64(scenePart.Dy()) * 15 / (2 * math.Tan(25*math.Pi/180) * 88)
	require.NoError(t, chromedp.Do(p.ctx, chromedp.MouseClickXY(float64(scenePart.Min.X+scenePart.Max.X)/2, float64(scenePart.Min.Y+scenePart.Max.Y)/2-high)))
	p.until("document.querySelector('.card b').textContent === 'crate'")
	assert.Contains(t, p.text(".card"), "4.0 × 2.0 × 2.0 m")
	p.press("\x1b")
	p.until("document.querySelector('.card').hidden")

	p.click("#tab-actors")
	p.until("[...document.querySelectorAll('#page-actors td button')].some((b) => b.textContent === 'crate')")
	eval[any](p, "void [...document.querySelectorAll('#page-actors td button')].find((b) => b.textContent === 'crate').click()")
	assert.Contains(t, p.text(".card"), "4.0 × 2.0 × 2.0 m")
}

// TestPageSurvives: a page that is loaded again in the middle of a run, the run's end, and another run with another rig.
func TestPageSurvives(t *testing.T) {
	p, run, _ := stepped(t)
	require.NoError(t, chromedp.Do(p.ctx, chromedp.Reload()))
	p.until("Number(document.querySelector('.scene')?.dataset.points) > 0") // time stands: these are the last data
	assert.Regexp(t, `^10\.00\d m at `, p.valueAt(depths, 0.51, 0.51))

	run.end(t)
	p.until("document.querySelector('.state').dataset.phase === 'ended'")
	assert.Contains(t, p.text("#notice"), "The run has ended")
	assert.Regexp(t, `^10\.00\d m at `, p.valueAt(depths, 0.51, 0.51), "the last data stay")

	port := regexp.MustCompile(`:(\d+)/`).FindStringSubmatch(run.url)[1]
	runWithPage(t, `sensors: [{id: sensor.camera.depth, name: other, topic: /other, rate: 10, image_size_x: 64, image_size_y: 48, fov: 90, pose: {x: 3, z: 1}}]`,
		nil, "--step", "--paused", "--api", port)
	p.until("document.querySelector('.state').dataset.phase === 'open'")
	p.listeners("/other/image_raw", 1)
	assert.True(t, eval[bool](p, "document.querySelector('#notice').hidden"))
	p.press("N")
	p.until("Number(document.querySelector('.tile[data-topic=\"/other/image_raw\"] canvas').dataset.frames) > 0")
	assert.Contains(t, p.text("#scene .empty"), "No sensor of this rig makes a cloud")
}

// TestPageAsksForTheToken: a page without the run's token, or with another, says so and takes it.
func TestPageAsksForTheToken(t *testing.T) {
	ctx := browse(t, software()...)
	run := runWithPage(t, pageRig, []string{"RAYBRIDGE_API_TOKEN=a-token-of-mine-and-nobody-elses"}, "--step", "--paused", "--api", "0")
	base, _, _ := strings.Cut(run.url, "#")

	p := openTab(t, ctx, base+"#token=wrong&eye=top,0,1.57,40,0,0,0")
	p.until("document.querySelector('.state').dataset.phase === 'refused'")
	assert.Contains(t, p.text("#notice"), "token")
	assert.NotContains(t, eval[string](p, "location.href"), "token")
	assert.Contains(t, eval[string](p, "location.hash"), "eye=top", "the link keeps the view")
	p.until("document.querySelector('#notice form').offsetParent")
	p.enter("#notice input", "a-token-of-mine-and-nobody-elses")
	eval[any](p, "void document.querySelector('#notice form').requestSubmit()")
	p.until("document.querySelector('.state').dataset.phase === 'open'")
	p.click("[aria-label=Step]") // /v1 has the token, too
	p.until("parseFloat(document.querySelector('.now').textContent) > 0")

	require.NoError(t, chromedp.Do(p.ctx, chromedp.Reload()))
	p.until("document.querySelector('.state')?.dataset.phase === 'open'")

	run.end(t)
	p.until("document.querySelector('.state').dataset.phase === 'ended'")
	port := regexp.MustCompile(`:(\d+)/`).FindStringSubmatch(run.url)[1]
	runWithPage(t, pageRig, []string{"RAYBRIDGE_API_TOKEN=the-next-run-has-another-token-than-that"}, "--step", "--paused", "--api", port)
	p.until("document.querySelector('.state').dataset.phase === 'refused'")
	eval[any](p, "location.hash = '#token=the-next-run-has-another-token-than-that'; void 0") // as one that is pasted
	p.until("document.querySelector('.state')?.dataset.phase === 'open'")
	assert.NotContains(t, eval[string](p, "location.href"), "token")
}

// kept are the connections that a listener accepts.
type kept struct {
	net.Listener
	mu  sync.Mutex
	all []net.Conn
}

// Accept implements net.Listener.
func (k *kept) Accept() (net.Conn, error) {
	conn, err := k.Listener.Accept()
	if err == nil {
		k.mu.Lock()
		k.all = append(k.all, conn)
		k.mu.Unlock()
	}
	return conn, err
}

// cut closes them all.
func (k *kept) cut() {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, conn := range k.all {
		_ = conn.Close()
	}
	k.all = nil
}

// TestPageOfAFullServer: a page that finds no place any more says so, and goes on by itself once there is one. A proxy in
// front of the run answers as the run does then.
func TestPageOfAFullServer(t *testing.T) {
	ctx := browse(t, software()...)
	run := runWithPage(t, pageRig, nil, "--step", "--paused", "--api", "0")
	target, err := url.Parse(run.url)
	require.NoError(t, err)
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(target) // with its host
		if r.Out.Header.Get("Origin") != "" {
			r.Out.Header.Set("Origin", "http://"+target.Host)
		}
	}}
	var full atomic.Bool
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if full.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
			_, _ = io.WriteString(w, `{"error": "there are as many connections as this server takes: 64"}`)
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	listener := &kept{Listener: server.Listener}
	server.Listener = listener
	server.Start()
	defer server.Close()
	defer listener.cut()

	p := openTab(t, ctx, server.URL+"/")
	p.until("document.querySelector('.state').dataset.phase === 'open'")
	full.Store(true)
	listener.cut()
	p.until("document.querySelector('#notice').textContent.includes('as many connections as this server takes: 64')")
	assert.Contains(t, p.text("#notice"), "tries again by itself")
	full.Store(false)
	p.until("document.querySelector('.state').dataset.phase === 'open'")
	assert.True(t, eval[bool](p, "document.querySelector('#notice').hidden"))
}

// TestPageShowsAllOfALargeCloud: a cloud of more than 200,000 points is thinned, the page says so, and has all of them when
// it is asked to, while time stands.
func TestPageShowsAllOfALargeCloud(t *testing.T) {
	ctx := browse(t, software()...)
	run := runWithPage(t, `sensors:
  - {id: sensor.lidar.ray_cast, name: dense, topic: /dense, rate: 10, channels: 64, points_per_second: 2560000, range: 200, upper_fov: -5, lower_fov: -25, rotation_frequency: 10, dropoff_general_rate: 0, dropoff_zero_intensity: 0, pose: {z: 2}}
`, nil, "--step", "--paused", "--api", "0")
	p := openTab(t, ctx, run.url)
	p.listeners("/dense/points", 1)
	p.press("N")
	p.until("document.querySelector('.scene').dataset.points === '128000'")
	assert.Contains(t, p.text("#scene .legend"), "256,000")
	eval[any](p, "void [...document.querySelectorAll('#scene .legend button')].find((b) => !b.hidden).click()")
	p.until("document.querySelector('.scene').dataset.points === '256000'")
	eval[any](p, "void [...document.querySelectorAll('#scene .legend button')].find((b) => !b.hidden).click()")
	p.press("N")
	p.until("document.querySelector('.scene').dataset.points === '128000'")
}

// TestPageDrivesByKeys: the ego goes while w is held, and only where it may be driven from outside.
func TestPageDrivesByKeys(t *testing.T) {
	ctx := browse(t, software()...)
	hold := "document.body.dispatchEvent(new KeyboardEvent('keydown', {key: 'w', bubbles: true})); void 0"
	speed := "Number(/ego ([\\d.]+)/.exec(document.querySelector('#page-plots').textContent)?.[1] ?? 0)"
	for ego, goes := range map[string]bool{"ego: {driver: external}": true, "ego: {}": false} {
		run := runWithPage(t, "sensors: []", nil, "--realtime", "--api", "0", "--config", write(t, t.TempDir(), "drive.yaml", ego))
		p := openTab(t, ctx, run.url)
		p.until("document.querySelector('.state').dataset.phase === 'open'")
		p.click("#tab-plots")
		p.press("v")
		if !goes {
			p.until("document.querySelector('.complaint').textContent.includes('driver')")
			assert.Zero(t, eval[float64](p, speed))
			continue
		}
		eval[any](p, hold)
		p.until(speed + " > 2")
		p.press("v")
		p.until("[...document.querySelectorAll('#scene button')].some((b) => b.textContent === 'drive' && b.ariaPressed === 'false')")
	}
}

// TestPageWithoutWebGL: pictures and tables are there, and the page says what isn't.
func TestPageWithoutWebGL(t *testing.T) {
	ctx := browse(t, chromedp.Flag("disable-3d-apis", true))
	run := runWithPage(t, pageRig, nil, "--step", "--paused", "--api", "0")
	p := openTab(t, ctx, run.url+`#look=5&panels=[1]&nopictures={"a":1}&plots=[1,"x"]&follow="ego"&eye=toString,1,2,3,4,5,6`) // what makes no sense is as if it weren't there
	p.listeners(depths, 1)
	assert.True(t, eval[bool](p, "[...document.querySelectorAll('#scene .menu button')].every((b) => b.disabled && b.title.includes('no WebGL2'))"), "saving says why it can't")
	p.until("document.querySelector('#scene .empty').textContent.includes('no WebGL2')")
	p.press("N")
	p.until(fmt.Sprintf("Number(document.querySelector('%s canvas').dataset.frames) > 0", tile(depths)))
	assert.Regexp(t, `^out of range at `, p.valueAt(depths, 0.51, 0.05))
}

// TestPageFromNarrowToWide: at 400 pixels everything is one below the other, and nothing is wider. At 4k everything has its place in
// one window, in larger letters. It is dark where the system is.
func TestPageFromNarrowToWide(t *testing.T) {
	p, _, _ := stepped(t)
	require.NoError(t, chromedp.Do(p.ctx, chromedp.EmulateViewport(400, 850), chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		return target.Call(ctx, "Emulation.setEmulatedMedia", map[string]any{
			"features": []map[string]string{{"name": "prefers-color-scheme", "value": "dark"}},
		}, nil)
	})))
	p.until("innerWidth === 400 && getComputedStyle(document.body).backgroundColor === 'rgb(14, 16, 20)'")
	assert.LessOrEqual(t, eval[int](p, "document.documentElement.scrollWidth"), 400)
	frames := p.shown(".scene")
	p.press("N")
	p.until(fmt.Sprintf("Number(document.querySelector('.scene').dataset.frames) > %d", frames))
	assert.Greater(t, p.ofCloud(p.screen, p.place(".scene").Intersect(image.Rect(0, 0, 400, 850))), 200, "pixels of points")
	for _, tab := range []string{"topics", "plots", "rig", "actors", "losses", "message"} {
		p.click("#tab-" + tab)
		assert.LessOrEqual(t, eval[int](p, "document.documentElement.scrollWidth"), 400, tab)
	}

	require.NoError(t, chromedp.Do(p.ctx, chromedp.EmulateViewport(3840, 2160)))
	p.until("innerWidth === 3840 && getComputedStyle(document.body).fontSize === '15px'")
	assert.True(t, eval[bool](p, "document.documentElement.scrollWidth === 3840 && document.documentElement.scrollHeight === 2160"), "nothing has to be scrolled to")
	p.until("document.querySelector('.scene').width > 2000")
	p.until("[...document.querySelectorAll('.tile')].every((tile) => tile.clientWidth > 600)")
	fits := "document.querySelector('#pictures .body').scrollHeight <= document.querySelector('#pictures .body').clientHeight"
	assert.True(t, eval[bool](p, fits), "all pictures are in sight")
	p.click(tile(tagsOf) + " [title=Enlarge]")
	p.until(fmt.Sprintf("document.querySelector('%s').clientWidth > 1200", tile(tagsOf)))
	assert.True(t, eval[bool](p, fits), "all of the large picture is in sight")
}

// TestPageEnlargesOnePanel: one panel at a time fills the window below the bar, at 400 pixels, too, and Esc leaves. To what isn't
// in sight then the page doesn't listen.
func TestPageEnlargesOnePanel(t *testing.T) {
	p, _, _ := stepped(t)
	for _, width := range []int64{1600, 400} {
		require.NoError(t, chromedp.Do(p.ctx, chromedp.EmulateViewport(width, 850)))
		p.until(fmt.Sprintf("innerWidth === %d", width))
		for _, panel := range []struct{ key, id string }{{"f", "scene"}, {"p", "pictures"}} {
			p.press(panel.key)
			p.until(fmt.Sprintf("document.querySelectorAll('.panel.large').length === 1 && document.querySelector('.panel.large').id === %q", panel.id))
			p.listeners(depths, map[string]int{"scene": 0, "pictures": 1}[panel.id])
			p.listeners(points, map[string]int{"scene": 1, "pictures": 0}[panel.id])
			bar, large := p.place("#bar"), p.place(".panel.large")
			assert.GreaterOrEqual(t, large.Min.Y, bar.Max.Y-1, "%s at %d pixels lies under the bar", panel.id, width)
			assert.InDelta(t, 850, large.Max.Y, 1, "%s at %d pixels", panel.id, width)
			assert.InDelta(t, width, large.Dx(), 2, "%s at %d pixels", panel.id, width)
			assert.True(t, eval[bool](p, `(({x, y, width, height}) => document.elementFromPoint(x + width / 2, y + height / 2).ariaPressed === 'true')
				(document.querySelector('.panel.large > header > .icon').getBoundingClientRect())`), "the button that makes it small can be clicked")
		}
		p.press("\x1b")
		p.until("!document.querySelector('.panel.large') && document.querySelector('#dock').offsetParent")
	}
}

// TestPageOfAnEmptyRun: a run without sensors says so, and takes one there.
func TestPageOfAnEmptyRun(t *testing.T) {
	ctx := browse(t, software()...)
	run := runWithPage(t, "sensors: []\n", nil, "--step", "--paused", "--api", "0")
	p := openTab(t, ctx, run.url)
	p.until("document.querySelector('#notice').innerText.includes('Nothing is published')")
	p.click("#tab-rig")
	eval[any](p, "void document.querySelector('#page-rig form').requestSubmit()")
	p.until("document.querySelector('#notice').hidden")
	p.until("document.querySelector('.tile .empty').textContent.includes('The run is paused and has no picture yet')")
	p.listeners("/added/image_raw", 1)
	require.Eventually(t, func() bool { // of ten steps in which a sensor comes it may see none
		p.press("N")
		return p.shown(".tile canvas") > 0
	}, patience, glance)
	assert.Empty(t, p.text(".tile .empty"))
}

// TestPageSaves: the cloud as PCD in the sensor's frame, and the view as a picture.
func TestPageSaves(t *testing.T) {
	p, _, _ := stepped(t)
	dir := t.TempDir()
	require.NoError(t, chromedp.Do(p.ctx, chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		return target.Call(ctx, "Page.setDownloadBehavior", map[string]any{"behavior": "allow", "downloadPath": dir}, nil)
	})))
	saved := func(button, pattern string) []byte {
		t.Helper()
		eval[any](p, fmt.Sprintf("void [...document.querySelectorAll('#scene .menu button')].find((b) => b.textContent === %q).click()", button))
		var list []string
		require.Eventually(t, func() bool {
			list, _ = filepath.Glob(filepath.Join(dir, pattern))
			return len(list) == 1
		}, patience, glance, "%s saves nothing", button)
		text, err := os.ReadFile(list[0])
		require.NoError(t, err)
		require.NoError(t, os.Remove(list[0]))
		return text
	}

	eval[any](p, fmt.Sprintf("void document.querySelector('%s [title=\"Save as PNG\"]').click()", tile(tagsOf)))
	var file []byte
	require.Eventually(t, func() bool {
		list, _ := filepath.Glob(filepath.Join(dir, "tags_image_raw_*.png"))
		if len(list) == 1 {
			file, _ = os.ReadFile(list[0])
		}
		return len(file) > 0
	}, patience, glance)
	tags, err := png.Decode(bytes.NewReader(file))
	require.NoError(t, err)
	assert.Equal(t, image.Rect(0, 0, 320, 240), tags.Bounds())
	assert.Equal(t, scene.TagRoads.Color(), pixelOf(tags, 10, 230), "the ground in its tag's colour")

	head, data, _ := bytes.Cut(saved("clouds as PCD", "lidar_points_*.pcd"), []byte("DATA binary\n"))
	assert.Contains(t, string(head), "FIELDS x y z intensity ring tag instance\n")
	count := eval[int](p, "Number(document.querySelector('.scene').dataset.points)")
	assert.Contains(t, string(head), fmt.Sprintf("POINTS %d\n", count))
	const each = 22 // bytes
	require.Len(t, data, each*count)
	lowest := math.Inf(1)
	for i := range count {
		lowest = min(lowest, float64(math.Float32frombits(binary.LittleEndian.Uint32(data[each*i+8:]))))
	}
	assert.InDelta(t, -2, lowest, 0.01, "the ground is two metres below the lidar")
	returns := eval[string](p, `import('/save.js').then(({ pcd }) => {
		const points = new Uint8Array(28);
		points.set([3, 9, 7], 7); // ring, tag, return
		points.set([3, 9, 0], 21);
		return new TextDecoder('latin1').decode(pcd({ message: { origin: [0, 0, 0], size: [1, 1, 1], points } }, 2));
	})`, chromedp.EvalAwaitPromise)
	assert.Contains(t, returns, "FIELDS x y z intensity ring tag instance return_type\nSIZE 4 4 4 4 1 1 4 1\nTYPE F F F F U U U U\nCOUNT 1 1 1 1 1 1 1 1\n")
	_, list, _ := strings.Cut(returns, "DATA binary\n")
	require.Len(t, list, 2*23)
	assert.Equal(t, []byte{3, 9, 7, 3, 9, 0}, []byte{list[16], list[17], list[22], list[39], list[40], list[45]})

	view := func() image.Image {
		picture, err := png.Decode(bytes.NewReader(saved("view as PNG", "view_*.png")))
		require.NoError(t, err)
		return picture
	}
	size := eval[[]int](p, "(({width, height}) => [width, height])(document.querySelector('.scene'))")
	assert.Greater(t, p.ofCloud(view, image.Rect(0, 0, size[0], size[1])), 400)
}

// TestPageBesideOtherViewers: a page has its data beside nine other clients of which three read nothing.
func TestPageBesideOtherViewers(t *testing.T) {
	p, run, _ := stepped(t)
	var read [6]atomic.Int32 // messages of those that read
	for i := range 9 {
		conn, _, err := websocket.Dial(t.Context(), strings.Replace(run.url, "http", "ws", 1)+"ws", nil) //nolint:bodyclose // it is the connection
		require.NoError(t, err)
		conn.SetReadLimit(-1)
		defer func() { _ = conn.CloseNow() }()
		for _, text := range []string{`{"token": "", "version": 1}`, `{"subscribe": "*"}`} {
			require.NoError(t, conn.Write(t.Context(), websocket.MessageText, []byte(text)))
		}
		if i < 3 {
			continue
		}
		go func() { // until the connection is closed
			for {
				kind, message, err := conn.Read(t.Context())
				if err != nil {
					return
				}
				if stream := binary.LittleEndian.Uint16(message); kind == websocket.MessageBinary && stream != 0 {
					read[i-3].Add(1)
					_ = conn.Write(t.Context(), websocket.MessageText, fmt.Appendf(nil, `{"credit": {"stream": %d, "n": 1}}`, stream))
				}
			}
		}()
	}
	before := make([]int32, len(read))
	for i := range read {
		before[i] = read[i].Load()
	}
	for range 5 {
		p.fire()
	}
	for i := range read {
		assert.Eventually(t, func() bool { return read[i].Load() >= before[i]+5 }, patience, glance, "viewer %d reads on beside those that don't", i)
	}
	assert.Regexp(t, `^10\.00\d m at `, p.valueAt(depths, 0.51, 0.51))
}

// TestPageKeepsButtons: a button that is pressed while new data comes is still there when it is let go.
func TestPageKeepsButtons(t *testing.T) {
	p, _, _ := stepped(t)
	eval[any](p, "void [...document.querySelectorAll('#page-topics button')].find((b) => b.textContent === '/imu/data').click()")
	p.listeners("/imu/data", 1)
	p.press("n")
	p.until("window.plot = document.querySelector('#page-message .field button')")
	eval[any](p, "window.told = document.querySelector('.fields').innerText; void 0")
	p.press("N")
	p.until("document.querySelector('.fields').innerText !== window.told")
	assert.True(t, eval[bool](p, "window.plot.isConnected"), "the button was replaced")
	eval[any](p, "void window.plot.click()")
	p.until("[...document.querySelectorAll('#page-plots .plot b')].some((b) => b.textContent.startsWith('/imu/data '))")
	p.click("#tab-topics")
	p.until("window.topic = document.querySelector('#page-topics button')")
	eval[any](p, "window.told = document.querySelector('.topics').innerText; void 0")
	p.press("N")
	p.until("document.querySelector('.topics').innerText !== window.told")
	assert.True(t, eval[bool](p, "window.topic.isConnected"), "the topic's button was replaced")
}

// TestPageHasKeys: the card lists them, and what one is bound to is done.
func TestPageHasKeys(t *testing.T) {
	p, _, _ := stepped(t)
	p.press("?")
	p.until("document.querySelector('dialog').open")
	assert.Contains(t, p.text("dialog"), "pause, continue")
	p.press("\x1b")
	p.until("!document.querySelector('dialog').open")
	p.press("c")
	p.until(`document.querySelector('[aria-label="Colour points by"]').value === 'ring'`)
	p.press("3")
	p.until("location.hash.includes('eye=top') && location.hash.includes('ring')")
	p.press("t")
	p.until("document.documentElement.dataset.theme")
	eval[any](p, `document.querySelector('[aria-label="Colour points by"]').focus(); void 0`)
	p.press("c") // also where a list or a box to tick has the focus
	p.until(`document.querySelector('[aria-label="Colour points by"]').value === 'tag'`)
	eval[any](p, "document.activeElement.blur(); void 0")
	p.press(" ")
	p.until("document.querySelector('[aria-label=Pause]')")
	p.press(" ")
	p.until("document.querySelector('[aria-label=Play]')")

	theme := eval[string](p, "document.documentElement.dataset.theme")
	p.click("#tab-losses")
	p.layer("grid")
	eval[any](p, "void document.querySelector('#pictures .tools input').click()")
	eval[any](p, fmt.Sprintf("void [...document.querySelectorAll('#pictures .menu label')].find((l) => l.textContent === %q).click()", depths))
	p.press("l")
	link := eval[string](p, "location.href")
	assert.Empty(t, p.text(".complaint"))
	require.NoError(t, chromedp.Do(p.ctx, chromedp.Navigate("about:blank")))
	p = openTab(t, p.ctx, link) // somebody else's, who was sent the link
	p.until(fmt.Sprintf("document.querySelector('%s')", tile(tagsOf)))
	assert.Equal(t, theme, eval[string](p, "document.documentElement.dataset.theme"))
	assert.Equal(t, "tag", eval[string](p, `document.querySelector('[aria-label="Colour points by"]').value`))
	assert.Equal(t, "true", eval[string](p, "document.querySelector('#tab-losses').ariaSelected"))
	assert.True(t, eval[bool](p, "document.querySelector('#pictures .tools input').checked"), "boxes over pictures")
	assert.True(t, eval[bool](p, fmt.Sprintf("document.querySelector('%s') === null", tile(depths))))
	p.until("[...document.querySelectorAll('#scene .menu label')].find((l) => l.textContent === 'grid')?.firstChild.checked === false")
	p.until("location.hash.includes('eye=top')")
}

// named are the roles of elements that a reader of the screen tells of by their names.
var named = map[string]bool{
	"button": true, "combobox": true, "checkbox": true, "textbox": true, "spinbutton": true, "tab": true, "tabpanel": true, "img": true, "image": true,
	"splitter": true, "listbox": true, "option": true, "dialog": true, "region": true, "timer": true, "DisclosureTriangle": true,
}

// TestPageHasNames: whatever can be pressed, chosen or looked at has a name for readers of the screen, in each panel.
func TestPageHasNames(t *testing.T) {
	p, _, _ := stepped(t)
	type text struct {
		Value string `json:"value"`
	}
	var tree struct {
		Nodes []struct {
			Ignored bool `json:"ignored"`
			Role    text `json:"role"`
			Name    text `json:"name"`
		} `json:"nodes"`
	}
	met := map[string]int{}
	for _, tab := range []string{"topics", "plots", "rig", "actors", "losses", "message"} {
		p.click("#tab-" + tab)
		eval[any](p, "document.querySelectorAll('details').forEach((d) => { d.open = true; })")
		p.until(fmt.Sprintf("document.querySelector('#page-%s').childElementCount > 0", tab))
		require.NoError(t, chromedp.Do(p.ctx, chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
			return target.Call(ctx, "Accessibility.getFullAXTree", nil, &tree)
		})))
		for _, node := range tree.Nodes {
			if role := node.Role.Value; !node.Ignored && named[role] {
				met[role]++
				assert.NotEmpty(t, strings.TrimSpace(node.Name.Value), "%s: a %s has no name", tab, role)
			}
		}
	}
	for _, role := range []string{"button", "combobox", "checkbox", "textbox", "spinbutton", "tab", "tabpanel", "option"} {
		assert.NotZero(t, met[role], "no %s was met: %v", role, met)
	}
}

var pagePictures = flag.String("page-pictures", "", "the folder for the docs' pictures of the live page; `make pictures` gives it")

// TestPagePictures makes the docs' pictures of the live page: of the demo's first seconds.
func TestPagePictures(t *testing.T) {
	if *pagePictures == "" {
		t.Skip("it makes pictures for the docs: give -page-pictures FOLDER")
	}
	ctx := browse(t, software()...)
	run := runWithPage(t, string(demoYAML), nil, "--scene", "city", "--step", "--paused", "--api", "0")
	for _, c := range []struct{ name, link, scheme string }{ // in this order: each is two seconds later
		{"page", "#pictureboxes=on&panels={\"tab\":\"plots\"}", "dark"},
		{"page-light", "#look={\"coloring\":\"tag\",\"decay\":2}&eye=top,0,1.57,70,0,0,0&panels={\"tab\":\"rig\",\"down\":60}&sensor=lidar", "light"},
	} {
		require.NoError(t, chromedp.Do(ctx, chromedp.EmulateViewport(1440, 900), chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
			return target.Call(ctx, "Emulation.setEmulatedMedia", map[string]any{
				"features": []map[string]string{{"name": "prefers-color-scheme", "value": c.scheme}},
			}, nil)
		}), chromedp.Navigate("about:blank")))
		p := openTab(t, ctx, run.url+c.link)
		p.listeners("/front/image_raw", 1)
		for range 20 { // two seconds
			before := p.shown(tile("/front/image_raw") + " canvas")
			p.press("N")
			p.until(fmt.Sprintf("Number(document.querySelector('%s canvas')?.dataset.frames) > %d", tile("/front/image_raw"), before))
		}
		p.until("Number(document.querySelector('.scene').dataset.points) > 0")
		file, err := os.Create(filepath.Join(*pagePictures, c.name+".jpg"))
		require.NoError(t, err)
		require.NoError(t, jpeg.Encode(file, p.screen(), &jpeg.Options{Quality: 88}))
		require.NoError(t, file.Close())
	}
}

// drawing draws a cloud of so many points again and again in the page's own way, at 1280 x 720 with points of two pixels. It
// reads a pixel each time, so that the picture is complete, and returns the median in milliseconds.
const drawing = `(async (count) => {
  const [{ Painter, bytesOfPoint }, { Orbit }] = await Promise.all([import('/gl.js'), import('/orbit.js')]);
  const canvas = new OffscreenCanvas(1280, 720);
  const painter = new Painter(canvas);
  const points = new Uint8Array(count * bytesOfPoint);
  let state = 1; // of a generator of random numbers: the same cloud each time
  for (let i = 0; i < points.length; i++) points[i] = (state = (state * 48271) % 0x7fffffff) >> 8;
  const look = { toScreen: new Orbit().matrix(1280 / 720, [0, 0, 0]), origin: [-40, -40, 0], size: [80, 80, 10], height: [0, 0, 1, 0], by: 1, pixels: 2, fade: 1 };
  const cloud = painter.upload(points);
  const times = [];
  for (let i = 0; i < 12; i++) {
    const begin = performance.now();
    painter.upload(points, cloud);
    painter.begin(1280, 720, [0, 0, 0]);
    painter.drawCloud(cloud, count, look);
    painter.gl.readPixels(0, 0, 1, 1, painter.gl.RGBA, painter.gl.UNSIGNED_BYTE, new Uint8Array(4));
    times.push(performance.now() - begin);
  }
  return times.slice(2).sort((a, b) => a - b)[5];
})`

// BenchmarkPageDrawsCloud measures how long the page takes to draw a cloud in WebGL on the CPU, its upload included.
func BenchmarkPageDrawsCloud(b *testing.B) {
	files, err := page.New()
	require.NoError(b, err)
	server := httptest.NewServer(files)
	b.Cleanup(server.Close)
	for _, count := range []int{20_000, 200_000, 1_000_000} {
		b.Run(strconv.Itoa(count), func(b *testing.B) {
			ctx := browse(b, software()...)
			require.NoError(b, chromedp.Do(ctx, chromedp.Navigate(server.URL+"/icon.svg"))) // without the page itself, which draws, too
			for range b.N {
				median, err := chromedp.Run(ctx, chromedp.Evaluate[float64](fmt.Sprintf("%s(%d)", drawing, count), chromedp.EvalAwaitPromise))
				require.NoError(b, err)
				b.ReportMetric(median, "ms/frame")
			}
		})
	}
}
