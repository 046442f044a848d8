package bridges

import (
	"fmt"
	"net"
	"strconv"
	"strings"
)

// DialAddress reads where a bridge's peer is, as its connection string names it: HOST,
// HOST:PORT, [IPV6] or [IPV6]:PORT. Without a port it is standardPort. The result is
// HOST:PORT; errors wrap ErrConnectionString. Any goroutine may call it.
func DialAddress(text string, standardPort int) (string, error) {
	bad := func(why string) (string, error) {
		return "", fmt.Errorf("%w: bad address %q: %s; want HOST or HOST:PORT, such as localhost:%d or [::1]:%d",
			ErrConnectionString, text, why, standardPort, standardPort)
	}
	host, port := text, strconv.Itoa(standardPort)
	switch {
	case text == "":
		return bad("no host")
	case strings.HasPrefix(text, "[") && strings.HasSuffix(text, "]"):
		host = text[1 : len(text)-1]
	case strings.HasPrefix(text, "["), strings.Count(text, ":") == 1:
		var err error
		if host, port, err = net.SplitHostPort(text); err != nil {
			return bad("it can't be split into host and port")
		}
	case strings.Contains(text, ":"):
		return bad("an IPv6 address stands in brackets")
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return bad("the port is a number from 1 to 65535")
	}
	if host == "" || strings.ContainsAny(host, "/ @[]") {
		return bad("the host is no name or number")
	}
	return net.JoinHostPort(host, port), nil
}
