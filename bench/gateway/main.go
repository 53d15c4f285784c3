// Command gateway measures what a gateway between a client and a server costs, and writes
// GATEWAY.md.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/gateway"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/transport"
)

// options are the flags of the command.
type options struct {
	calls, rounds, sessions  int
	out, listen              string
	beside, prefix, besideIs string
}

func main() {
	var o options
	role := flag.String("role", "", "of a child process: server or gateway")
	upstream := flag.String("upstream", "", "URL of the server of a gateway")
	flag.IntVar(&o.calls, "calls", 2000, "calls for each figure in each round")
	flag.IntVar(&o.rounds, "rounds", 5, "rounds")
	flag.IntVar(&o.sessions, "sessions", 10_000, "idle sessions")
	flag.StringVar(&o.out, "out", "", "file for the table; none: it is printed")
	flag.StringVar(&o.listen, "listen", "127.0.0.1:0", "address of the server")
	flag.StringVar(&o.beside, "beside", "", "URL of another gateway to the server, to be measured in the same rounds")
	flag.StringVar(&o.prefix, "prefix", "", "what that gateway puts before names of tools")
	flag.StringVar(&o.besideIs, "beside-name", "other gateway", "its name in the table")
	flag.Parse()
	var err error
	switch *role {
	case "server":
		err = serve(o.listen)
	case "gateway":
		err = serveGateway(*upstream)
	default:
		err = measure(&o)
	}
	if err != nil {
		log.Fatal(err)
	}
}

// measure measures everything.
func measure(o *options) error {
	server, stop, err := child("-role", "server", "-listen", o.listen)
	if err != nil {
		return err
	}
	defer stop()
	through, stop, err := child("-role", "gateway", "-upstream", server)
	if err != nil {
		return err
	}
	defer stop()
	t := &table{options: o}
	for _, revision := range []string{mcp.Revision20251125, mcp.Revision20260728} {
		for _, kind := range kinds() {
			r := row{revision: revision, kind: kind}
			for range o.rounds {
				for _, s := range []struct {
					url, prefix string
					into        *[]float64
				}{{server, "", &r.direct}, {through, "", &r.through}, {o.beside, o.prefix, &r.beside}} {
					if s.url == "" {
						continue
					}
					p50, err := median(s.url, revision, s.prefix, kind, o.calls)
					if err != nil {
						return err
					}
					*s.into = append(*s.into, p50)
				}
			}
			t.rows = append(t.rows, r)
		}
	}
	if t.session, err = sessionBytes(o.sessions); err != nil {
		return err
	}
	return t.write()
}

// child starts this program in a role, and returns the line that it prints first.
func child(args ...string) (line string, stop func(), err error) {
	program, err := os.Executable()
	if err != nil {
		return "", nil, err
	}
	cmd := exec.Command(program, args...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return "", nil, err
	}
	in, err := cmd.StdinPipe() // whose end ends the child
	if err != nil {
		return "", nil, err
	}
	if err := cmd.Start(); err != nil {
		return "", nil, err
	}
	stop = func() {
		_ = in.Close()
		_ = cmd.Wait()
	}
	if line, err = bufio.NewReader(out).ReadString('\n'); err != nil {
		stop()
		return "", nil, err
	}
	return strings.TrimSpace(line), stop, nil
}

// newGateway returns a gateway to a server, or to none if the URL is empty.
func newGateway(ctx context.Context, upstream string) (*gateway.Gateway, func() error, error) {
	entry := `{"mcpServers":{}}`
	if upstream != "" {
		entry = fmt.Sprintf(`{"mcpServers":{"bench":{"type":"http","url":%q}}}`, upstream)
	}
	c, err := config.Parse(ctx, "mcp.json", []byte(entry), nil)
	if err != nil {
		return nil, nil, err
	}
	o := &host.Options{StateDir: host.NoState}
	gateway.Prepare(o)
	h := host.New(o)
	if _, err := h.Apply(ctx, c); err != nil {
		return nil, nil, errors.Join(err, h.Close())
	}
	for all := range h.Watch(ctx) {
		if !slices.ContainsFunc(all, func(s host.Status) bool { return s.Stage != host.StageReady }) {
			break
		}
	}
	g, err := gateway.New(h, &gateway.Options{Anonymous: true})
	if err != nil {
		return nil, nil, errors.Join(err, h.Close())
	}
	return g, func() error { return errors.Join(g.Close(), h.Close()) }, nil
}

func serveGateway(upstream string) error {
	g, stop, err := newGateway(context.Background(), upstream)
	if err != nil {
		return err
	}
	defer func() { _ = stop() }()
	return listen("127.0.0.1:0", "/s/bench/mcp", g)
}

// listen serves a handler until standard input ends, and prints where.
func listen(address, path string, handler http.Handler) error {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	s := &http.Server{Handler: handler, ReadHeaderTimeout: time.Minute}
	go func() {
		_, _ = os.Stdin.Read(make([]byte, 1))
		_ = s.Close()
	}()
	fmt.Println("http://" + l.Addr().String() + path)
	if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// A kind is a kind of call.
type kind struct {
	name, tool, args string
	small            bool
}

func kinds() []kind {
	return []kind{
		{"small answer", "small", `{"text":"ping"}`, true},
		{"100 KB answer", "large", `{"text":"ping"}`, false},
		{"100 KB of arguments", "small", `{"text":` + largeText() + `}`, false},
	}
}

// median returns the median of the times of calls, in microseconds.
func median(url, revision, prefix string, k kind, calls int) (float64, error) {
	ctx := context.Background()
	c := mcp.NewClient("bench", &transport.HTTP{URL: url}, &mcp.ClientOptions{ProtocolVersion: revision})
	defer c.Close()
	if err := c.Ready(ctx); err != nil {
		return 0, err
	}
	times := make([]time.Duration, 0, calls)
	for i := range calls + calls/10 { // the first tenth does not count
		begun := time.Now()
		res, err := c.CallTool(ctx, prefix+k.tool, json.RawMessage(k.args), nil)
		if err == nil && (res.IsError || len(res.Text()) == 0) {
			err = errors.New(res.Text())
		}
		if err != nil {
			return 0, err
		}
		if i >= calls/10 {
			times = append(times, time.Since(begun))
		}
	}
	slices.Sort(times)
	return float64(times[len(times)/2].Nanoseconds()) / 1000, nil
}
