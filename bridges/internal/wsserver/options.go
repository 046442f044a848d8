package wsserver

import (
	"crypto/tls"
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/internal/clients"
)

// Options are the options of connection strings that Config.Parse reads.
var Options = slices.Concat([]bridges.Option{
	clients.MaxOption,
	{Key: "origins", Value: "HOST,...", Meaning: "whose web pages may connect, as patterns; without it all may"},
	{Key: "cert", Value: "FILE", Meaning: "certificate in PEM, for wss; goes with key"},
	{Key: "key", Value: "FILE", Meaning: "the certificate's private key in PEM"},
}, bridges.QueueOptions)

// Parse sets what the options of a connection string say: "messages=64&bytes=67108864&
// clients=16&origins=app.foxglove.dev,localhost:*&cert=FILE&key=FILE". Other options are
// ignored. Errors wrap bridges.ErrConnectionString, or bridges.ErrTLS where the certificate
// can't be used.
func (c *Config) Parse(options map[string]string) (err error) {
	if c.Queue, err = bridges.ParseQueue(options); err != nil {
		return err
	}
	if c.MaxClients, err = clients.ParseMax(options, c.MaxClients); err != nil {
		return err
	}
	if text, ok := options["origins"]; ok {
		c.Origins = strings.Split(text, ",")
		for _, pattern := range c.Origins {
			if _, err := path.Match(pattern, ""); err != nil || pattern == "" {
				return fmt.Errorf("%w: origins=%q: want hosts between commas, such as app.foxglove.dev,localhost:*", bridges.ErrConnectionString, text)
			}
		}
	}
	return c.parseTLS(options)
}

// parseTLS reads the certificate, if one is named.
func (c *Config) parseTLS(options map[string]string) error {
	cert, hasCert := options["cert"]
	key, hasKey := options["key"]
	switch {
	case !hasCert && !hasKey:
		return nil
	case cert == "" || key == "":
		return fmt.Errorf("%w: cert and key go together: want cert=FILE&key=FILE, both in PEM", bridges.ErrConnectionString)
	}
	pair, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		return fmt.Errorf("%w: read certificate %q with key %q: %w", bridges.ErrTLS, cert, key, err)
	}
	c.TLS = &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}
	return nil
}

// welcomes reports whether a page of an origin (RFC 6454) may connect. Programs that aren't
// browsers name none. That the request's Host is the origin's says nothing: a page can have
// its own name lead to any address.
func (c *Config) welcomes(origin string) bool {
	if origin == "" || len(c.Origins) == 0 {
		return true
	}
	u, err := url.Parse(origin)
	if err != nil {
		return false
	}
	return slices.ContainsFunc(c.Origins, func(pattern string) bool {
		target := u.Host
		if target == "" || strings.Contains(pattern, "://") {
			target = origin // "null" for a file
		}
		matched, err := path.Match(strings.ToLower(pattern), strings.ToLower(target))
		return err == nil && matched
	})
}
