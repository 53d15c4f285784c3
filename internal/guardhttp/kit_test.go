package guardhttp

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// errOf returns the error of a call that returns a value as well.
func errOf[V any](_ V, err error) error { return err }

// A canary is a server on this machine that must not be spoken to.
type canary struct {
	url, port string
	hits      atomic.Int32
}

func (c *canary) wantUntouched(t testing.TB) {
	t.Helper()
	assert.Equal(t, c.hits.Load(), 0, "requests to the canary")
}

func newCanary(t testing.TB) *canary {
	c := &canary{}
	c.url = serve(t, func(w http.ResponseWriter, r *http.Request) {
		c.hits.Add(1)
		answerJSON(w, 200, `{}`)
	})
	c.port = parsePort(t, c.url)
	return c
}

// everything sends all requests there are to an address.
func everything(t testing.TB, c *Client, to string) []error {
	_, get := c.Get(t.Context(), to, nil)
	_, form := c.PostForm(t.Context(), to, nil, url.Values{"refresh_token": {"secret"}})
	_, json := c.PostJSON(t.Context(), to, nil, []byte(`"secret"`))
	return []error{get, form, json}
}

func public8() *Client { return New(Options{Trusted: []string{"mcp.example"}}) }

// local returns a Client for a configuration that names this machine.
func local(t testing.TB, o Options) *Client {
	o.Trusted = append(o.Trusted, "127.0.0.1")
	c := New(o)
	t.Cleanup(c.Close)
	return c
}

// serve starts a server and returns its address.
func serve(t testing.TB, h http.HandlerFunc) string {
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL
}

func answerJSON(w http.ResponseWriter, status int, body string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, body)
}

// packed returns a text as gzip packs it.
func packed(text string) []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = io.WriteString(z, text)
	_ = z.Close()
	return b.Bytes()
}

// sendEndlessly sends blanks until the client hangs up.
func sendEndlessly(w io.Writer) {
	block := bytes.Repeat([]byte(" "), 64<<10)
	for err := error(nil); err == nil; {
		_, err = w.Write(block)
	}
}

func wantFailure(t testing.TB, err error, text string) *Failure {
	t.Helper()
	f := assert.As[*Failure](t, err)
	assert.Contains(t, f.Error(), text)
	return f
}

// A zone answers questions for names, each time with the next of the addresses
// that a name has, and with the last one from then on.
type zone struct {
	mu    sync.Mutex
	names map[string][]string
	asked int
}

// resolver returns one that asks the zone.
func (z *zone) resolver(t testing.TB) *net.Resolver {
	pc := assert.Value(net.ListenPacket("udp", "127.0.0.1:0"))(t)
	var served sync.WaitGroup
	served.Go(func() {
		buf := make([]byte, 1500)
		for {
			n, from, err := pc.ReadFrom(buf)
			if err != nil {
				return
			}
			_, _ = pc.WriteTo(z.answer(buf[:n]), from)
		}
	})
	t.Cleanup(func() { _ = pc.Close(); served.Wait() })
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "udp", pc.LocalAddr().String())
	}}
}

// answer answers one question (RFC 1035, section 4.1).
func (z *zone) answer(query []byte) []byte {
	const header = 12
	var labels []string
	end := header
	for query[end] != 0 {
		labels = append(labels, string(query[end+1:end+1+int(query[end])]))
		end += 1 + int(query[end])
	}
	end++
	kind := binary.BigEndian.Uint16(query[end:])
	question := query[header : end+4]
	name := strings.ToLower(strings.Join(labels, "."))

	var addrs []netip.Addr
	z.mu.Lock()
	if list := z.names[name]; len(list) > 0 {
		for text := range strings.FieldsSeq(list[0]) {
			a := netip.MustParseAddr(text)
			if a.Is4() && kind == 1 || a.Is6() && kind == 28 {
				addrs = append(addrs, a)
			}
		}
		if len(list) > 1 && len(addrs) > 0 {
			z.names[name] = list[1:]
		}
		z.asked++
	}
	z.mu.Unlock()

	reply := append([]byte{}, query[0], query[1], 0x81, 0x80, 0, 1, 0, byte(len(addrs)), 0, 0, 0, 0)
	reply = append(reply, question...)
	for _, a := range addrs {
		reply = append(reply, 0xc0, header, 0, byte(kind), 0, 1, 0, 0, 0, 0, 0, byte(a.BitLen()/8))
		reply = append(reply, a.AsSlice()...)
	}
	return reply
}

func hasIPv6() bool {
	l, err := net.Listen("tcp6", "[::1]:0")
	if err != nil {
		return false
	}
	_ = l.Close()
	return true
}

func parsePort(t testing.TB, raw string) string { return assert.Value(url.Parse(raw))(t).Port() }

var statuses = []int{301, 302, 303, 307, 308}
