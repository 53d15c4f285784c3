// Tests of what the page costs: bytes and requests, of the first view and of one that is left open.

//go:build integration && unix

package adminpage

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/hosttest"
	"github.com/mcpbelt/mcpbelt/internal/integration/chromium"
)

// maxFirstView bounds what comes over the wire for the first view of a hundred servers, in bytes.
const maxFirstView = 60_000

// maxIdle bounds what a page gets that is left open while all that fails is tried once more, in bytes.
const maxIdle = 2000

// TestHundredServers opens the first view of a host with a hundred servers, of which ten fail and are tried again, and leaves
// it open while they are.
func TestHundredServers(t *testing.T) {
	var records []*config.Server
	address := serveHTTP(t, notesServer())
	down := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) }))
	defer down.Close()
	const failing = 10
	for i := range 100 {
		at := address
		if i < failing {
			at = down.URL
		}
		records = append(records, remote(fmt.Sprintf("server-%02d", i), at))
	}
	s := open(t, records...)
	for i, r := range records {
		hosttest.Until(t, s.host, r.Name, "settled", func(st host.Status) bool {
			return i >= failing && st.Stage == host.StageReady || i < failing && st.State.Failures > 0
		})
	}
	p := s.tab(chromium.Start(t))
	var mu sync.Mutex
	var bytes, streamed float64
	var asked []string
	p.Listen(func(method string, params json.RawMessage) {
		var e struct {
			EncodedDataLength float64
			Request           struct{ URL string }
		}
		mu.Lock()
		defer mu.Unlock()
		if json.Unmarshal(params, &e) != nil {
			return
		}
		switch method {
		case "Network.loadingFinished":
			bytes += e.EncodedDataLength
		case "Network.dataReceived":
			streamed += e.EncodedDataLength
		case "Network.requestWillBeSent":
			asked = append(asked, e.Request.URL)
		}
	})
	p.signIn(s.owner)
	p.settled("/servers")
	p.AwaitTrue("document.querySelectorAll('.window [role=row]').length > 5")
	p.quiet()
	mu.Lock()
	first := bytes
	asked = nil
	mu.Unlock()
	assert.True(t, first <= maxFirstView, "the first view has %.0f bytes, at most %d", first, maxFirstView)
	assert.True(t, p.has("document.body.innerText.includes('90 of 100 servers ready') && document.querySelectorAll('.need').length === 1"), "servers that fail for one reason are one thing to look at")

	p.open("/servers") // with what the browser has kept
	p.AwaitTrue("[...document.querySelectorAll('.chip')].some((chip) => chip.textContent === 'Failing 10')")
	p.AwaitTrue("performance.getEntriesByType('resource').every((e) => performance.now() - e.responseEnd > 2000)") // what was to be asked is
	mu.Lock()
	asked, streamed = nil, 0
	mu.Unlock()
	before := s.tries()
	hosttest.Eventually(t, "servers are tried again", func() bool { return s.tries() >= before+failing })
	mu.Lock()
	assert.True(t, streamed <= maxIdle, "a page on which nothing happens but that servers are tried again has got %.0f bytes, at most %d", streamed, maxIdle)
	mu.Unlock()
	for range 3 {
		assert.Value(s.host.Registry().Call(hosttest.Watchdog(t), "server-99__add", json.RawMessage(`{"text":"x"}`)))(t)
	}
	p.AwaitTrue("[...document.querySelectorAll('.window [role=row]')].length > 0 && document.querySelector('.state').dataset.state === 'live'")
	mu.Lock()
	defer mu.Unlock()
	for _, url := range asked {
		assert.True(t, strings.Contains(url, "/events"), "an idle page has asked for %s", url)
	}
}

// tries counts the attempts of servers that have failed.
func (s *site) tries() (n int) {
	for _, server := range s.host.Servers() {
		n += server.State.Failures
	}
	return n
}
