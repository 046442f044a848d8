package stream

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/raybridge/raybridge/internal/fault"
	"github.com/raybridge/raybridge/world"
)

// ErrNoAPI says that the address isn't that of an API whose clients may step.
var ErrNoAPI = errors.New("not a raybridge API")

// Upgrade is the protocol that a client of the API asks for, of path UpgradePath.
const (
	Upgrade     = "raybridge-stream"
	UpgradePath = "/v1/stream"
)

// maxUpgrade bounds the API's answer to an upgrade, bytes.
const maxUpgrade = 16 << 10

// dial opens a connection as an address says: HOST:PORT of a stream server, http://HOST:PORT or
// unix:PATH of an API.
func (o *Options) dial(ctx context.Context, address string) (net.Conn, error) {
	dialer := net.Dialer{Timeout: 5 * time.Second}
	path, local := strings.CutPrefix(address, "unix:")
	host, remote := strings.CutPrefix(address, "http://")
	switch {
	case local:
		return o.upgraded(dialer.DialContext(ctx, "unix", path))
	case remote:
		return o.upgraded(dialer.DialContext(ctx, "tcp", strings.TrimSuffix(host, "/")))
	}
	return dialer.DialContext(ctx, "tcp", address)
}

// upgraded asks for the stream protocol on a connection that speaks HTTP.
func (o *Options) upgraded(conn net.Conn, err error) (net.Conn, error) {
	if err != nil {
		return nil, err
	}
	if err := o.askUpgrade(conn); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}

func (o *Options) askUpgrade(conn net.Conn) error {
	host := "localhost"
	if tcp, ok := conn.RemoteAddr().(*net.TCPAddr); ok {
		host = tcp.String()
	}
	token := ""
	if o.Token != "" {
		token = "Authorization: Bearer " + o.Token + "\r\n"
	}
	if err := conn.SetDeadline(time.Now().Add(greetingWait)); err != nil {
		return err
	}
	if _, err := fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: %s\r\nConnection: Upgrade\r\nUpgrade: %s\r\n%s\r\n", UpgradePath, host, Upgrade, token); err != nil {
		return err
	}
	// What follows the answer is the stream protocol's: nothing of it is read here.
	var answer []byte
	for b := make([]byte, 1); !bytes.HasSuffix(answer, []byte("\r\n\r\n")); {
		if len(answer) == maxUpgrade {
			return fmt.Errorf("%w: its answer is longer than %d bytes", ErrNoAPI, maxUpgrade)
		}
		if _, err := io.ReadFull(conn, b); err != nil {
			return fmt.Errorf("%w: no answer: %w", ErrNoAPI, err)
		}
		answer = append(answer, b[0])
	}
	response, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(answer)), nil) //nolint:bodyclose // only the head was read
	switch {
	case err != nil:
		return fmt.Errorf("%w: %w", ErrNoAPI, err)
	case response.StatusCode != http.StatusSwitchingProtocols:
		why := make([]byte, 512)
		n, _ := io.ReadFull(conn, why[:max(0, min(int(response.ContentLength), len(why)))])
		return fmt.Errorf("%w: it answers %s %s", ErrNoAPI, response.Status, bytes.TrimSpace(why[:n]))
	}
	return conn.SetDeadline(time.Time{})
}

// Step moves the world that an API's run has, as pipeline.StepTo does, and returns when it is
// there. With the frame's Wait of Delivered all data of the step has been received by then, and
// callbacks may still run. The client owns the run from its first step to the end of its
// connection. An error wraps one of package world's where the frame or the run is at fault, in a
// *world.ActorError where one actor is. One that wraps world.ErrUnfinished comes with a result: the frame was
// applied, and the next step begins at the result's Stamp. After a connection that broke it isn't known whether
// the step was made. ctx ends the wait alone.
func (c *Client) Step(ctx context.Context, f *world.Frame) (world.StepResult, error) {
	d := drafts.Get().(*draft)
	defer drafts.Put(d)
	d.payload = d.step(d.payload[:0], f)
	result, err := c.ask(ctx, d.payload)
	switch {
	case err == nil, isServers(err):
	case f.To != "":
		err = fmt.Errorf("step to the next firing of %s: %w", f.To, err)
	default:
		err = fmt.Errorf("step to %s: %w", fault.Seconds(int64(f.Until)), err)
	}
	return result, err
}

// Reset takes the run back to its beginning, with another seed of the sensors' noise, as
// pipeline.Reset does. Its errors are Step's.
func (c *Client) Reset(ctx context.Context, seed uint64) (world.StepResult, error) {
	result, err := c.ask(ctx, appendReset(nil, seed))
	if err != nil && !isServers(err) {
		err = fmt.Errorf("reset: %w", err)
	}
	return result, err
}

// draft is a step as it is written; its memory is used again.
type draft struct {
	stepWriter
	payload []byte
}

var drafts = sync.Pool{New: func() any { return new(draft) }}

// isServers reports whether an error is in the server's words, which say what failed.
func isServers(err error) bool {
	var told *stepError
	return errors.As(err, &told)
}

// ask sends a Step, of which it keeps nothing, and waits for its answer.
func (c *Client) ask(ctx context.Context, step []byte) (world.StepResult, error) {
	c.mu.Lock()
	l := c.link
	c.mu.Unlock()
	switch {
	case c.ctx.Err() != nil:
		return world.StepResult{}, ErrClientClosed
	case l == nil:
		return world.StepResult{}, errors.New("the client is not connected")
	}
	answer, err := l.step(step)
	if err != nil {
		return world.StepResult{}, err
	}
	select {
	case a := <-answer:
		return a.result, a.err
	case <-ctx.Done():
		return world.StepResult{}, ctx.Err()
	case <-l.ended:
	}
	select {
	case a := <-answer: // it was the last thing to come
		return a.result, a.err
	default:
		return world.StepResult{}, errors.New("the connection broke")
	}
}

// stepAnswer is what the server answers to a step.
type stepAnswer struct {
	result world.StepResult
	err    error
}

// step sends a step, whose answer comes on the channel.
func (l *link) step(payload []byte) (<-chan stepAnswer, error) {
	if len(payload) > maxStep {
		return nil, fmt.Errorf("%w: %d bytes, the most are %d", ErrTooLarge, len(payload), maxStep)
	}
	answer := make(chan stepAnswer, 1)
	l.stepping.Lock() // steps are answered in the order in which they are sent
	defer l.stepping.Unlock()
	l.mu.Lock()
	l.steps = append(l.steps, answer)
	l.mu.Unlock()
	l.write(controlStep, payload)
	return answer, nil
}

// stepped hands a step's answer to who waits for it.
func (l *link) stepped(payload []byte) error {
	r, err := readStepResult(payload)
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.steps) == 0 {
		return fmt.Errorf("%w: an answer to no step", ErrMalformed)
	}
	l.steps[0] <- stepAnswer{r, err}
	l.steps = slices.Delete(l.steps, 0, 1)
	return nil
}
