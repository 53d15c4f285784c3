package belt

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/mcpbelt/mcpbelt/auth"
	"github.com/mcpbelt/mcpbelt/cmd/mcpbelt/internal/cli"
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/internal/atomicfile"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/session"
	"github.com/mcpbelt/mcpbelt/transport"
)

// A Station is a program of the user that holds connections to servers and listens on a
// socket of theirs: mcpbelt daemon or serve.
type Station struct {
	Name   string // daemon, or serve with the number of its process
	client *http.Client
}

// ControlPath is where a station answers about itself.
const ControlPath = "/control/"

// SocketPath returns the socket of a station.
func (b *Belt) SocketPath(name string) (string, error) {
	if b.Env.StateDir == "" {
		return "", &cli.Error{Exit: cli.Failed, Message: "there is no state folder to put a socket in", Cure: "set HOME or XDG_STATE_HOME"}
	}
	path := filepath.Join(b.Env.StateDir, "run", name+".sock")
	const most = 100 // some systems take 104 bytes
	if len(path) > most {
		return "", &cli.Error{Exit: cli.Failed, Message: "the path of the socket is too long: " + path, Cure: "set XDG_STATE_HOME to a shorter folder"}
	}
	return path, nil
}

// DaemonName returns the name of the daemon of an account.
func (b *Belt) DaemonName() string {
	if b.Account == "" {
		return "daemon"
	}
	return "daemon-" + b.Account
}

// Station returns the station of a name. It may not be there.
func (b *Belt) Station(name string) (*Station, error) {
	path, err := b.SocketPath(name)
	if err != nil {
		return nil, err
	}
	var dialer net.Dialer
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) { return dialer.DialContext(ctx, "unix", path) }
	return &Station{Name: name, client: &http.Client{Transport: &http.Transport{DialContext: dial}}}, nil
}

// Stations returns the stations that have a socket. One that was killed has, too.
func (b *Belt) Stations() []*Station {
	path, err := b.SocketPath("x")
	if err != nil {
		return nil
	}
	entries, _ := os.ReadDir(filepath.Dir(path))
	var list []*Station
	for _, e := range entries {
		if name, ok := strings.CutSuffix(e.Name(), ".sock"); ok {
			if s, err := b.Station(name); err == nil {
				list = append(list, s)
			}
		}
	}
	return list
}

// Ask sends a request to the control of the station and decodes its answer.
func (s *Station) Ask(ctx context.Context, method, path string, answer any) error {
	r, err := http.NewRequestWithContext(ctx, method, "http://localhost"+ControlPath+path, nil)
	if err != nil {
		return err
	}
	res, err := s.client.Do(r)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answered %s", s.Name, res.Status)
	}
	return json.NewDecoder(res.Body).Decode(answer)
}

// Close ends the connections to the station.
func (s *Station) Close() { s.client.CloseIdleConnections() }

// A Held is a server that a daemon holds, as it answers to the request servers.
type Held struct {
	Hash string `json:"hash"` // of the entry
	File string `json:"file"` // of the entry; empty for one of the user
}

// HeldOf returns what a daemon says of a server.
func HeldOf(s *config.Server) Held {
	h := Held{Hash: s.Hash()}
	if s.Source.Scope.NeedsApproval() {
		h.File = s.Source.File
	}
	return h
}

// warm returns which of the servers a daemon holds as they are configured, and the function
// that makes transports to them. Without a daemon it is nil.
func (b *Belt) warm(ctx context.Context, servers []*config.Server) (map[string]bool, func(session.Key, *config.Server) (mcp.Transport, error)) {
	station, err := b.Station(b.DaemonName())
	if err != nil || b.NoDaemon || allAdHoc(servers) {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	var held map[string]Held
	if err := station.Ask(ctx, http.MethodGet, "servers", &held); err != nil {
		return nil, nil // there is none, or it was killed
	}
	there := map[string]bool{}
	for _, s := range servers {
		there[s.Name] = !IsAdHoc(s) && held[s.Name] == HeldOf(s)
	}
	b.ends = append(b.ends, station.Close)
	return there, func(_ session.Key, e *config.Server) (mcp.Transport, error) {
		if !there[e.Name] {
			return nil, nil
		}
		return &heldTransport{station: station, server: e.Name}, nil
	}
}

// A Started says what became of the start of a server that a daemon holds.
type Started struct {
	Error string `json:"error,omitempty"` // why it is not ready; empty if it is
	Login bool   `json:"login,omitempty"` // since the user has to log in
}

// A heldTransport connects to a server that a daemon holds, and has it started first.
type heldTransport struct {
	station *Station
	server  string
}

// Connect implements mcp.Transport.
func (t *heldTransport) Connect(ctx context.Context) (mcp.Conn, error) {
	var started Started
	if err := t.station.Ask(ctx, http.MethodPost, "start?"+url.Values{"server": {t.server}}.Encode(), &started); err != nil {
		return nil, err
	}
	switch {
	case started.Login:
		return nil, &auth.LoginRequiredError{Server: t.server}
	case started.Error != "":
		return nil, errors.New(started.Error)
	}
	to := &transport.HTTP{URL: "http://localhost/s/" + url.PathEscape(t.server) + "/mcp", RoundTripper: t.station.client.Transport}
	return to.Connect(ctx)
}

// Listen opens the socket of a station, for the user alone. The socket of one that was
// killed is replaced; if one is there the error says so.
func (b *Belt) Listen(ctx context.Context, name string) (net.Listener, error) {
	path, err := b.SocketPath(name)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	unlock, err := atomicfile.Lock(ctx, path) // of two that begin at one time one has the socket
	if err != nil {
		return nil, err
	}
	defer unlock()
	var dialer net.Dialer
	if conn, err := dialer.DialContext(ctx, "unix", path); err == nil {
		_ = conn.Close()
		return nil, &cli.Error{Exit: cli.Failed, Message: "it runs already, at " + path, Cure: "mcpbelt daemon --stop"}
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	l, err := net.Listen("unix", path)
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}
