package wsserver

import (
	"crypto/tls"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/internal/clients"
	"github.com/raybridge/raybridge/internal/filefault"
)

// Options are the options of connection strings that Config.Parse reads.
var Options = slices.Concat([]bridges.Option{
	clients.MaxOption,
	{Key: "origins", Value: "HOST,...", Meaning: "whose web pages may connect too, as patterns; * lets all of them in"},
	{Key: "cert", Value: "FILE", Meaning: "certificate in PEM, for wss; goes with key"},
	{Key: "key", Value: "FILE", Meaning: "the certificate's private key in PEM"},
}, bridges.QueueOptions)

// Parse sets what the options of a connection string say: "messages=64&bytes=67108864&
// clients=16&origins=viewer.example,*.lab.example:*&cert=FILE&key=FILE". Other options are
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
				return fmt.Errorf("%w: origins=%q: want hosts between commas, such as viewer.example,https://*.lab.example:8443, or * for all pages", bridges.ErrConnectionString, text)
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
		return fmt.Errorf("%w: read certificate %q with key %q: %w", bridges.ErrTLS, cert, key, filefault.Explain(err))
	}
	c.TLS = &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}
	return nil
}
