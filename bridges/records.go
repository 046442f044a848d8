package bridges

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"github.com/raybridge/raybridge/bridges/transport"
	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/simtime"
)

// Row is a type that a bridge of NewFile, NewServer or NewClient carries: what Write returns, or
// a Codec that has Append.
type Row interface {
	// Register declares the type on the bridge.
	Register(p *Plugin) error
}

// Write makes the row of samples T, a pointer to a type of package sample or a type of your
// own. wire names the type in lists. record appends one message, as it is to stand in the
// file or on the connection, to dst, and returns the result. It is called from any
// goroutine, and keeps and changes nothing of the message.
func Write[T simtime.Stamped](wire string, record func(dst []byte, topic string, msg T) []byte) Row {
	return writtenRow[T]{wire, record}
}

type writtenRow[T simtime.Stamped] struct {
	wire   string
	record func(dst []byte, topic string, msg T) []byte
}

// Register declares the type on a bridge of records.
func (r writtenRow[T]) Register(p *Plugin) error {
	return RegPublisher(p, r.wire, func(b recordBridge, topic *PublishedTopic) (Publisher[T], error) {
		send, err := b.open(topic)
		if err != nil {
			return nil, err
		}
		return func(ctx context.Context, msg T) error {
			if err := ctx.Err(); err != nil {
				return err
			}
			return send(ctx, func(dst []byte) ([]byte, error) { return r.record(dst, topic.Name, msg), nil })
		}, nil
	})
}

// NewFile makes a bridge that writes what its rows make of each message to one file, a record
// after another. "NAME:FILE" writes FILE, below the output folder. A full disk leaves a file of
// whole records.
func NewFile(name, summary string, rows ...Row) Factory {
	return &recordFactory{rows: rows, info: Info{Name: name, Type: name, Kind: KindFile, Summary: summary, Connection: "FILE"},
		instance: func(env Env) recordBridge {
			b := &recordFile{}
			b.Env, b.Read = env, b.read
			return b
		}}
}

// NewServer makes a bridge that listens on TCP, on standard (HOST:PORT) where the connection
// string names no address. It sends each client all topics: the records of its rows, one after
// another. What clients send is thrown away.
func NewServer(name, summary, standard string, rows ...Row) Factory {
	return &recordFactory{rows: rows, info: Info{
		Name: name, Type: name, Kind: KindNetwork, Summary: summary,
		Connection: "[[HOST:]PORT]", Default: standard, Options: OptionsOf(ServerOptions{}),
	}, instance: func(env Env) recordBridge { return &recordServer{env: env, standard: standard} }}
}

// NewClient makes a bridge that dials TCP, on port where the connection string names none,
// and sends the records of its rows, one after another. It dials again when the connection
// is lost. What the peer sends is thrown away.
func NewClient(name, summary string, port int, rows ...Row) Factory {
	return &recordFactory{rows: rows, info: Info{
		Name: name, Type: name, Kind: KindNetwork, Summary: summary,
		Connection: fmt.Sprintf("HOST[:%d]", port), Options: OptionsOf(clientOptions{}),
	}, instance: func(env Env) recordBridge { return &recordClient{env: env, port: port} }}
}

// recordFactory is a bridge of rows.
type recordFactory struct {
	info     Info
	rows     []Row
	instance func(Env) recordBridge
}

// Info describes the bridge.
func (f *recordFactory) Info() Info {
	info := f.info
	info.OtherGap = "it has no row for it"
	return info
}

// NewInstance returns one that isn't connected.
func (f *recordFactory) NewInstance(env Env) (Instance, error) { return f.instance(env), nil }

// Register declares the rows.
func (f *recordFactory) Register(p *Plugin) error {
	var errs []error
	for _, row := range f.rows {
		errs = append(errs, row.Register(p))
	}
	return errors.Join(errs...)
}

// CodecEncoding is any: a record is what a codec appends.
func (f *recordFactory) CodecEncoding() string { return "" }

// RegCodec adds a type by its codec.
func (f *recordFactory) RegCodec(p *Plugin, pub Publication[Append, Schema]) error {
	return pub.Register(p, pub.Type, func(b Instance, topic *PublishedTopic, _ Schema) (Send[Append], error) {
		send, err := b.(recordBridge).open(topic)
		return func(ctx context.Context, encode Append, _ simtime.Stamp) error { return send(ctx, encode) }, err
	})
}

// recordBridge is an instance that writes records.
type recordBridge interface {
	Instance
	Checker
	// open returns what sends the record that encode appends.
	open(topic *PublishedTopic) (sendRecord, error)
}

type sendRecord func(ctx context.Context, encode Append) error

// recordFile is the instance of a bridge to a file.
type recordFile struct {
	Recorder[*File]
	record []byte // guarded by the Recorder's lock
}

func (b *recordFile) read(connection string) (func() (*File, error), error) {
	if connection == "" {
		return nil, fmt.Errorf("%w: want a file name", ErrConnectionString)
	}
	path := connection
	if !filepath.IsAbs(path) {
		path = filepath.Join(b.Env.OutDir, path)
	}
	return func() (*File, error) { return b.Create(path) }, nil
}

func (b *recordFile) open(topic *PublishedTopic) (sendRecord, error) {
	return func(_ context.Context, encode Append) error {
		b.Lock()
		defer b.Unlock()
		file, err := b.Recording()
		if err != nil {
			return err
		}
		record, err := encode(b.record[:0])
		if err != nil {
			return fmt.Errorf("%w: %w", ErrConvert, err)
		}
		b.record = record
		if _, err = file.Write(b.record); err == nil {
			err = file.Commit()
		}
		if err != nil {
			return b.Fail(err)
		}
		topic.Sent(len(b.record))
		return nil
	}, nil
}

// Withdraw has nothing to do: the file has no list of topics.
func (b *recordFile) Withdraw(*PublishedTopic) {}

// recordServer is the instance of a bridge that clients come to.
type recordServer struct {
	Server[*transport.Server, *recordStream]
	env      Env
	standard string
}

func (b *recordServer) read(connection string) (string, transport.Config, error) {
	var options ServerOptions
	target, _, err := ReadOptions(connection, &options)
	if err != nil {
		return "", transport.Config{}, err
	}
	address, err := ListenAddress(target, b.standard)
	return address, options.Server(), err
}

// Check reads a connection string as Connect does.
func (b *recordServer) Check(connection string) error {
	_, _, err := b.read(connection)
	return err
}

// Connect begins to listen.
func (b *recordServer) Connect(ctx context.Context, connection string) error {
	address, config, err := b.read(connection)
	if err != nil {
		return err
	}
	if err := b.Disconnect(ctx); err != nil {
		return err
	}
	var server *transport.Server
	config.Log = b.env.Log
	config.Accept = func(c *transport.Conn) transport.Session { return recordReader{server, c} }
	server = transport.New(config)
	return b.Serve(ctx, address, server)
}

func (b *recordServer) open(topic *PublishedTopic) (sendRecord, error) {
	s := &recordStream{Outlet[*transport.Stream]{Info: topic}}
	if err := b.Add(s); err != nil {
		return nil, err
	}
	return s.send, nil
}

// recordStream is a topic of a recordServer.
type recordStream struct{ Outlet[*transport.Stream] }

// Open makes the topic's stream, which all clients receive: those to come find it, see
// recordReader.
func (s *recordStream) Open(_ context.Context, server *transport.Server) error {
	stream := server.NewStream(Count(s.Info, transport.StreamConfig{Name: s.Info.Name, Latched: s.Latched()}))
	s.SetStream(stream)
	for _, c := range server.Clients() {
		stream.Subscribe(c, 0)
	}
	return nil
}

// Leave takes the stream from the server.
func (s *recordStream) Leave(server *transport.Server) {
	if stream, ok := s.Stream(); ok {
		server.Remove(stream)
	}
}

func (s *recordStream) send(ctx context.Context, encode Append) error {
	stream, ok := s.Stream()
	switch {
	case !ok:
		return flow.ErrNotConnected
	case stream.Subscribers() == 0 && !s.Latched():
		return transport.ErrNoSubscribers
	}
	m := stream.NewMessage()
	frame := m.Frame(0, 0)
	record, err := encode(frame.Bytes()[:0])
	if err != nil {
		m.Discard()
		return fmt.Errorf("%w: %w", ErrConvert, err)
	}
	frame.Adopt(record)
	return stream.Send(ctx, m)
}

// recordReader is a client of a recordServer.
type recordReader struct {
	server *transport.Server
	client *transport.Conn
}

// Serve brings the client all topics until it goes.
func (r recordReader) Serve(context.Context) error {
	if err := r.client.Enter(); err != nil {
		return fmt.Errorf("too many clients: %w: raise the option clients of the connection string", err)
	}
	for _, stream := range r.server.Streams() {
		stream.Subscribe(r.client, 0)
	}
	r.client.Welcome()
	for ignored := make([]byte, 512); ; {
		if err := r.client.ExtendRead(24 * time.Hour); err != nil {
			return err
		}
		if _, err := r.client.Conn().Read(ignored); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

// Beat appends nothing: a sign of life would stand among the records.
func (recordReader) Beat(dst []byte, _ bool) []byte { return dst }

// Goodbye appends nothing either.
func (recordReader) Goodbye(dst []byte) []byte { return dst }

// recordClient is the instance of a bridge that dials.
type recordClient struct {
	transport.Client
	env  Env
	port int
}

type clientOptions struct {
	RetryOptions
	QueueOptions
}

func (b *recordClient) read(connection string) (address string, config transport.ClientConfig, err error) {
	var options clientOptions
	target, _, err := ReadOptions(connection, &options)
	if err != nil {
		return "", config, err
	}
	address, err = DialAddress(target, b.port)
	config.Queue, config.Retry, config.Log = options.Queue(), options.Retry(), b.env.Log
	return address, config, err
}

// Check reads a connection string as Connect does.
func (b *recordClient) Check(connection string) error {
	_, _, err := b.read(connection)
	return err
}

// Connect begins to dial.
func (b *recordClient) Connect(ctx context.Context, connection string) error {
	address, config, err := b.read(connection)
	if err != nil {
		return err
	}
	// All that the peer sends is thrown away, byte by byte.
	peer := transport.TCP{Size: func([]byte) (int, error) { return 1, nil }}
	config.Dial = func(ctx context.Context) (transport.FrameConn, error) { return peer.Dial(ctx, address) }
	b.Open(ctx, config)
	return nil
}

// Withdraw has nothing to do: the peer knows of no topics.
func (b *recordClient) Withdraw(*PublishedTopic) {}

func (b *recordClient) open(topic *PublishedTopic) (sendRecord, error) {
	outlet := b.NewOutlet(&topic.Tally, topic.Policy)
	return func(ctx context.Context, encode Append) error {
		frame := outlet.Buffer(0)
		record, err := encode(frame.Bytes()[:0])
		if err != nil {
			frame.Release()
			return fmt.Errorf("%w: %w", ErrConvert, err)
		}
		frame.Adopt(record)
		return outlet.Send(ctx, frame)
	}, nil
}
