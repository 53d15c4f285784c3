package mcp_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
)

// A call over HTTP that runs out of time is cancelled in the way of the revision:
// by the end of its stream, or by a notification that names it.
func TestTimeoutOverHTTP(t *testing.T) {
	for _, revision := range eras() {
		t.Run(revision, func(t *testing.T) {
			gone, told := make(chan struct{}, 100), make(chan struct{}, 100)
			s := newSite(t, revision, map[string]func(*visit){
				"tools/call": func(v *visit) {
					v.stream(`{"jsonrpc":"2.0","method":"notifications/x"}`)
					<-v.gone
					gone <- struct{}{}
				},
				"notifications/cancelled": func(v *visit) {
					v.WriteHeader(http.StatusAccepted)
					told <- struct{}{}
				},
			})
			c := newClient(t, &s.HTTP, nil)
			ready(t, c)
			sent := 0
			// On a busy machine time may be over before the server has the call.
			for idle := 50 * time.Millisecond; len(s.of("tools/call")) == 0; idle *= 2 {
				_, err := c.CallTool(t.Context(), "x", nil, &mcp.CallToolOptions{IdleTimeout: idle})
				assert.As[*mcp.TimeoutError](t, err)
				if !mcp.SafeToRetry(err) {
					sent++
				}
			}
			<-gone
			if revision == mcp.Revision20260728 {
				sent = 0 // the end of the stream says it all
			}
			for range sent {
				<-told
			}
			assert.OK(t, c.Close())
			notes := s.of("notifications/cancelled")
			assert.Equal(t, len(notes), sent, "cancellations")
			if sent == 0 {
				return
			}
			var params struct {
				RequestID json.RawMessage `json:"requestId"`
			}
			// The calls before it may have come as late as it did.
			call := s.of("tools/call")[0].ID
			if !slices.ContainsFunc(notes, func(v *visit) bool {
				return json.Unmarshal(v.Params, &params) == nil && string(params.RequestID) == string(call)
			}) {
				t.Errorf("call %s is not among what was cancelled", call)
			}
		})
	}
}

// The session of a server that wants a revision that nobody here knows is ended,
// as it was begun.
func TestUnknownRevisionOverHTTP(t *testing.T) {
	initialize := result(`{"protocolVersion":"1999-01-01","capabilities":{},"serverInfo":{"name":"old","version":"1"}}`)
	s := newSite(t, mcp.Revision20251125, map[string]func(*visit){
		"initialize": func(v *visit) {
			v.ResponseWriter.Header().Set("Mcp-Session-Id", "s1")
			initialize(v)
		},
		http.MethodDelete: func(*visit) {},
	})
	c := newClient(t, &s.HTTP, nil)
	assert.Fails(t, c.Ready(t.Context()), "ready")
	ends := s.of(http.MethodDelete)
	wantLen(t, ends, 1, "ends")
	assert.Equal(t, ends[0].Header.Get("Mcp-Session-Id"), "s1", "get")
	assert.Equal(t, len(s.of("notifications/initialized")), 0)
}
