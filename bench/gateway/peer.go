package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/benchprocess"
	"github.com/mcpbelt/mcpbelt/internal/npmdir"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/transport"
)

// A peerRow is what calls took directly and through two gateways, in microseconds, in each round.
type peerRow struct {
	kind                kind
	direct, ours, other []float64
}

// serveStdio answers the lines of standard input.
func serveStdio() error {
	in, large := bufio.NewReader(os.Stdin), largeResult()
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return nil
		}
		if out := answer(line, large); out != nil {
			if _, err := os.Stdout.Write(append(out, '\n')); err != nil {
				return err
			}
		}
	}
}

// measurePeer measures a gateway of npm and ours, each with the server over stdio, which is all that the other has. Without
// Node it measures nothing.
func measurePeer(t *table) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	if _, err := exec.LookPath("npm"); err != nil || t.options.npm == "" {
		return nil
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return err
	}
	dir, err := npmdir.Install(context.Background(), t.options.npm, filepath.Join(cache, "mcpbelt", "bench"))
	if err != nil {
		return err
	}
	ours, stop, err := benchprocess.Start(roleGateway, fmt.Sprintf(`{"command":%q,"args":[%q]}`, self, roleStdio))
	if err != nil {
		return err
	}
	defer stop()
	other, stopOther, err := startPeer(dir, self)
	if err != nil {
		return err
	}
	defer stopOther()
	t.peer = "mcp-proxy 6.7.19 (Node)"
	for _, kind := range kinds() {
		r := peerRow{kind: kind}
		for range t.options.rounds {
			took, err := medians(mcp.Revision20251125, kind, t.options.calls,
				&transport.Command{Path: self, Args: []string{roleStdio}}, &transport.HTTP{URL: ours}, &transport.HTTP{URL: other})
			if err != nil {
				return fmt.Errorf("%s: %w", kind.name, err)
			}
			r.direct, r.ours, r.other = append(r.direct, took[0]), append(r.ours, took[1]), append(r.other, took[2])
		}
		t.beside = append(t.beside, r)
	}
	return nil
}

// startPeer starts the other gateway, and returns its URL when it can be reached.
func startPeer(dir, self string) (url string, stop func(), err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	at := l.Addr().(*net.TCPAddr)
	_ = l.Close()
	cmd := exec.Command("node", filepath.Join(dir, "node_modules/mcp-proxy/dist/bin/mcp-proxy.mjs"), "--host", "127.0.0.1", "--port", fmt.Sprint(at.Port),
		"--server", "stream", "--", self, roleStdio)
	if err := cmd.Start(); err != nil {
		return "", nil, err
	}
	stop = func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
	for until := time.Now().Add(time.Minute); time.Now().Before(until); time.Sleep(50 * time.Millisecond) {
		if conn, err := net.Dial("tcp", at.String()); err == nil {
			_ = conn.Close()
			return "http://" + at.String() + "/mcp", stop, nil
		}
	}
	stop()
	return "", nil, errors.New("mcp-proxy does not listen")
}
