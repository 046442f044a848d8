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
// gives out. Such are an IP address, a name without a dot, one of the reserved domains of local
// networks (.localhost, .local, .internal, .home.arpa), the machine's own name, and names that
// the user gave. On an encrypted connection the certificate has shown that already.
//
// # Desktop applications
//
// Lichtblick's desktop application, and Foxglove's as long as its source was open, show pages of
// files that Electron gives more rights than a browser does: their origin is file://. In
// Chromium 156, Firefox 153 and WebKitGTK 2.50, a page of a file that a user opens has the
// origin null. So have sandboxed frames and data URLs of any site. Chromium sends file://
// only where it was told to trust files (--allow-file-access-from-files), which is what
// Electron does. So no web page sends file://, and it is let in; null is refused unless it is
// named.
//
// # Connections
//
// A [Gate] counts connections. Those that haven't said yet what they want don't count as
// clients. At most [Handshakes] of them are there, for [HandshakeTime] each; one more ends
// the oldest. Limits of one address are for other machines alone: on the loopback interface,
// one client could lock out all others.
//
// Everything that is refused is an error of type [*Refusal] with its [Rule], which the
// servers count.
package guard
