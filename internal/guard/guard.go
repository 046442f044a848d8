package guard

import (
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
)

// Guard says which requests a server answers. Its fields are set before the first request; its
// methods may be called from any goroutine. The zero value lets in what the package's
// documentation says.
type Guard struct {
	// Names are names of this server that requests may have as their Host, beside those that
	// nobody else can have.
	Names []string
	// Pages are origins whose pages are let in too, patterns of path.Match. They are hosts with
	// their ports, and with a scheme before them where no other will do: "dashboard.example",
	// "localhost:*", "https://*.example". "null" is one, and "*" is every page under any Host.
	Pages []string
	// NameOption and PageOption are what the user says to add to Names and to Pages; empty
	// where the user can't.
	NameOption, PageOption string
}

// Check returns nil for a request that is to be answered, else a *Refusal. The request's
// context has the local address as http.Server puts it there (http.LocalAddrContextKey);
// request.TLS is set where the connection is encrypted.
func (g *Guard) Check(r *http.Request) error {
	if slices.Contains(g.Pages, "*") {
		return nil
	}
	if r.TLS == nil && !g.own(r.Host) {
		return refuse(BadHost, "the host %q is not this server's: use its IP address%s", r.Host, orIn(g.NameOption))
	}
	if origin := r.Header.Get("Origin"); !g.welcomes(origin, r) || len(r.Header.Values("Origin")) > 1 {
		return refuse(BadOrigin, "pages of %q may not use this server%s", origin, unlessIn(g.PageOption))
	}
	return nil
}

func orIn(option string) string {
	if option == "" {
		return ""
	}
	return ", or name it in " + option
}

func unlessIn(option string) string {
	if option == "" {
		return ""
	}
	return ": name them in " + option + " if they are to"
}

// localDomains are names of local networks, which the public DNS doesn't have: RFC 6761, RFC
// 6762, RFC 8375, and ICANN's resolution 2024.07.29.06.
var localDomains = []string{".localhost", ".local", ".home.arpa", ".internal"}

var hostname = sync.OnceValue(func() string {
	name, _ := os.Hostname() // without one there is one name less
	return name
})

// own reports whether a Host header names this server. An IP address can't be made to lead
// elsewhere, and a name without a dot is one of this machine, its network or its containers.
func (g *Guard) own(host string) bool {
	name := host
	if h, _, err := net.SplitHostPort(host); err == nil {
		name = h
	}
	name = strings.ToLower(strings.TrimSuffix(strings.TrimPrefix(name, "["), "]"))
	switch {
	case !strings.Contains(name, "."), net.ParseIP(name) != nil, name == strings.ToLower(hostname()):
		return true
	}
	return slices.ContainsFunc(localDomains, func(domain string) bool { return strings.HasSuffix(name, domain) }) ||
		slices.ContainsFunc(g.Names, func(own string) bool { return strings.EqualFold(own, name) }) ||
		slices.ContainsFunc(g.Pages, func(page string) bool {
			_, page, found := cutScheme(page)
			return found && (matches(page, host) || matches(page, name))
		})
}

// cutScheme takes the scheme from a pattern; found is false for one that names no host.
func cutScheme(pattern string) (scheme, host string, found bool) {
	if scheme, host, found = strings.Cut(pattern, "://"); found {
		return scheme, host, host != ""
	}
	return "", pattern, pattern != "null"
}

func matches(pattern, text string) bool {
	matched, err := path.Match(strings.ToLower(pattern), strings.ToLower(text))
	return err == nil && matched
}

// applications are origins of Foxglove's application in the browser, and of desktop
// applications; see the package's documentation.
var applications = []string{"https://app.foxglove.dev", "https://studio.foxglove.dev", "file://"}

// welcomes reports whether a page of an origin may use the server. Programs have none.
func (g *Guard) welcomes(origin string, r *http.Request) bool {
	switch {
	case origin == "":
		return programs(r)
	case slices.Contains(applications, origin), slices.ContainsFunc(g.Pages, func(page string) bool { return named(page, origin) }):
		return true
	}
	u, err := url.Parse(origin)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Scheme+"://"+u.Host != strings.ToLower(origin) {
		return false // what isn't as browsers write it is nobody's
	}
	host := u.Hostname()
	if host == "localhost" {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && (ip.Unmap().IsLoopback() || ip.Unmap().WithZone("") == localAddress(r))
}

// named reports whether a pattern of the user's names an origin. "null" is named by itself
// alone: every site can have its pages send it.
func named(pattern, origin string) bool {
	u, err := url.Parse(origin)
	switch {
	case err != nil:
		return false
	case origin == "null":
		return pattern == "null"
	case u.Host == "" || strings.Contains(pattern, "://"):
		return pattern == origin || matches(pattern, origin)
	}
	return matches(pattern, u.Host)
}

// programs reports whether a request without an origin may be a program's, or only asks. Where
// browsers name no origin, they say by other means that a page is another site's (Fetch
// Metadata).
func programs(r *http.Request) bool {
	switch r.Header.Get("Sec-Fetch-Site") {
	case "", "same-origin", "none":
		return true
	}
	return r.Method == http.MethodGet || r.Method == http.MethodHead
}

// localAddress is the address at which a request's connection arrived, the zero Addr if it
// isn't known.
func localAddress(r *http.Request) netip.Addr {
	local, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	return addressOf(local)
}

// addressOf returns the IP address of a TCP address, without its zone; the zero Addr for any
// other.
func addressOf(address net.Addr) netip.Addr {
	tcp, ok := address.(*net.TCPAddr)
	if !ok {
		return netip.Addr{}
	}
	ip, _ := netip.AddrFromSlice(tcp.IP)
	return ip.Unmap()
}
