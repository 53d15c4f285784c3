package mcp_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/mcpbelt/mcpbelt/mcp"
)

// A call over HTTP that runs out of time is cancelled in the way of the revision:
// by the end of its stream, or by a notification that names it.
func TestTimeoutOverHTTP(t *testing.T) {
	for _, revision := range eras() {
		t.Run(revision, func(t *testing.T) {
			gone := make(chan struct{})
			told := make(chan *visit, 1)
			s := newSite(t, revision, map[string]func(*visit){
				"tools/call": func(v *visit) {
					v.stream(`{"jsonrpc":"2.0","method":"notifications/x"}`)
					<-v.gone
					close(gone)
				},
				"notifications/cancelled": func(v *visit) {
					v.WriteHeader(http.StatusAccepted)
					told <- v
				},
			})
			c := newClient(t, &s.HTTP, nil)
			ready(t, c)
			_, err := c.CallTool(t.Context(), "x", nil, &mcp.CallToolOptions{IdleTimeout: 10 * time.Millisecond})
			var timeout *mcp.TimeoutError
			if !errors.As(err, &timeout) {
				t.Errorf("error %v", err)
			}
			wantOutcome(t, err, mcp.Unknown)
			<-gone
			if revision != mcp.Revision20260728 {
				var params struct {
					RequestID json.RawMessage `json:"requestId"`
				}
				note := <-told
				if err := json.Unmarshal(note.Params, &params); err != nil || string(params.RequestID) != string(s.of("tools/call")[0].ID) {
					t.Errorf("cancelled with %s", note.Params)
				}
			}
			if err := c.Close(); err != nil {
				t.Error(err)
			}
			want := 1
			if revision == mcp.Revision20260728 {
				want = 0
			}
			if n := len(s.of("notifications/cancelled")); n != want {
				t.Errorf("%d cancellations, want %d", n, want)
			}
			if n := len(s.of("tools/call")); n != 1 {
				t.Errorf("%d calls", n)
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
	if err := c.Ready(t.Context()); err == nil {
		t.Error("ready")
	}
	ends := s.of(http.MethodDelete)
	if len(ends) != 1 || ends[0].Header.Get("Mcp-Session-Id") != "s1" {
		t.Errorf("%d sessions ended", len(ends))
	}
	if n := len(s.of("notifications/initialized")); n != 0 {
		t.Errorf("the handshake was finished")
	}
}
