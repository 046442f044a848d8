package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"strconv"
	"syscall"

	"github.com/raybridge/raybridge/bridges/stream"
	"github.com/raybridge/raybridge/cmd/raybridge/internal/control"
	"github.com/raybridge/raybridge/cmd/raybridge/internal/page"
)

// viewAddress is where the live page is, unless --api says otherwise. Where somebody has the port, it is any free one.
const viewAddress = defaultAPI

// listenWithPage is control.Listen for a run with the live page: it takes another port where nobody has asked for one and
// the usual is taken, and makes a token where other machines reach the address and none is given.
func (pl *plan) listenWithPage(ctx context.Context) (*control.Server, error) {
	api := pl.api
	server, err := control.Listen(ctx, api.at, api.token, api.origins...)
	if api.anyPort && errors.Is(err, syscall.EADDRINUSE) {
		if !pl.flags.quiet {
			fmt.Fprintf(pl.progress.out, "port %d is in use: the page has another\n", api.at.Port)
		}
		api.at.Port = 0
		server, err = control.Listen(ctx, api.at, api.token, api.origins...)
	}
	if errors.Is(err, control.ErrToken) {
		api.token, api.madeToken = rand.Text(), true
		server, err = control.Listen(ctx, api.at, api.token, api.origins...)
	}
	return server, err
}

// pageShare is of how many parts of the run's memory one is for what pages are shown. What they have no room for isn't shown:
// the run doesn't want for memory because somebody looks.
const pageShare = 8

// addPage makes the bridge that serves the page's data.
func (s *controlServer) addPage() error {
	files, err := page.New()
	if err == nil {
		s.view = &control.View{Files: files, Port: stream.NewPagePort(s.Listener(), s.Admit, s.memory.Share(pageShare))}
	}
	return err
}

// pageURL is where a browser finds the page. A token that was made for this run comes with it, behind the sign that no
// browser sends to a server.
func pageURL(at net.Addr, api *apiPlan) string {
	url := "http://" + reached(at) + "/"
	if api.madeToken {
		url += "#token=" + api.token
	}
	return url
}

// reached returns an address at which others reach a listener: that of this machine where it listens at all of them.
func reached(at net.Addr) string {
	tcp, ok := at.(*net.TCPAddr)
	if !ok || !tcp.IP.IsUnspecified() {
		return at.String()
	}
	host := "127.0.0.1"
	if own, err := net.InterfaceAddrs(); err == nil {
		for _, one := range own {
			if in, ok := one.(*net.IPNet); ok && in.IP.IsGlobalUnicast() && in.IP.To4() != nil {
				host = in.IP.String()
				break
			}
		}
	}
	return net.JoinHostPort(host, strconv.Itoa(tcp.Port))
}
