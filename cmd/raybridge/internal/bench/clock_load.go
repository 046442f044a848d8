package bench

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"sync"

	"github.com/raybridge/raybridge/dispatch"
	"github.com/raybridge/raybridge/sensors/camera"
	"github.com/raybridge/raybridge/sensors/sample"
)

// The pictures that the load makes and converts.
const loadWidth, loadHeight = 1280, 720

// clockLoad keeps every core busy until it is closed: workers that convert
// pictures, a goroutine that gives them some, and a camera that captures.
type clockLoad struct {
	dispatcher *dispatch.Dispatcher
	stage      *stage  // nil without GL
	rig        *rigged // nil without GL
	software   bool    // the captures are made by the cores

	cancel context.CancelFunc
	group  sync.WaitGroup
	failed error // of the camera; written before group is done
}

// startLoad loads the machine; when it returns, the camera's shaders are compiled.
func startLoad(ctx context.Context, cfg *Config, report *Report) (*clockLoad, error) {
	l := &clockLoad{}
	if err := l.openCamera(ctx, cfg, report); err != nil {
		return nil, errors.Join(err, l.closeCamera())
	}
	ctx, l.cancel = context.WithCancel(ctx)
	l.dispatcher = dispatch.New(dispatch.Config{Context: ctx, Logger: slog.New(slog.DiscardHandler)})
	pictures := dispatch.NewTopic(l.dispatcher, "bench", new(swapper).publish, dispatch.TopicConfig{})
	l.group.Go(func() {
		picture := newPicture()
		for ctx.Err() == nil {
			pictures.TryQueue(picture) // waits while the queue is full, until ctx ends
		}
	})
	if l.rig != nil {
		l.group.Go(func() {
			for ctx.Err() == nil && l.failed == nil {
				if _, err := l.rig.run(ctx, inFlight); ctx.Err() == nil {
					l.failed = err
				}
			}
		})
	}
	return l, nil
}

// openCamera makes the camera and its first captures.
func (l *clockLoad) openCamera(ctx context.Context, cfg *Config, report *Report) error {
	if cfg.GL == nil {
		return nil
	}
	l.software = cfg.GL.Info().Software
	s, err := cfg.load(ctx, sensorTriangles)
	if err != nil {
		return err
	}
	report.addScene(describeScene(cfg.Source.Name, s))
	if l.stage, err = openStage(ctx, cfg.GL, s); err != nil {
		return err
	}
	l.rig, err = l.stage.rigUp(ctx, []member{{
		name: "camera", definition: camera.RGB, mount: cameraMount,
		settings: map[string]any{"image_size_x": loadWidth, "image_size_y": loadHeight, "fov": cameraFov},
	}})
	if err != nil {
		return err
	}
	_, err = l.rig.run(ctx, warmUp)
	return err
}

// describe says what the load is.
func (l *clockLoad) describe() string {
	text := fmt.Sprintf("%d workers converting", min(runtime.GOMAXPROCS(0), runtime.NumCPU()))
	switch {
	case l.rig == nil:
		return text + ", no OpenGL"
	case l.software:
		return text + ", software GL rendering"
	}
	return text + "; the camera is the GPU's load, not the cores'"
}

// close ends the load, and returns what kept the camera from capturing.
func (l *clockLoad) close() error {
	l.cancel()
	err := l.dispatcher.Close(context.Background())
	l.group.Wait()
	return errors.Join(err, l.failed, l.closeCamera())
}

func (l *clockLoad) closeCamera() (err error) {
	if l.rig != nil {
		err = l.rig.close()
	}
	if l.stage != nil {
		l.stage.close()
	}
	return err
}

// newPicture returns an RGB picture whose pages are all its own.
func newPicture() *sample.Image {
	m := &sample.Image{
		Width: loadWidth, Height: loadHeight, Step: 3 * loadWidth, Encoding: sample.EncodingRGB8,
		Data: make([]byte, 3*loadWidth*loadHeight),
	}
	for i := range m.Data {
		m.Data[i] = byte(i)
	}
	return m
}

// swapper is a publisher that converts pictures from RGB to BGR.
type swapper struct{ buffers sync.Pool }

func (s *swapper) publish(_ context.Context, m *sample.Image) error {
	buffer, ok := s.buffers.Get().(*[]byte)
	if !ok {
		buffer = new([]byte)
	}
	*buffer = swapRedBlue((*buffer)[:0], m.Data)
	s.buffers.Put(buffer)
	return nil
}

// swapRedBlue appends pixels of three bytes with their first and last exchanged.
func swapRedBlue(dst, src []byte) []byte {
	dst = slices.Grow(dst, len(src))[:len(dst)+len(src)]
	out := dst[len(dst)-len(src):]
	for i := 0; i+2 < len(src); i += 3 {
		out[i], out[i+1], out[i+2] = src[i+2], src[i+1], src[i]
	}
	return dst
}
