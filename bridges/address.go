package bridges

import (
	"fmt"
	"net"
	"strconv"
)

// ListenAddress reads where a bridge is to listen, as its connection string names it:
// PORT, for clients on this machine alone, HOST:PORT, or :PORT, for all that reach it.
// Port 0 is any free one. An empty text means standard. The result is HOST:PORT; errors
// wrap ErrConnectionString. Any goroutine may call it.
func ListenAddress(text, standard string) (string, error) {
	if text == "" {
		return standard, nil
	}
	host, port := "127.0.0.1", text
	if _, err := strconv.ParseUint(text, 10, 64); err != nil {
		if host, port, err = net.SplitHostPort(text); err != nil {
			return "", fmt.Errorf("%w: bad address %q: need PORT or HOST:PORT, such as %s", ErrConnectionString, text, standard)
		}
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return "", fmt.Errorf("%w: bad address %q: the port is a number from 0, for any free one, to 65535", ErrConnectionString, text)
	}
	return net.JoinHostPort(host, port), nil
}
