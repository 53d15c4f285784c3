package mcp_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/mcp/mcptest"
)

// everyPin runs a test with each revision that can be pinned, on both planes.
func everyPin(t *testing.T, test func(t *testing.T, revision string, p plane)) {
	for _, revision := range append(handshakeRevisions(), mcp.Revision20260728) {
		for _, p := range planes() {
			t.Run(revision+"/"+p.name, func(t *testing.T) { test(t, revision, p) })
		}
	}
}

// handshakesOf returns the methods of handshakes that the server received, with the
// revision that initialize offered.
func handshakesOf(t testing.TB, s *mcptest.Server) string {
	t.Helper()
	var seen []string
	for _, r := range s.Received("") {
		switch r.Method {
		case "server/discover":
			seen = append(seen, r.Method)
		case "initialize":
			var params struct {
				ProtocolVersion string `json:"protocolVersion"`
			}
			assert.OK(t, json.Unmarshal(r.Params, &params))
			seen = append(seen, r.Method+" "+params.ProtocolVersion)
		}
	}
	return strings.Join(seen, ", ")
}

func handshakeWith(revision string) string {
	if revision == mcp.Revision20260728 {
		return "server/discover"
	}
	return "initialize " + revision
}

// A client with a pinned revision offers that and nothing else.
func TestPinnedRevision(t *testing.T) {
	everyPin(t, func(t *testing.T, revision string, p plane) {
		server := mcptest.NewServer(t, mcptest.Handshake(revision, ""), mcptest.Script{"tools/call": text("done")})
		var shared atomic.Bool
		shared.Store(revision == mcp.Revision20260728) // which does not count
		c := newClient(t, p.to(server), &mcp.ClientOptions{ProtocolVersion: revision, InitializeFirst: &shared})
		mustCall(t, c, "x")
		assert.OK(t, c.Reconnect(t.Context()))
		mustCall(t, c, "x")
		assert.Equal(t, c.State().ProtocolVersion, revision, "revision")
		assert.Equal(t, handshakesOf(t, server), handshakeWith(revision)+", "+handshakeWith(revision), "the handshakes")
		assert.Equal(t, shared.Load(), revision == mcp.Revision20260728, "InitializeFirst")
	})
}

// A server that speaks another revision is left, and no other is tried.
func TestPinnedRevisionIsNotSpoken(t *testing.T) {
	const elsewhere = "1999-01-01"
	refuse := func(c *mcptest.Call) {
		c.ErrorData(unsupportedVersion, "unsupported protocol version", `{"supported":["`+elsewhere+`"]}`)
	}
	for name, script := range map[string]mcptest.Script{
		"answers another": {
			"server/discover": mcptest.Result(`{"resultType":"complete","supportedVersions":["` + elsewhere + `"],"capabilities":{}}`),
			"initialize":      mcptest.Handshake(elsewhere, "")["initialize"],
		},
		"refuses":               {"server/discover": refuse, "initialize": refuse},
		"does not know it":      {},
		"does not know it more": {"server/discover": mcptest.Error(-32601, "?"), "initialize": mcptest.Error(-32601, "?")},
	} {
		t.Run(name, func(t *testing.T) {
			everyPin(t, func(t *testing.T, revision string, p plane) {
				server := mcptest.NewServer(t, script)
				c := newClient(t, p.to(server), &mcp.ClientOptions{ProtocolVersion: revision})
				err := c.Ready(t.Context())
				other := assert.As[*mcp.ProtocolVersionError](t, err)
				assert.Equal(t, other.Want, revision, "Want")
				if says := len(script) > 0 && !strings.HasSuffix(name, "more"); says && !slices.Equal(other.Offered, []string{elsewhere}) {
					t.Errorf("got Offered %q, want %q", other.Offered, elsewhere)
				}
				wantOutcome(t, err, mcp.NotSent)
				assert.Equal(t, handshakesOf(t, server), handshakeWith(revision), "the handshakes")
			})
		})
	}
}

// A server that does not answer discover is not initialized.
func TestPinnedDiscoverIsUnanswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := legacy(t, mcptest.Script{"server/discover": mcptest.Hang})
		c := newClient(t, server, &mcp.ClientOptions{ProtocolVersion: mcp.Revision20260728})
		assert.Fails(t, c.Ready(t.Context()))
		assert.Equal(t, handshakesOf(t, server), "server/discover", "the handshakes")
	})
}

// A failure of a server that may speak the revision is no ProtocolVersionError.
func TestPinnedHandshakeFails(t *testing.T) {
	server := legacy(t, mcptest.Script{"initialize": mcptest.Error(-32603, "out of order")})
	c := newClient(t, server, &mcp.ClientOptions{ProtocolVersion: mcp.Revision20251125})
	err := c.Ready(t.Context())
	var other *mcp.ProtocolVersionError
	var answer *mcp.JSONRPCError
	if errors.As(err, &other) || !errors.As(err, &answer) {
		t.Errorf("got %v, want the server's error", err)
	}
}

// A revision that nobody knows makes no connection.
func TestPinnedRevisionIsUnknown(t *testing.T) {
	server := legacy(t)
	c := newClient(t, server, &mcp.ClientOptions{ProtocolVersion: "1999-01-01"})
	assert.As[*mcp.ProtocolVersionError](t, c.Ready(t.Context()))
	assert.Equal(t, server.Connections(), 0, "connections")
}

// While a server with a handshake is up, doubts do not make the client ask for another
// revision.
func TestPinnedRevisionIsNotDoubted(t *testing.T) {
	server := legacy(t, mcptest.Script{
		"tools/call": mcptest.Error(-32601, "?"),
		"ping":       mcptest.Error(-32601, "?"),
	})
	c := newClient(t, server, &mcp.ClientOptions{ProtocolVersion: mcp.Revision20251125})
	assert.Fails(t, errOf(call(t, c, "x")))
	assert.Equal(t, handshakesOf(t, server), handshakeWith(mcp.Revision20251125), "the handshakes")
}

// Over HTTP the status of a refusal is enough.
func TestPinnedRevisionOverHTTP(t *testing.T) {
	s := newSite(t, mcp.Revision20251125, nil)
	c := newClient(t, &s.HTTP, &mcp.ClientOptions{ProtocolVersion: mcp.Revision20260728})
	assert.As[*mcp.ProtocolVersionError](t, c.Ready(t.Context()))
	assert.Equal(t, len(s.of("initialize")), 0, "times initialize")
	for _, revision := range eras() {
		s := newSite(t, revision, nil)
		c := newClient(t, &s.HTTP, &mcp.ClientOptions{ProtocolVersion: revision})
		ready(t, c)
		assert.Equal(t, c.State().ProtocolVersion, revision, "revision")
	}
}
