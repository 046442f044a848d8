package fault_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/internal/fault"
)

// failed is an error of package net for a call to a robot.
func failed(op string, cause error) error {
	return &net.OpError{Op: op, Net: "tcp", Addr: &net.TCPAddr{IP: net.IPv4(10, 0, 0, 7), Port: 9090}, Err: cause}
}

func TestNet(t *testing.T) {
	system := func(call string, errno syscall.Errno) error { return os.NewSyscallError(call, errno) }
	unknown := &net.DNSError{Err: "no such host", Name: "robto", Server: "10.0.0.1:53", IsNotFound: true}
	silent := &net.DNSError{Err: "i/o timeout", Name: "robot", IsTimeout: true}
	expired := x509.CertificateInvalidError{Reason: x509.Expired}
	for _, c := range []struct {
		err  error
		want string
		is   error
	}{
		{failed("dial", system("connect", syscall.ECONNREFUSED)), "10.0.0.7:9090: nobody listens there (connection refused): start the program, or check the address", syscall.ECONNREFUSED},
		{failed("dial", os.ErrDeadlineExceeded), "10.0.0.7:9090: no answer in time: check the address, the network and the firewall", os.ErrDeadlineExceeded},
		{failed("dial", system("connect", syscall.ETIMEDOUT)), "10.0.0.7:9090: no answer in time: check the address, the network and the firewall", syscall.ETIMEDOUT},
		{failed("dial", system("connect", syscall.EHOSTUNREACH)), "10.0.0.7:9090: no way there (no route to host): check the address and the network", syscall.EHOSTUNREACH},
		{failed("dial", system("connect", syscall.ENETUNREACH)), "10.0.0.7:9090: no way there (network is unreachable): check the address and the network", syscall.ENETUNREACH},
		{failed("dial", system("connect", syscall.EPERM)), "10.0.0.7:9090: no permission (operation not permitted): check the firewall of this machine", syscall.EPERM},
		{failed("read", system("read", syscall.ECONNRESET)), "10.0.0.7:9090: the other side broke the connection off (connection reset by peer): see what it says", syscall.ECONNRESET},
		{failed("write", system("write", syscall.EPIPE)), "10.0.0.7:9090: the other side broke the connection off (broken pipe): see what it says", syscall.EPIPE},
		{failed("read", io.EOF), "10.0.0.7:9090: the other side closed the connection", io.EOF},
		{failed("dial", system("socket", syscall.EMFILE)), "10.0.0.7:9090: too many open files", syscall.EMFILE},
		{failed("listen", system("bind", syscall.EADDRINUSE)), "10.0.0.7:9090: address already in use: end the program that has it, or choose another port, or 0 for any free one", syscall.EADDRINUSE},
		{failed("listen", system("bind", syscall.EACCES)), "10.0.0.7:9090: permission denied: ports below 1024 need privileges: choose a higher one", syscall.EACCES},
		{failed("listen", system("bind", syscall.EADDRNOTAVAIL)), "10.0.0.7:9090: cannot assign requested address: no interface of this machine has the address", syscall.EADDRNOTAVAIL},
		{failed("listen", system("socket", syscall.EMFILE)), "10.0.0.7:9090: too many open files", syscall.EMFILE},
		{&net.OpError{Op: "listen", Net: "tcp", Err: unknown}, "no machine is named robto: want an address of this machine, such as 127.0.0.1 or 0.0.0.0", unknown},
		{&net.OpError{Op: "dial", Net: "tcp", Err: unknown}, "no machine is named robto: check the name, or give its IP address", unknown},
		{&net.OpError{Op: "dial", Net: "tcp", Err: silent}, "can't look up robot: check the network, or give its IP address", silent},
		{fmt.Errorf("read a frame: %w", io.ErrUnexpectedEOF), "read a frame: the other side closed the connection", io.ErrUnexpectedEOF},
		{fmt.Errorf("tls failed: %w", &tls.CertificateVerificationError{Err: x509.UnknownAuthorityError{}}), "tls failed: this machine trusts none of the signers of the server's certificate", x509.UnknownAuthorityError{}},
		{&tls.CertificateVerificationError{Err: x509.HostnameError{Certificate: new(x509.Certificate), Host: "robot"}}, "the server's certificate is not for robot", nil},
		{&tls.CertificateVerificationError{Err: expired}, "the server's certificate has expired or is not valid yet: check the clocks of both machines", expired},
		{&tls.CertificateVerificationError{Err: x509.CertificateInvalidError{Reason: x509.NotAuthorizedToSign}}, "the server's certificate is not valid", nil},
		{tls.RecordHeaderError{Msg: "first record does not look like a TLS handshake"}, "it doesn't speak TLS", nil},
		{failed("remote error", errors.New("tls: handshake failure")), "10.0.0.7:9090: it refuses the encryption: handshake failure", nil},
		{io.EOF, "the other side closed the connection", io.EOF},
		{fmt.Errorf("no answer within 5s: %w", context.DeadlineExceeded), "no answer within 5s: no answer in time", context.DeadlineExceeded},
		{&url.Error{Op: "Post", URL: "http://robot:11311/RPC2", Err: io.EOF}, "the other side closed the connection", io.EOF},
		{fmt.Errorf("ask the master: %w", &url.Error{Op: "Post", URL: "http://robot:11311/RPC2", Err: failed("dial", system("connect", syscall.ECONNREFUSED))}),
			"ask the master: 10.0.0.7:9090: nobody listens there (connection refused): start the program, or check the address", syscall.ECONNREFUSED},
	} {
		got := fault.Net(c.err)
		assert.EqualError(t, got, c.want)
		if c.is != nil {
			assert.ErrorIs(t, got, c.is)
		}
		assert.Equal(t, got, fault.Net(got), "said once")
		assert.NotRegexp(t, `dial tcp|i/o timeout|EOF|Post|x509|tls: `, got.Error())
	}
	for _, other := range []error{nil, errors.New("other"), net.ErrClosed} {
		assert.Equal(t, other, fault.Net(other))
	}
}

// TestReason: who names the address has it not said twice.
func TestNetReason(t *testing.T) {
	err := fmt.Errorf("greet: %w", failed("dial", syscall.ECONNREFUSED))
	assert.EqualError(t, fault.NetReason(err), "greet: nobody listens there (connection refused): start the program, or check the address")
}

// TestWithin: the time that an answer had is said once, in place of "in time".
func TestNetWithin(t *testing.T) {
	for _, c := range []struct {
		err  error
		want string
	}{
		{context.DeadlineExceeded, "no answer within 5s"},
		{failed("dial", os.ErrDeadlineExceeded), "10.0.0.7:9090: no answer within 5s: check the address, the network and the firewall"},
		{fmt.Errorf("greet: %w", context.DeadlineExceeded), "greet: no answer within 5s"},
		{errors.New("other"), "no answer within 5s: other"},
	} {
		got := fault.NetWithin(5*time.Second, c.err)
		assert.EqualError(t, got, c.want)
		assert.ErrorIs(t, got, c.err)
		assert.Equal(t, got, fault.Net(got), "said once")
	}
}

// TestNetOfTheSystem has package net make the errors.
func TestNetOfTheSystem(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := l.Addr().String()
	require.NoError(t, l.Close())
	_, err = net.Dial("tcp", address)
	assert.EqualError(t, fault.Net(err), address+": nobody listens there (connection refused): start the program, or check the address")
	_, err = http.Get("http://" + address + "/") //nolint:bodyclose,noctx // it fails
	assert.EqualError(t, fault.Net(err), address+": nobody listens there (connection refused): start the program, or check the address")
}

func TestFile(t *testing.T) {
	dir := t.TempDir()
	rig := filepath.Join(dir, "rig.yaml")
	require.NoError(t, os.WriteFile(rig, nil, 0o644))
	read := func(path string) error { _, err := os.ReadFile(path); return err }
	below := filepath.Join(rig, "deep", "er")
	for _, c := range []struct {
		err  error
		want string
		is   error
	}{
		{read(filepath.Join(dir, "rgi.yaml")), filepath.Join(dir, "rgi.yaml") + ": no such file, did you mean " + rig + "?", fs.ErrNotExist},
		{read(filepath.Join(dir, "a.yaml")), filepath.Join(dir, "a.yaml") + ": no such file in " + dir, fs.ErrNotExist},
		{read(filepath.Join(dir, "other")), filepath.Join(dir, "other") + ": no such file in " + dir, fs.ErrNotExist},
		{read(filepath.Join(dir, "a", "b")), filepath.Join(dir, "a", "b") + ": no folder " + filepath.Join(dir, "a"), fs.ErrNotExist},
		{read(dir), dir + " is a folder: name a file", syscall.EISDIR},
		{os.MkdirAll(below, 0o755), rig + " is a file where a folder should be", syscall.ENOTDIR},
		{read(below), below + ": " + rig + " is a file where a folder should be", syscall.ENOTDIR},
		{&fs.PathError{Op: "open", Path: "/x", Err: syscall.EACCES}, "/x: no permission: check whose it is, or choose another path", fs.ErrPermission},
		{&fs.PathError{Op: "write", Path: "/x", Err: syscall.ENOSPC}, "/x: the disk is full", syscall.ENOSPC},
		{&fs.PathError{Op: "open", Path: "/x", Err: syscall.EMFILE}, "/x: too many open files", syscall.EMFILE},
	} {
		got := fault.File(c.err)
		assert.EqualError(t, got, c.want)
		assert.ErrorIs(t, got, c.is)
		assert.Equal(t, got, fault.File(got), "said once")
	}
	other := errors.New("other")
	assert.Equal(t, other, fault.File(other))
	assert.NoError(t, fault.File(nil))
	assert.EqualError(t, fmt.Errorf("read rig: %w", fault.File(read(dir))), "read rig: "+dir+" is a folder: name a file")
}

// One byte more than asked for shows that a file is larger.
func TestReadUpTo(t *testing.T) {
	file := filepath.Join(t.TempDir(), "rig.yaml")
	require.NoError(t, os.WriteFile(file, []byte("12345"), 0o644))
	for most, want := range map[int64]string{3: "1234", 4: "12345", 5: "12345", 100: "12345"} {
		data, err := fault.ReadUpTo(file, most)
		require.NoError(t, err)
		assert.Equal(t, want, string(data), "%d", most)
	}
	_, err := fault.ReadUpTo(filepath.Dir(file)+"/rig.yml", 3)
	assert.ErrorContains(t, err, "rig.yml: no such file, did you mean "+file)
	_, err = fault.ReadUpTo(filepath.Dir(file), 3)
	assert.ErrorContains(t, err, "is a folder: name a file")
}

func TestName(t *testing.T) {
	known := []string{"image_size_x", "image_size_y", "fov", "range"}
	for name, want := range map[string]string{
		"image_size_z": "image_size_x",
		"FOV":          "fov",
		"rnage":        "range",
		"temperature":  "",
		"":             "",
	} {
		assert.Equal(t, want, fault.Closest(name, known), "for %q", name)
	}
}

func TestNameOfShortNames(t *testing.T) {
	known := []string{"x", "y", "yaw", "hz", "qos"}
	for name, want := range map[string]string{
		"q":  "", // neither x, of which nothing is left, nor qos
		"X":  "x",
		"aw": "yaw",
		"kz": "hz",
		"ab": "",
		"os": "qos",
		"yx": "x", // one letter too many
		"":   "",
	} {
		assert.Equal(t, want, fault.Closest(name, known), "for %q", name)
	}
	assert.Equal(t, "known are x, y, z", fault.Hint("q", []string{"x", "y", "z"}))
}

// TestNameOfABeginning: who writes the beginning of a name alone means that name, not
// another that a letter would make of it.
func TestNameOfABeginning(t *testing.T) {
	known := []string{"ros1", "ros2lgsvl", "ros2dds", "rosbridge", "foxglove", "drop_newest", "drop_oldest"}
	for name, want := range map[string]string{"ros2": "ros2dds", "ros": "ros1", "ROS": "ros1", "fox": "foxglove", "ros2d": "ros2dds", "drop": "", "ro": "", "ros1": "ros1", "roz1": "ros1"} {
		assert.Equal(t, want, fault.Closest(name, known), "for %q", name)
	}
}

// A slip is few letters of the name: two that change places are one, and a third of the letters are the most.
func TestNameOfOtherWords(t *testing.T) {
	commands := []string{"run", "replay", "listen", "ctl", "gpu", "scene", "config", "rig", "sensors", "bridges", "mcap", "demo", "bench", "version"}
	for name, want := range map[string]string{
		"rnu": "run", "rnn": "run", "nur": "", "gup": "gpu", "log": "", "play": "", "dmeo": "demo", "cap": "mcap", "map": "mcap", "stop": "",
		"record": "", "sensros": "sensors", "bridge": "bridges", "lidar": "", "sense": "scene", "sumo": "", "vresion": "version",
	} {
		assert.Equal(t, want, fault.Closest(name, commands), "for %q", name)
	}
	assert.Empty(t, fault.Closest(strings.Repeat("r", 1<<20), commands))
	assert.Empty(t, fault.Closest("3", []string{"1", "2", "4"}), "of numbers none is meant by another")
	assert.Empty(t, fault.Closest("0.15", []string{"0.1", "0.25"}))
	assert.Equal(t, "want auto, software or host", fault.Want("fast", "auto", "software", "host"))
}

func TestWant(t *testing.T) {
	assert.Equal(t, "want zstd, lz4 or none; did you mean zstd?", fault.Want("zst", "zstd", "lz4", "none"))
	assert.Equal(t, "want zstd, lz4 or none", fault.Want("quick", "zstd", "lz4", "none"))
	assert.Equal(t, "want on or off", fault.Want("yes", "on", "off"))
	assert.Equal(t, "want humble", fault.Want("rolling", "humble"))
}

func TestHintListsAllWhenNoneIsNear(t *testing.T) {
	assert.Equal(t, "known are fov, range", fault.Hint("temperature", []string{"fov", "range"}))
	assert.Equal(t, "did you mean fov?", fault.Hint("fvo", []string{"fov", "range"}))
	assert.Equal(t, "there are none", fault.Hint("fov", nil))
}

// TestBounded: what is read goes up to the bound and no further, in pieces of any size.
func TestCount(t *testing.T) {
	assert.Equal(t, "0 actors, 1 actor, 2 actors", fault.Count(0, "actor")+", "+fault.Count(1, "actor")+", "+fault.Count(int64(2), "actor"))
}

func TestNumber(t *testing.T) {
	for want, v := range map[string]float64{
		"0": 0, "1740": 1741.3, "-1740": -1741.3, "0.0123": 0.0123456, "12.3": 12.34, "1000000": 999999.9, "100": 100, "0.0000123": 1.23e-5,
		"NaN": math.NaN(), "+Inf": math.Inf(1),
	} {
		assert.Equal(t, want, fault.Number(v, 3), "%v", v)
	}
	assert.Equal(t, "(450000.1, 5400000, -0.5)", fault.Place([3]float64{450000.12, 5.4e6, -0.5}))
}

// TestSeconds: exact, without zeros that say nothing.
func TestSeconds(t *testing.T) {
	for ns, want := range map[int64]string{
		0: "0 s", 10_000_000: "0.01 s", 1_120_000_000: "1.12 s", 9_000_000_000: "9 s", 1: "0.000000001 s", -1_500_000_000: "-1.5 s",
		1_795_893_622_494_060_001: "1795893622.494060001 s", math.MinInt64: "-9223372036.854775808 s",
	} {
		assert.Equal(t, want, fault.Seconds(ns))
	}
}

func TestBounded(t *testing.T) {
	long := errors.New("it is too long")
	for _, c := range []struct {
		left int64
		want string
		err  error
	}{{0, "", long}, {3, "abc", long}, {6, "abcdef", long}, {7, "abcdef", nil}} {
		for _, piece := range []func(io.Reader) io.Reader{iotest.OneByteReader, func(r io.Reader) io.Reader { return r }} {
			got, err := io.ReadAll(piece(&fault.Bounded{Reader: strings.NewReader("abcdef"), Left: c.left, Err: long}))
			if string(got) != c.want || !errors.Is(err, c.err) {
				t.Errorf("of %d bytes: %q, %v", c.left, got, err)
			}
		}
	}
}
