package cybertest

import (
	"encoding/binary"
	"fmt"
	"net"
	"slices"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"
)

// chunk is how much is read at once.
const chunk = 1 << 20

// client is one connection. Its maps and its pending data are guarded by the server's mu.
type client struct {
	server  *Server
	conn    net.Conn
	readers map[string]int // how often it has registered a reader, by channel
	writers map[string]protoreflect.MessageDescriptor
	pending []byte
}

// wait waits while the server stalls, and until ready says so; false is the client's
// end. The server's mu must be held.
func (c *client) wait(ready func() bool) bool {
	for c.server.clients[c] && (c.server.stalled || !ready()) {
		c.server.changed.Wait()
	}
	return c.server.clients[c]
}

// read takes ops until the connection ends or one is unknown.
func (c *client) read() {
	s := c.server
	defer func() {
		_ = c.conn.Close() // a goodbye: only Kill resets
		s.mu.Lock()
		defer s.mu.Unlock()
		s.drop(c)
	}()
	var data []byte
	for {
		s.mu.Lock()
		alive := c.wait(func() bool { return true })
		s.mu.Unlock()
		if !alive {
			return
		}
		data = slices.Grow(data, chunk)
		n, err := c.conn.Read(data[len(data) : len(data)+chunk])
		data = data[:len(data)+n]
		rest, ok := c.handle(data)
		if err != nil || !ok {
			return
		}
		data = data[:copy(data, rest)]
	}
}

// handle does all that is whole and returns the rest; false ends the client.
func (c *client) handle(data []byte) (rest []byte, ok bool) {
	s := c.server
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		if !c.wait(func() bool { return true }) {
			return nil, false
		}
		o, rest, ok, err := cutOp(data)
		if err != nil {
			s.logf("%v: client stopped", err)
			return nil, false
		}
		if !ok {
			return data, true
		}
		data = rest
		c.do(o)
	}
}

// do does one op; the server's mu must be held.
func (c *client) do(o op) {
	s := c.server
	switch o.code {
	case opRegister:
		for _, file := range o.files {
			if err := s.types.register(file); err != nil {
				s.logf("%v", err)
			}
		}
	case opAddReader:
		c.readers[o.channel]++
	case opAddWriter:
		typ := s.types.find(string(o.body))
		if typ == nil {
			s.logf("cannot find the descriptor of %q for channel %q", o.body, o.channel)
			return
		}
		c.writers[o.channel] = typ
	case opPublish:
		if s.writer(o.channel) == nil {
			s.logf("no writer on channel %q, message dropped", o.channel)
			return
		}
		s.received[o.channel]++
		s.last[o.channel] = append(s.last[o.channel][:0], o.body...)
		if s.config.Received != nil {
			s.config.Received(o.channel, o.body)
		}
		s.forward(o.channel, o.body)
	}
}

// write sends what is pending: one buffer is being written while another fills.
func (c *client) write() {
	s := c.server
	var writing []byte
	for {
		s.mu.Lock()
		alive := c.wait(func() bool { return len(c.pending) > 0 })
		writing, c.pending = c.pending, writing[:0]
		s.mu.Unlock()
		if !alive {
			return
		}
		if _, err := c.conn.Write(writing); err != nil {
			_ = c.conn.Close()
			return
		}
	}
}

// Numbers of the ops.
const (
	opRegister  = 1
	opAddReader = 2
	opAddWriter = 3
	opPublish   = 4
)

// op is one whole op of a client.
type op struct {
	code byte
	// files are op 1's, channel and body (the type or the message) the others'.
	files   [][]byte
	channel string
	body    []byte
}

// cutOp cuts the first op off what a client has sent. ok is false while it isn't whole;
// an error says that it is none.
func cutOp(data []byte) (o op, rest []byte, ok bool, err error) {
	if len(data) == 0 {
		return op{}, data, false, nil
	}
	o.code = data[0]
	rest = data[1:]
	switch o.code {
	case opRegister:
		if len(rest) < 4 {
			return op{}, data, false, nil
		}
		count := binary.LittleEndian.Uint32(rest)
		rest = rest[4:]
		for range count {
			var file []byte
			if file, rest, ok = cutField(rest); !ok {
				return op{}, data, false, nil
			}
			o.files = append(o.files, file)
		}
	case opAddReader, opAddWriter, opPublish:
		var channel []byte
		if channel, rest, ok = cutField(rest); !ok {
			return op{}, data, false, nil
		}
		if o.body, rest, ok = cutField(rest); !ok {
			return op{}, data, false, nil
		}
		o.channel = string(channel)
	default:
		return op{}, data, false, fmt.Errorf("unknown op %d", o.code)
	}
	return o, rest, true, nil
}

// cutField cuts a length and so many bytes off.
func cutField(data []byte) (field, rest []byte, ok bool) {
	if len(data) < 4 {
		return nil, data, false
	}
	n := uint64(binary.LittleEndian.Uint32(data))
	if uint64(len(data)-4) < n {
		return nil, data, false
	}
	return data[4 : 4+n], data[4+n:], true
}

// publishOp returns a message as it is sent to a client.
func publishOp(channel string, message []byte) []byte {
	b := make([]byte, 0, 9+len(channel)+len(message))
	b = append(b, opPublish)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(channel)))
	b = append(b, channel...)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(message)))
	return append(b, message...)
}

// types are the messages whose descriptors clients have sent. It knows no others, in
// particular none that are compiled into the program.
type types struct{ files protoregistry.Files }

// register adds one file. A file that is known already is left as it is.
func (t *types) register(data []byte) error {
	var file descriptorpb.FileDescriptorProto
	if err := proto.Unmarshal(data, &file); err != nil {
		return fmt.Errorf("a descriptor that can't be read: %w", err)
	}
	if _, err := t.files.FindFileByPath(file.GetName()); err == nil {
		return nil
	}
	built, err := protodesc.NewFile(&file, &t.files)
	if err != nil {
		return fmt.Errorf("descriptor of %q: %w", file.GetName(), err)
	}
	return t.files.RegisterFile(built)
}

// find returns the type with the full name, nil for one that isn't known.
func (t *types) find(name string) protoreflect.MessageDescriptor {
	d, err := t.files.FindDescriptorByName(protoreflect.FullName(name))
	if err != nil {
		return nil
	}
	message, _ := d.(protoreflect.MessageDescriptor)
	return message
}

// decode reads a message of a type; one with a field that its type lacks is an error.
func decode(typ protoreflect.MessageDescriptor, data []byte) (*dynamicpb.Message, error) {
	m := dynamicpb.NewMessage(typ)
	if err := proto.Unmarshal(data, m); err != nil {
		return nil, err
	}
	if unknown := m.GetUnknown(); len(unknown) > 0 {
		return nil, fmt.Errorf("%d bytes of unknown fields", len(unknown))
	}
	return m, nil
}
