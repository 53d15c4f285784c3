package main

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"
)

// A row is what calls of one tool in one revision took, in microseconds, in each round.
type row struct {
	revision                string
	kind                    kind
	direct, through, beside []float64
}

type table struct {
	options *options
	rows    []row
	session float64 // bytes
}

func middle(of []float64) float64 {
	sorted := slices.Sorted(slices.Values(of))
	return sorted[len(sorted)/2]
}

func (t *table) write() error {
	var b bytes.Buffer
	o := t.options
	fmt.Fprintf(&b, `# What a gateway costs

Written by %s; change nothing by hand.

%s, %s, %s/%s, %d cores. %d rounds of %d calls each, medians of the rounds' medians.

| calls | direct, µs | through the gateway, µs | the hop, µs | ratio | goal |%s
|---|--:|--:|--:|--:|---|%s
`, "`make bench`", time.Now().UTC().Format(time.DateOnly), runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), o.rounds, o.calls,
		t.column(" "+o.besideIs+", µs |"), t.column("--:|"))
	for _, r := range t.rows {
		d, g := middle(r.direct), middle(r.through)
		goal := "≤ 1.5 × direct"
		if r.kind.small {
			goal = "hop ≤ 250 µs"
		}
		other := ""
		if r.beside != nil {
			other = fmt.Sprintf(" %.0f |", middle(r.beside))
		}
		fmt.Fprintf(&b, "| %s, %s | %.0f | %.0f | %.0f | %.2f | %s |%s\n", r.revision, r.kind.name, d, g, g-d, g/d, goal, other)
	}
	fmt.Fprintf(&b, `
An idle session holds %.0f bytes: the mean of %d.

Client, gateway and server are a process each on the same cores, over loopback HTTP, with one
caller. The server uses no SDK and answers from bytes made beforehand; the client is this
library's, so a direct call holds all of its work, and a call through the gateway that of the
gateway's client too. Another gateway to the same server is measured in the same rounds by

    cd bench && go run ./gateway -listen 127.0.0.1:9099 -beside URL -prefix PREFIX
`, t.session, o.sessions)
	if o.out == "" {
		_, err := os.Stdout.Write(b.Bytes())
		return err
	}
	return os.WriteFile(o.out, b.Bytes(), 0o644)
}

func (t *table) column(text string) string {
	if t.options.beside == "" {
		return ""
	}
	return text
}

// sessionBytes returns how much memory an idle session holds.
func sessionBytes(n int) (float64, error) {
	g, stop, err := newGateway(context.Background(), "")
	if err != nil {
		return 0, err
	}
	defer func() { _ = stop() }()
	const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{}},"clientInfo":{"name":"bench","version":"1"}}}`
	local := context.WithValue(context.Background(), http.LocalAddrContextKey, &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	begin := func() error {
		r, err := http.NewRequestWithContext(local, http.MethodPost, "http://localhost/mcp", strings.NewReader(initialize))
		if err != nil {
			return err
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		w := status{header: http.Header{}}
		if g.ServeHTTP(&w, r); w.code != http.StatusOK {
			return fmt.Errorf("initialize: status %d", w.code)
		}
		return nil
	}
	if err := begin(); err != nil {
		return 0, err
	}
	before := heap()
	for range n {
		if err := begin(); err != nil {
			return 0, err
		}
	}
	return float64(heap()-before) / float64(n), nil
}

// A status is a response of which only the status counts.
type status struct {
	header http.Header
	code   int
}

func (s *status) Header() http.Header         { return s.header }
func (s *status) Write(p []byte) (int, error) { return len(p), nil }
func (s *status) WriteHeader(code int)        { s.code = code }

func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
