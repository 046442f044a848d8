package sumo

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"net"
	"time"

	"github.com/raybridge/raybridge/memory"
	"github.com/raybridge/raybridge/world/snapshot"
)

// TraCI's commands, variables and types that we use. (https://sumo.dlr.de/docs/TraCI/Protocol.html)
const (
	cmdVersion            = 0x00
	cmdStep               = 0x02
	cmdOrder              = 0x03
	cmdClose              = 0x7F
	cmdContext            = 0x89 // subscribe to what is around a junction
	cmdGetLight           = 0xA2
	cmdGetVehicle         = 0xA4
	cmdGetType            = 0xA5
	cmdGetJunction        = 0xA9
	cmdGetSimulation      = 0xAB
	cmdGetPerson          = 0xAE
	cmdSetVehicle         = 0xC4
	cmdWatchLight         = 0xD2
	cmdSubscribe          = 0xDB // to variables of the simulation
	answer                = 0x10 // is added to a command's id
	varIDs                = 0x00
	varState              = 0x20
	varSlope              = 0x36
	varSignals            = 0x5B
	varPosition           = 0x39
	varSpeed              = 0x40
	varTopSpeed           = 0x41
	varAngle              = 0x43
	varLength             = 0x44
	varColor              = 0x45
	varClass              = 0x49
	varWidth              = 0x4D
	varType               = 0x4F
	varTime               = 0x66
	varStepLength         = 0x7B
	varExpected           = 0x7D
	varAdd                = 0x85
	varMove               = 0xB4
	varHeight             = 0xBC
	varRidesIn            = 0xC3
	typePosition          = 0x03
	typeUnsigned          = 0x07
	typeSigned            = 0x08
	typeInteger           = 0x09
	typeDouble            = 0x0B
	typeString            = 0x0C
	typeList              = 0x0E
	typeCompound          = 0x0F
	typeColor             = 0x11
	apiVersion            = 20
	absent                = -1073741824.0 // in place of a number: there is none
	everything            = 1e6           // metres around a junction
	longestMessage        = 16 << 20      // has 65,536 vehicles
	longestName           = 1 << 10
	leastAnswer           = 7 // bytes of a status
	goodbye               = time.Second
	statusOK         byte = 0
)

// conversation is one client's talk with SUMO: a message of commands, then one of answers.
// It is one goroutine's. An error of the connection is the last word: the two sides no longer
// know where they are.
type conversation struct {
	conn    net.Conn
	in, out []byte         // the last message of either side
	memory  *memory.Budget // of in
	failed  error
}

// say begins a message.
func (c *conversation) say() { c.out = append(c.out[:0], 0, 0, 0, 0) }

// command adds one to the message.
func (c *conversation) command(id byte, payload []byte) {
	if n := 2 + len(payload); n <= math.MaxUint8 {
		c.out = append(c.out, byte(n))
	} else {
		c.out = binary.BigEndian.AppendUint32(append(c.out, 0), uint32(n+4))
	}
	c.out = append(append(c.out, id), payload...)
}

// exchange sends the message and returns SUMO's, which may be read until the next. ctx's end
// ends the conversation.
func (c *conversation) exchange(ctx context.Context) (*reader, error) {
	if c.failed != nil {
		return nil, c.failed
	}
	stop := context.AfterFunc(ctx, func() { _ = c.conn.SetDeadline(time.Unix(1, 0)) })
	err := c.transfer()
	if !stop() {
		err = fmt.Errorf("wait for SUMO: %w", ctx.Err())
	}
	if err != nil {
		c.failed = err
		return nil, err
	}
	return &reader{message: c.in}, nil
}

func (c *conversation) transfer() error {
	binary.BigEndian.PutUint32(c.out, uint32(len(c.out)))
	if _, err := c.conn.Write(c.out); err != nil {
		return lost(err)
	}
	var head [4]byte
	if _, err := io.ReadFull(c.conn, head[:]); err != nil {
		return lost(err)
	}
	n := int64(binary.BigEndian.Uint32(head[:])) - int64(len(head))
	if n < leastAnswer || n > longestMessage {
		return fmt.Errorf("%w: a message of %d bytes, want %d to %d", ErrMalformed, n, leastAnswer, longestMessage)
	}
	if more := n - int64(cap(c.in)); more > 0 {
		if err := c.memory.Take("a message of SUMO", more); err != nil {
			return err
		}
		c.in = make([]byte, n)
	}
	c.in = c.in[:n]
	if _, err := io.ReadFull(c.conn, c.in); err != nil {
		return lost(err)
	}
	return nil
}

// lost says what a broken connection means. It hides io.EOF, which ends a world in good order.
func lost(err error) error {
	return fmt.Errorf("%w: the connection broke: %s", ErrEnded, err.Error())
}

// ask sends one command and reads its status.
func (c *conversation) ask(ctx context.Context, id byte, payload []byte) (*reader, error) {
	c.say()
	c.command(id, payload)
	r, err := c.exchange(ctx)
	if err != nil {
		return nil, err
	}
	return r, r.status(id)
}

// get asks for one variable.
func (c *conversation) get(ctx context.Context, q query) (value, error) {
	r, err := c.ask(ctx, q.command, q.payload())
	if err != nil {
		return value{}, err
	}
	v := r.answer(q)
	return v, r.err
}

// close takes leave if the two still understand each other, and lets go of the connection.
func (c *conversation) close() {
	ctx, cancel := context.WithTimeout(context.Background(), goodbye)
	defer cancel()
	_, _ = c.ask(ctx, cmdClose, nil)
	c.failed = net.ErrClosed
	_ = c.conn.Close()
	c.memory.Give(int64(cap(c.in)))
	c.in = nil
}

// query is a question for one variable of one object.
type query struct {
	command, variable byte
	object            string
}

func (q query) payload() []byte { return appendText([]byte{q.variable}, q.object) }

func appendText(b []byte, s string) []byte {
	return append(binary.BigEndian.AppendUint32(b, uint32(len(s))), s...)
}

func appendDouble(b []byte, v float64) []byte {
	return binary.BigEndian.AppendUint64(b, math.Float64bits(v))
}

// appendCompound appends several values, each with its type. A byte, an int, a float64 and a
// string have TraCI's type of that name.
func appendCompound(b []byte, values ...any) []byte {
	b = binary.BigEndian.AppendUint32(append(b, typeCompound), uint32(len(values)))
	for _, v := range values {
		switch v := v.(type) {
		case byte:
			b = append(b, typeSigned, v)
		case int:
			b = binary.BigEndian.AppendUint32(append(b, typeInteger), uint32(v))
		case float64:
			b = appendDouble(append(b, typeDouble), v)
		case string:
			b = appendText(append(b, typeString), v)
		}
	}
	return b
}

// reader walks a message. Its first error stays, and everything after it is 0.
type reader struct {
	message []byte
	at      int
	err     error
}

func (r *reader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf("%w at byte %d: %s", ErrMalformed, r.at, fmt.Sprintf(format, args...))
	}
}

// take returns the next n bytes, which are the message's, or nil.
func (r *reader) take(n int) []byte {
	if r.err != nil {
		return nil
	}
	if n < 0 || n > len(r.message)-r.at {
		r.fail("%d bytes are announced, %d are there", n, len(r.message)-r.at)
		return nil
	}
	r.at += n
	return r.message[r.at-n : r.at]
}

func (r *reader) byte() byte {
	if b := r.take(1); b != nil {
		return b[0]
	}
	return 0
}

func (r *reader) int() int {
	if b := r.take(4); b != nil {
		return int(int32(binary.BigEndian.Uint32(b)))
	}
	return 0
}

func (r *reader) double() float64 {
	if b := r.take(8); b != nil {
		return math.Float64frombits(binary.BigEndian.Uint64(b))
	}
	return 0
}

func (r *reader) text() []byte { return r.take(r.int()) }

// name is text that is kept.
func (r *reader) name() []byte {
	text := r.text()
	if len(text) > longestName {
		r.fail("a name of %d bytes, the limit is %d", len(text), longestName)
		return nil
	}
	return text
}

// count reads how many items follow, of at least so many bytes each.
func (r *reader) count(least int) int {
	n := r.int()
	if n < 0 || n > (len(r.message)-r.at)/least {
		r.fail("%d items are announced, %d bytes are there", n, len(r.message)-r.at)
	}
	if r.err != nil {
		return 0
	}
	return n
}

// enter begins a command. It ends before byte end.
func (r *reader) enter() (id byte, end int) {
	from := r.at
	n := int(r.byte())
	if n == 0 {
		n = r.int()
	}
	id = r.byte()
	if end = from + n; end < r.at || end > len(r.message) {
		r.fail("a command of %d bytes", n)
	}
	return id, end
}

// leave ends a command, of which later versions may have more than we know.
func (r *reader) leave(end int) {
	if r.at > end {
		r.fail("a command of %d bytes too few", r.at-end)
	}
	if r.err == nil {
		r.at = end
	}
}

// status reads what became of a command. ErrRefused has SUMO's own words.
func (r *reader) status(id byte) error {
	have, end := r.enter()
	result, words := r.byte(), r.text()
	r.leave(end)
	switch {
	case r.err != nil:
	case have != id:
		r.fail("the status of command 0x%02x, want 0x%02x", have, id)
	case result != statusOK:
		return fmt.Errorf("%w (command 0x%02x): %s", ErrRefused, id, words)
	}
	return r.err
}

// answer reads a variable that was asked for.
func (r *reader) answer(q query) value {
	id, end := r.enter()
	if variable := r.byte(); id != q.command+answer || variable != q.variable {
		r.fail("variable 0x%02x of 0x%02x, want 0x%02x of 0x%02x", variable, id, q.variable, q.command+answer)
	}
	r.text()
	v := r.value()
	r.leave(end)
	return v
}

// value is a variable's: numbers, or text that is the message's. A list has all of its texts, and the first.
type value struct {
	number [3]float64
	text   []byte
	list   [][]byte
}

func (r *reader) value() (v value) {
	switch kind := r.byte(); kind {
	case typeUnsigned, typeSigned:
		v.number[0] = float64(r.byte())
	case typeInteger:
		v.number[0] = float64(r.int())
	case typeDouble:
		v.number[0] = r.double()
	case typeColor:
		v.number = [3]float64{float64(r.byte()), float64(r.byte()), float64(r.byte())}
		r.byte() // how opaque it is
	case typePosition:
		v.number = [3]float64{r.double(), r.double(), r.double()}
	case typeString:
		v.text = r.text()
	case typeList:
		for range r.count(4) {
			if text := r.text(); len(v.list) < snapshot.Most {
				v.list = append(v.list, text)
			}
		}
		if len(v.list) > 0 {
			v.text = v.list[0]
		}
	default:
		r.fail("a value of type 0x%02x", kind)
	}
	return v
}

// subscribed reads a variable of a subscription. SUMO says in its place why it has none.
func (r *reader) subscribed() (variable byte, v value, ok bool) {
	variable = r.byte()
	ok = r.byte() == statusOK
	return variable, r.value(), ok
}
