// Package guard decides who may use raybridge's servers, how many at a time, and how much a
// client may send and have kept. The servers are those of the WebSocket bridges, the control
// port, and the APIs of ros1's node. One set of rules and one table of limits ([Handshakes] and
// so on) hold for all of them.
//
// # Pages
//
// A browser lets any page that it shows talk to any server that it reaches, also on its own
// machine. It tells the server from where the page came: the Origin (RFC 6454). Guard.Check
// refuses a request, before it does anything, unless
//
//   - it names no origin: it is a program's, not a page's;
//   - the origin is of this machine: localhost, 127.0.0.0/8 or [::1], at any port;
//   - the origin's host is an IP address, and the very one at which this connection arrived: a
//     page that this machine served at its own address;
//   - it is https://app.foxglove.dev or https://studio.foxglove.dev, Foxglove's application;
//   - it is file://, see below;
//   - the user has named it ([Guard.Pages]).
//
// The origin is never compared with the request's Host. A page of evil.example whose name was
// made to lead here (DNS rebinding) has both in common. The Host must be one that nobody else
// gives out: an IP address, a name without a dot, a name of the reserved domains of local
// networks (.localhost, .local, .internal, .home.arpa), the machine's own name, or a name that
// the user gave. On an encrypted connection the certificate has shown that already.
//
// # Desktop applications
//
// Lichtblick's desktop application, and Foxglove's as long as its source was open, show pages of
// files that Electron gives more rights than a browser does. Their origin is file://. In
// Chromium 156, Firefox 153 and WebKitGTK 2.50, a page of a file that a user opens has the
// origin null. So have sandboxed frames and data URLs of any site. Chromium sends file:// only
// where it was told to trust files (--allow-file-access-from-files), which is what Electron
// does. So no web page sends file://, and it is let in; null is refused unless it is named.
//
// # Connections
//
// A [Gate] counts connections. A connection whose handshake isn't complete doesn't count as a
// client. At most [Handshakes] of these are there, for [HandshakeTime] each; one more ends the
// oldest. Limits of one address are for other machines alone: on the loopback interface, one
// client could lock out all others.
//
// # Tokens and users
//
// A server may ask for a token ([Guard.Token]), as RFC 6750 has it: a request has it in the
// header Authorization. Reading a path that tells nothing but that the server is well may need
// none ([Guard.Open]). On a UNIX socket only this process's user and root are let in, whatever
// the file's mode is: the system tells who has connected.
//
// Everything that is refused is an error of type [*Refusal] with its [Rule], which the
// servers count.
package guard

import (
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"
)

// Guard says which requests a server answers. Its fields are set before the first request; its
// methods may be called from any goroutine. The zero value lets in what the package's
// documentation says.
type Guard struct {
	// Names are names of this server that requests may have as their Host, beside those that
	// nobody else can have.
	Names []string
	// Pages are origins whose pages are let in too, patterns of path.Match. They are hosts with
	// their ports, and with a scheme before them where no other will do. Examples are
	// "dashboard.example", "localhost:*", "https://*.example" and "null"; "*" is every page
	// under any Host.
	Pages []string
	// Token is what each request has to have, as "Authorization: Bearer TOKEN"; empty for none.
	Token string
	// Open are paths that may be read without it.
	Open []string
	// NameOption and PageOption are what the user says to add to Names and to Pages; empty
	// where the user can't.
	NameOption, PageOption string
}

// Check returns nil for a request that is to be answered, else a *Refusal. The request's
// context has the local address as http.Server puts it there (http.LocalAddrContextKey);
// request.TLS is set where the connection is encrypted.
func (g *Guard) Check(r *http.Request) error {
	if !slices.Contains(g.Pages, "*") {
		if r.TLS == nil && !g.own(r.Host) {
			return refuse(BadHost, "the host %q is not this server's: use its IP address%s", r.Host, orIn(g.NameOption, r.Host))
		}
		if origin := r.Header.Get("Origin"); !g.welcomes(origin, r) || len(r.Header.Values("Origin")) > 1 {
			return refuse(BadOrigin, "pages of %q may not use this server%s", origin, unlessIn(g.PageOption, origin))
		}
	}
	if g.Token != "" && !g.open(r) && !g.knows(r.Header.Get("Authorization")) {
		return refuse(BadToken, "this server asks for its token: send the header Authorization: Bearer TOKEN")
	}
	return nil
}

// CheckPage returns nil for a request for a page whose own requests Check would answer, else the *Refusal that those would
// get. They have the origin under which the page was loaded, which isn't always welcome though the host is: an address that
// isn't this machine's own, or a name that nobody has named. So it is said where somebody reads it.
func (g *Guard) CheckPage(r *http.Request) error {
	if origin := "http://" + strings.ToLower(r.Host); !slices.Contains(g.Pages, "*") && !g.welcomes(origin, r) {
		return refuse(BadOrigin, "pages of %q may not use this server%s", origin, unlessIn(g.PageOption, origin))
	}
	return nil
}

// CheckToken returns nil for the server's token, which came in another way than a header, else a *Refusal. Where
// the server asks for none, any is right.
func (g *Guard) CheckToken(token string) error {
	switch {
	case g.Token == "" || g.same(token):
		return nil
	case token == "":
		return refuse(BadToken, "this server asks for its token: open the address that it printed, with #token= at its end")
	default:
		return refuse(BadToken, "the token isn't this server's: open the address that it printed when it began")
	}
}

// open reports whether a request reads one of the paths that need no token.
func (g *Guard) open(r *http.Request) bool {
	return (r.Method == http.MethodGet || r.Method == http.MethodHead) && slices.Contains(g.Open, r.URL.Path)
}

// knows reports whether a header Authorization has the token.
func (g *Guard) knows(authorization string) bool {
	scheme, token, _ := strings.Cut(authorization, " ")
	return g.same(token) && strings.EqualFold(scheme, "Bearer")
}

// same compares a token with the server's. It takes the same time for all others: comparing digests
// doesn't even tell the token's length.
func (g *Guard) same(token string) bool {
	given, own := sha256.Sum256([]byte(token)), sha256.Sum256([]byte(g.Token))
	return subtle.ConstantTimeCompare(given[:], own[:]) == 1
}

// orIn says how the user lets a host in. A flag is given as it is to be typed.
func orIn(option, host string) string {
	switch {
	case option == "":
		return ""
	case strings.HasPrefix(option, "--"):
		return ", or name it: " + option + " " + nameOf(host)
	}
	return ", or name it in " + option
}

// unlessIn says how the user lets pages of an origin in.
func unlessIn(option, origin string) string {
	switch u, err := url.Parse(origin); {
	case option == "":
		return ""
	case strings.HasPrefix(option, "--") && err == nil && u.Hostname() != "":
		return ": if they are to, start it with " + option + " " + u.Hostname()
	}
	return ": name them in " + option + " if they are to"
}

// nameOf returns a Host header's name, without its port.
func nameOf(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		return name
	}
	return host
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
	name := strings.ToLower(strings.TrimSuffix(strings.TrimPrefix(nameOf(host), "["), "]"))
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

// Rule names the rule by which somebody wasn't let in. In counts and summaries it is the cause.
type Rule string

// Rules that refuse.
const (
	// BadHost: the request names a host that isn't this server's.
	BadHost Rule = "bad_host"
	// BadOrigin: the request is a page's that may not use this server.
	BadOrigin Rule = "bad_origin"
	// BadToken: the request hasn't the server's token.
	BadToken Rule = "bad_token"
	// BadUser: on a UNIX socket, somebody who is neither this process's user nor root.
	BadUser Rule = "bad_user"
	// SlowHandshake: a handshake took longer than HandshakeTime.
	SlowHandshake Rule = "slow_handshake"
	// Handshaking: there were too many handshakes, and it was the oldest.
	Handshaking Rule = "too_many_handshakes"
	// Connecting: the server had all the connections that it takes.
	Connecting Rule = "too_many_connections"
	// OfAddress: it had as many of that address as it takes.
	OfAddress Rule = "too_many_of_address"
)

// Refusal is why a request or a connection wasn't let in.
type Refusal struct {
	Rule Rule
	text string
}

func (r *Refusal) Error() string { return r.text }

func refuse(rule Rule, format string, args ...any) *Refusal {
	return &Refusal{rule, fmt.Sprintf(format, args...)}
}

// Count returns counts by rule with one more for an error that wraps a *Refusal, and as they
// are for any other. It changes no map: copies of a count may be handed out.
func Count(counts map[string]int64, err error) map[string]int64 {
	var refusal *Refusal
	if !errors.As(err, &refusal) {
		return counts
	}
	return Merge(counts, map[string]int64{string(refusal.Rule): 1})
}

// Merge returns the sum of two counts, and changes neither.
func Merge(a, b map[string]int64) map[string]int64 {
	if len(b) == 0 {
		return a
	}
	sum := make(map[string]int64, len(a)+len(b))
	maps.Copy(sum, a)
	for cause, n := range b {
		sum[cause] += n
	}
	return sum
}

// Limits of all servers; "Who may connect" in docs/bridges/README.md has them as a table.
const (
	// Handshakes is the number of connections of a server whose request, or what its protocol
	// begins with, isn't there yet. One more ends the oldest.
	Handshakes = 64
	// AddressHandshakes of them may be of one address of another machine. One more ends the
	// oldest of that address.
	AddressHandshakes = 16
	// HandshakeTime is how long one may last: for HTTP, a request with its body. A
	// WebSocket's has none. With TLS its handshake counts too.
	HandshakeTime = 2 * time.Second
	// HeaderBytes bounds the request line and the headers.
	HeaderBytes = 64 << 10
	// RequestTime is the time for the rest of a request, and for its answer.
	RequestTime = 10 * time.Second
	// IdleTime is how long a connection of HTTP may rest between two requests.
	IdleTime = time.Minute

	// PingInterval is the time between two pings of a WebSocket client. SilenceLimit is how
	// long nothing may come from it, answers to pings included.
	PingInterval = 10 * time.Second
	SilenceLimit = 20 * time.Second

	// ControlConnections is how many connections of the control port have shaken hands at a
	// time. NodeCalls is the same for the API of ros1's node (XML-RPC), NodeConnections for its
	// topics and services (TCPROS). Half of them may be of one address of another machine.
	ControlConnections = 64
	NodeCalls          = 256
	NodeConnections    = 1024
)

// Limits of what one client of a WebSocket bridge may send, and have kept. "What a client may
// have kept" in docs/bridges/README.md has them as a table.
const (
	// MessageBytes bounds a message that a client sends.
	MessageBytes = 16 << 20
	// KeptBytes bounds all that is kept for a client beside the messages that wait for it. That
	// is registrations, messages that aren't complete, calls that wait, and unread answers.
	KeptBytes = 16 << 20
	// EntryBytes is what an entry in a server's tables counts for in KeptBytes, besides its
	// texts.
	EntryBytes = 256
	// ReasonBytes bounds the text of a status, and of an error that is kept: either may quote
	// what the client sent.
	ReasonBytes = 1 << 10
	// NameBytes bounds names: of operations, topics, services, types, parameters, encodings.
	NameBytes = 256
	// IDBytes bounds ids that a client chooses.
	IDBytes = 1 << 10
	// ListElements bounds a list in a message.
	ListElements = 4096
	// ParameterBytes bounds a value that a client gives a parameter, in JSON.
	ParameterBytes = 64 << 10

	// ClientTopics is how many topics a client may subscribe to, and advertise, and
	// TopicSubscriptions how often one of them, each with an id (rosbridge).
	ClientTopics       = 4096
	TopicSubscriptions = 64
	// ThrottledMessages is how many messages of a topic wait for their time, however large a
	// queue_length the client asks for (rosbridge).
	ThrottledMessages = 64
	// ClientChannels and ClientParameters are how many channels a client may advertise, and how
	// many parameters it may subscribe to (foxglove).
	ClientChannels   = 256
	ClientParameters = 4096
	// ServiceCalls is how many calls of one service wait (rosbridge), and ServerCalls of all
	// services together (foxglove).
	ServiceCalls = 16
	ServerCalls  = 64
	// FragmentedMessages is how many messages may be incomplete, and Fragments in how many
	// parts one may come (rosbridge).
	FragmentedMessages = 16
	Fragments          = 1 << 16
)

// Excerpt returns a text, or as much of its beginning as so many bytes hold.
func Excerpt(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return strings.ToValidUTF8(text[:most], "\ufffd") + "..."
}
