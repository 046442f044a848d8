package fault

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"strings"
	"syscall"
	"time"
)

// Net returns an error of a connection as an *Error that names the address and says what
// is the matter with it. What was written around the error of package net stays. Other errors
// are returned as they are. Any goroutine may call it.
func Net(err error) error { return explain(err, true) }

// NetReason is Net for callers that name the address themselves.
func NetReason(err error) error { return explain(err, false) }

// NetWithin is Net for a call that had the time d to be answered and wasn't: it says how long
// that was.
func NetWithin(d time.Duration, err error) error {
	limit, text := fmt.Sprintf("no answer within %v", d), Net(err).Error()
	if strings.Contains(text, late) {
		return &Error{strings.Replace(text, late, limit, 1), err}
	}
	return &Error{limit + ": " + text, err}
}

// late is what became of a call without an answer.
const late = "no answer in time"

func explain(err error, address bool) error {
	if err == nil || errors.As(err, new(*Error)) {
		return err
	}
	var raw, said string
	failed, unknown, call := new(net.OpError), new(net.DNSError), new(url.Error)
	var untrusted *tls.CertificateVerificationError
	var plain tls.RecordHeaderError
	switch {
	case errors.As(err, &untrusted):
		raw, said = untrusted.Error(), distrusted(untrusted.Err)
	case errors.As(err, &plain):
		raw, said = plain.Error(), "it doesn't speak TLS"
	case errors.As(err, &unknown):
		raw, said = unknown.Error(), lookup(unknown)
		if errors.As(err, &failed) && failed.Op == "listen" {
			said = fmt.Sprintf("no machine is named %s: want an address of this machine, such as 127.0.0.1 or 0.0.0.0", unknown.Name)
		}
	case errors.As(err, &failed) && errors.Is(failed, net.ErrClosed):
		return err
	case errors.As(err, &failed):
		said = happened(failed.Err)
		switch failed.Op {
		case "listen":
			said = taken(failed.Err)
		case "remote error": // an alert of TLS (RFC 8446, section 6)
			said = "it refuses the encryption: " + strings.TrimPrefix(failed.Err.Error(), "tls: ")
		}
		if address && failed.Addr != nil {
			said = failed.Addr.String() + ": " + said
		}
	default:
		end := ending(err)
		if end == nil {
			return err
		}
		raw, said = end.Error(), happened(end)
	}
	if errors.As(err, &failed) {
		raw = failed.Error()
	}
	if errors.As(err, &call) {
		raw = call.Error()
	}
	before, after, found := strings.Cut(err.Error(), raw)
	if !found {
		return err
	}
	return &Error{before + said + after, err}
}

// ending returns the error by which a connection ended that package net wraps in none of its
// own, nil for other errors.
func ending(err error) error {
	for _, end := range []error{io.ErrUnexpectedEOF, io.EOF, context.DeadlineExceeded, os.ErrDeadlineExceeded} {
		if errors.Is(err, end) {
			return end
		}
	}
	return nil
}

// lookup says why a name has no address.
func lookup(err *net.DNSError) string {
	if err.IsNotFound {
		return fmt.Sprintf("no machine is named %s: check the name, or give its IP address", err.Name)
	}
	return fmt.Sprintf("can't look up %s: check the network, or give its IP address", err.Name)
}

// distrusted says why a certificate isn't trusted.
func distrusted(cause error) string {
	var signer x509.UnknownAuthorityError
	var name x509.HostnameError
	var invalid x509.CertificateInvalidError
	switch {
	case errors.As(cause, &signer):
		return "this machine trusts none of the signers of the server's certificate"
	case errors.As(cause, &name):
		return "the server's certificate is not for " + name.Host
	case errors.As(cause, &invalid) && invalid.Reason == x509.Expired:
		return "the server's certificate has expired or is not valid yet: check the clocks of both machines"
	default:
		return "the server's certificate is not valid"
	}
}

// taken says why an address can't be listened on, which stands before it.
func taken(cause error) string {
	switch {
	case errors.Is(cause, syscall.EADDRINUSE):
		return fmt.Sprintf("%v: end the program that has it, or choose another port, or 0 for any free one", syscall.EADDRINUSE)
	case errors.Is(cause, syscall.EACCES):
		return fmt.Sprintf("%v: ports below 1024 need privileges: choose a higher one", syscall.EACCES)
	case errors.Is(cause, syscall.EADDRNOTAVAIL):
		return fmt.Sprintf("%v: no interface of this machine has the address", syscall.EADDRNOTAVAIL)
	default:
		return happened(cause)
	}
}

// happened says what became of a call to an address that stands before it.
func happened(cause error) string {
	var errno syscall.Errno
	errors.As(cause, &errno)
	switch errno {
	case syscall.ECONNREFUSED:
		return fmt.Sprintf("nobody listens there (%v): start the program, or check the address", errno)
	case syscall.EHOSTUNREACH, syscall.ENETUNREACH:
		return fmt.Sprintf("no way there (%v): check the address and the network", errno)
	case syscall.EACCES, syscall.EPERM:
		return fmt.Sprintf("no permission (%v): check the firewall of this machine", errno)
	case syscall.ECONNRESET, syscall.ECONNABORTED, syscall.EPIPE:
		return fmt.Sprintf("the other side broke the connection off (%v): see what it says", errno)
	}
	var slow interface{ Timeout() bool }
	switch {
	case errno != 0 && !errno.Timeout():
		return errno.Error()
	case errors.Is(cause, io.EOF), errors.Is(cause, io.ErrUnexpectedEOF):
		return "the other side closed the connection"
	case cause == context.DeadlineExceeded: //nolint:errorlint // a call's error is one to errors.Is, too
		return late
	case errors.As(cause, &slow) && slow.Timeout():
		return late + ": check the address, the network and the firewall"
	default:
		return cause.Error()
	}
}
