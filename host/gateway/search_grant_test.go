package gateway_test

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/mcpbelt/mcpbelt/host/access"
	"github.com/mcpbelt/mcpbelt/host/gateway"
	"github.com/mcpbelt/mcpbelt/internal/hosttest"
)

// A search finds what the grant of the caller lets them use, also when that has become less.
func TestSearchOfAGrant(t *testing.T) {
	var grant atomic.Pointer[access.Grant]
	s := openHinted(t, &gateway.Options{Mode: "search", Authenticate: func(*http.Request) (*access.Caller, error) {
		return &access.Caller{Credential: "key", Grant: grant.Load()}, nil
	}}, "one", "two")
	for _, revision := range both {
		grant.Store(&access.Grant{})
		c := s.scripted(t, scripted{name: "x", revision: revision})
		if _, text := c.call(t, "retrieve_tools", `{"query":"destroys","limit":100}`); !strings.Contains(text, "two__destroys") {
			t.Errorf("%s: got %q, want the tools of all servers", revision, text)
		}
		grant.Store(&access.Grant{Servers: []string{"one"}, ReadOnly: true})
		for _, query := range []string{"destroys", "reads", "two__reads", "xyzzy"} {
			if _, text := c.call(t, "retrieve_tools", `{"query":"`+query+`","limit":100}`); strings.Contains(text, "two") || strings.Contains(text, "destroys") {
				t.Errorf("%s: got %q for %s, want what the grant has", revision, text, query)
			}
		}
		for args, ok := range map[string]bool{
			`{"tool":"one__reads"}`:                  true,
			`{"server":"one","tool":"reads"}`:        true,
			`{"tool":"one__destroys"}`:               false,
			`{"tool":"two__reads"}`:                  false,
			`{"server":"two","tool":"reads"}`:        false,
			`{"server":"two","tool":"none_of_them"}`: false,
		} {
			if m, text := c.call(t, "call_tool", args); (m.Error == nil) != ok {
				t.Errorf("%s: %s: got %q %+v, want it called: %t", revision, args, text, m.Error, ok)
			}
		}
	}
}

// A key that may not manage servers any more has no tool for that, also in a session that it began before.
func TestManageIsTakenAway(t *testing.T) {
	key := managers["manager"]
	s, _ := openManaged(t, hosttest.Write(t), &gateway.Options{})
	c := s.scripted(t, scripted{name: "x", revision: "2025-11-25", header: map[string]string{"X-Key": "manager"}})
	managers["manager"] = &access.Grant{}
	defer func() { managers["manager"] = key }()
	if m, _ := c.call(t, "upstream_servers", `{"operation":"list"}`); m.Error == nil {
		t.Errorf("got %s, want that there is no such tool any more", m.Result)
	}
	if tools, _ := c.list(t); tools["upstream_servers"] != nil {
		t.Error("got upstream_servers listed, want no such tool any more")
	}
}
