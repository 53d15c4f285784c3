//go:build integration && unix

package integration

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/transport"
)

// A target is a server, as it is reached.
type target struct {
	server    string // whose it is: sdk, npm or own
	transport string // stdio, http or sse
	revision  string // that is to be agreed on
	dial      func(t *testing.T, p *peer) mcp.Transport
}

func (g target) String() string { return g.server + " " + g.transport + " " + g.revision }

const (
	legacy = mcp.Revision20251125
	modern = mcp.Revision20260728
)

// targets are the official SDK's server for its conformance tests, the
// everything server of the MCP project, and the example server of this module.
func targets() []target {
	list := []target{
		{"sdk", "stdio", legacy, stripped},
		{"sdk", "stdio", modern, child(sdkServer)},
		{"sdk", "http", legacy, sdkHTTP("-stateless=false")},
		{"sdk", "http", modern, sdkHTTP("-stateless=true")},
		{"npm", "stdio", legacy, func(t *testing.T, _ *peer) mcp.Transport {
			return &transport.Command{Path: "node", Args: []string{script(t, "everything"), "stdio"}}
		}},
		{"npm", "http", legacy, func(t *testing.T, _ *peer) mcp.Transport {
			return &transport.HTTP{URL: listen(t, "streamableHttp").url()}
		}},
		{"npm", "sse", legacy, func(t *testing.T, _ *peer) mcp.Transport {
			return &transport.HTTP{Variant: transport.SSE, URL: listen(t, "sse").url()}
		}},
		{"own", "http", legacy, ownHTTP(legacy)},
		{"own", "http", modern, ownHTTP("")},
	}
	for _, revision := range []string{"2024-11-05", "2025-03-26", "2025-06-18", legacy} {
		list = append(list, target{"own", "stdio", revision, child(ownServer, "-revision", revision)})
	}
	return append(list, target{"own", "stdio", modern, child(ownServer)})
}

const (
	sdkServer = "github.com/modelcontextprotocol/go-sdk/conformance/everything-server"
	ownServer = "github.com/mcpbelt/mcpbelt/examples/servers/features"
)

// programs are the servers that were built, by package.
var programs struct {
	sync.Mutex
	dir  string
	path map[string]string
}

// program builds a package, once for all tests, and returns the path of the
// program.
func program(t *testing.T, pkg string) string {
	t.Helper()
	programs.Lock()
	defer programs.Unlock()
	if path, ok := programs.path[pkg]; ok {
		return path
	}
	if programs.dir == "" {
		programs.dir, programs.path = assert.Value(os.MkdirTemp("", "integration"))(t), make(map[string]string)
	}
	path := filepath.Join(programs.dir, filepath.Base(pkg))
	out, err := exec.CommandContext(ctxFor(t), "go", "build", "-o", path, pkg).CombinedOutput()
	assert.OK(t, err, "go build %s: %s", pkg, out)
	programs.path[pkg] = path
	return path
}

// child reaches a server that runs as our child.
func child(pkg string, args ...string) func(*testing.T, *peer) mcp.Transport {
	return func(t *testing.T, _ *peer) mcp.Transport {
		return &transport.Command{Path: program(t, pkg), Args: args}
	}
}

// strip is the variable that makes this test's binary the program of stripped.
const strip = "INTEGRATION_STRIP"

// stripped reaches the SDK's server, which speaks all revisions, through a
// process that keeps the newest from it.
func stripped(t *testing.T, p *peer) mcp.Transport {
	return &transport.Command{
		Path: self(t), Args: []string{program(t, sdkServer)}, Env: append(os.Environ(), strip+"=1"),
		Stderr: func(line string) { p.user.hear(line) },
	}
}

// serveStripped runs the program in its arguments and hands lines through, but
// for the probe for revision 2026-07-28, which it refuses. It tells of pings.
func serveStripped() {
	cmd := exec.Command(os.Args[1], os.Args[2:]...)
	cmd.Stdout = os.Stdout
	in, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		line := lines.Text()
		switch {
		case strings.Contains(line, `"method":"server/discover"`):
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"unknown method"}}`+"\n", idIn(line))
			continue
		case strings.Contains(line, `"method":"ping"`):
			fmt.Fprintln(os.Stderr, "a ping came")
		}
		if _, err := io.WriteString(in, line+"\n"); err != nil {
			break
		}
	}
	in.Close()
	_ = cmd.Wait() // its end is ours
}

// idIn returns the id of a request.
func idIn(line string) string {
	_, id, _ := strings.Cut(line, `"id":`)
	id, _, _ = strings.Cut(id, ",")
	return strings.TrimSuffix(id, "}")
}

// sdkHTTP reaches the SDK's server over HTTP, which has the new revision where
// it keeps no state, and the older ones where it does.
func sdkHTTP(state string) func(*testing.T, *peer) mcp.Transport {
	return func(t *testing.T, _ *peer) mcp.Transport {
		addr := fmt.Sprintf("127.0.0.1:%d", freePort(t))
		run(t, exec.Command(program(t, sdkServer), "-http", addr, state))
		eventually(t, "the server to listen", func() bool {
			c, err := net.Dial("tcp", addr)
			if err == nil {
				c.Close()
			}
			return err == nil
		})
		return &transport.HTTP{URL: "http://" + addr}
	}
}

// ownHTTP reaches our example server over HTTP. No revision means all.
func ownHTTP(revision string) func(*testing.T, *peer) mcp.Transport {
	return func(t *testing.T, _ *peer) mcp.Transport {
		log := run(t, exec.Command(program(t, ownServer), "-http", "127.0.0.1:0", "-revision", revision))
		address := ""
		eventually(t, "the server to listen", func() bool {
			_, line, found := strings.Cut(log.String(), "listening on ")
			address, _, _ = strings.Cut(line, "\n")
			return found
		})
		assert.Value(url.Parse(address))(t)
		return &transport.HTTP{URL: address}
	}
}

// A record is what a process wrote.
type record struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (r *record) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.b.Write(p)
}

func (r *record) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.b.String()
}

// run starts a process that is killed at the end of the test, and returns what
// it writes.
func run(t *testing.T, cmd *exec.Cmd) *record {
	t.Helper()
	log := &record{}
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	assert.OK(t, cmd.Start())
	t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		_ = cmd.Wait() // killed
		if t.Failed() {
			t.Logf("log of %s:\n%s", cmd, log)
		}
	})
	return log
}

// A server is the everything server listening on a port, as our own child.
type server struct {
	mode string // streamableHttp or sse
	port int
	cmd  *exec.Cmd
	log  *bytes.Buffer
	done chan struct{} // closed when the process is gone
}

// listen starts the everything server on a free port and stops it at the end
// of the test.
func listen(t *testing.T, mode string) *server {
	t.Helper()
	s := &server{mode: mode, port: freePort(t)}
	s.start(t)
	t.Cleanup(func() {
		s.kill()
		if t.Failed() {
			t.Logf("log of the last %s server:\n%s", mode, s.log)
		}
	})
	return s
}

// freePort returns a port for a server that is started later, and perhaps again. It is none of
// those that the system gives to whoever asks for any: another test would listen there meanwhile.
func freePort(t *testing.T) int {
	t.Helper()
	for range 1000 {
		port := 20_000 + rand.IntN(12_000)
		if l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port)); err == nil {
			l.Close()
			return port
		}
	}
	t.Fatal("no port is free")
	return 0
}

// start returns when the server accepts connections.
func (s *server) start(t *testing.T) {
	t.Helper()
	s.log, s.done = new(bytes.Buffer), make(chan struct{})
	s.cmd = exec.Command("node", script(t, "everything"), s.mode)
	s.cmd.Env = append(os.Environ(), "PORT="+strconv.Itoa(s.port))
	s.cmd.Stdout, s.cmd.Stderr = s.log, s.log
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	assert.OK(t, s.cmd.Start())
	cmd, done := s.cmd, s.done
	go func() {
		defer close(done)
		_ = cmd.Wait() // killed, always
	}()
	eventually(t, "the server to listen", func() bool {
		select {
		case <-done:
			t.Fatalf("the server ended by itself:\n%s", s.log)
		default:
		}
		c, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", s.port))
		if err != nil {
			return false
		}
		c.Close()
		return true
	})
}

// kill ends the process as kill -9 does and waits until it is gone.
func (s *server) kill() {
	select {
	case <-s.done: // its number may belong to another process by now
	default:
		_ = syscall.Kill(-s.cmd.Process.Pid, syscall.SIGKILL)
		<-s.done
	}
}

func (s *server) url() string {
	path := "/mcp"
	if s.mode == "sse" {
		path = "/sse"
	}
	return fmt.Sprintf("http://127.0.0.1:%d%s", s.port, path)
}

// eventually waits for something that another process does and cannot announce.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	ctx := ctxFor(t)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-ctx.Done():
			t.Fatalf("waited in vain for %s", what)
		case <-tick.C:
		}
	}
}
