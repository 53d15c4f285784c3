package mcp_test

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/mcp/mcptest"
)

// flaws are members of an item that spoil it, and why.
var flaws = []struct{ name, member, reason string }{
	{"deep", `"inputSchema":` + strings.Repeat(`{"not":`, 200) + `{}` + strings.Repeat(`}`, 200), "nested too deeply"},
	{"duplicate", `"name":"twice"`, "duplicate key"},
	{"nested duplicate", `"inputSchema":{"type":"object","type":"string"}`, "duplicate key"},
	{"bad UTF-8", "\"description\":\"\xff\"", "invalid UTF-8"},
	{"wrong type", `"description":7`, "not a string"},
}

// Nesting without end costs no memory for each level, and no other tool.
func TestBottomlessToolIsLeftOut(t *testing.T) {
	for _, depth := range []int{10_000, 1_000_000} {
		bottomless := `"inputSchema":` + strings.Repeat(`{"not":[`, depth/2) + strings.Repeat(`]}`, depth/2)
		s := newSite(t, mcp.Revision20251125, map[string]func(*visit){"tools/list": result(`{"tools":[` + flawed(bottomless) + `,` + item(1) + `]}`)})
		tools, err := newClient(t, &s.HTTP, nil).Tools(t.Context())
		if err != nil {
			t.Errorf("%d levels: got error %v, want none", depth, err)
		}
		if len(tools) != 1 {
			t.Errorf("%d levels: got %d tools, want 1", depth, len(tools))
		}
	}
}

// flawed is an item that every list would accept without the member.
func flawed(member string) string {
	return `{"name":"bad","uri":"b:","uriTemplate":"b:",` + member + `}`
}

// An item that breaks the rules for JSON costs no other item of its list.
func TestFlawedItemIsLeftOut(t *testing.T) {
	everywhere(t, func(t *testing.T, revision string, p plane) {
		for _, l := range lists {
			for _, flaw := range flaws {
				var log bytes.Buffer
				server := featured(t, revision, mcptest.Script{l.method: mcptest.Result(
					`{"` + l.member + `":[` + item(1) + `,` + flawed(flaw.member) + `,` + item(2) + `],"resultType":"complete"}`)})
				c := newClient(t, p.to(server), &mcp.ClientOptions{Logger: slog.New(slog.NewTextHandler(&log, nil))})
				n, err := l.read(t.Context(), c)
				if err != nil {
					t.Errorf("%s with %s: got error %v, want none", l.method, flaw.name, err)
				}
				if n != 2 {
					t.Errorf("%s with %s: got %d items, want 2", l.method, flaw.name, n)
				}
				if place := l.member + "[1]"; !strings.Contains(log.String(), place) {
					t.Errorf("%s with %s: got the log %q, want it to name %s", l.method, flaw.name, &log, place)
				}
				if !strings.Contains(log.String(), flaw.reason) {
					t.Errorf("%s with %s: got the log %q, want the reason %q", l.method, flaw.name, &log, flaw.reason)
				}
			}
		}
	})
}

// A flaw outside of the items spoils the list.
func TestFlawedListIsRefused(t *testing.T) {
	everywhere(t, func(t *testing.T, revision string, p plane) {
		deep := strings.Repeat(`[`, 200) + strings.Repeat(`]`, 200)
		for _, l := range lists {
			for name, members := range map[string]string{
				"a list that comes twice": `"` + l.member + `":[` + item(1) + `],"` + l.member + `":[` + item(2) + `]`,
				"a deep member":           `"` + l.member + `":[` + item(1) + `],"x":{"y":` + deep + `}`,
				"bad UTF-8 beside":        `"` + l.member + `":[` + flawed(`"x":`+deep) + "],\"x\":\"\xff\"",
			} {
				server := featured(t, revision, mcptest.Script{l.method: mcptest.Result(`{` + members + `}`)})
				_, err := l.read(t.Context(), newClient(t, p.to(server), nil))
				var invalid *mcp.ProtocolError
				if !errors.As(err, &invalid) {
					t.Errorf("%s with %s: got %v, want a ProtocolError", l.method, name, err)
				}
			}
		}
	})
}

// What is no list is not forgiven a flaw.
func TestFlawedResultIsRefused(t *testing.T) {
	everywhere(t, func(t *testing.T, revision string, p plane) {
		server := featured(t, revision, mcptest.Script{"tools/call": mcptest.Result(
			`{"content":[{"type":"text","text":"a","text":"b"}],"resultType":"complete"}`)})
		c := newClient(t, p.to(server), nil)
		res, err := c.CallTool(t.Context(), "t", nil, nil)
		var invalid *mcp.ProtocolError
		if !errors.As(err, &invalid) {
			t.Errorf("got %v and the error %v, want a ProtocolError", res, err)
		}
	})
}

// A raw request gets no result that can be read in two ways.
func TestFlawedListIsNoRawResult(t *testing.T) {
	everywhere(t, func(t *testing.T, revision string, p plane) {
		server := featured(t, revision, mcptest.Script{"tools/list": mcptest.Result(`{"tools":[{"name":"a","name":"b"}]}`)})
		raw, err := newClient(t, p.to(server), nil).Request(t.Context(), "tools/list", nil, nil)
		var invalid *mcp.ProtocolError
		if !errors.As(err, &invalid) {
			t.Errorf("got %s and the error %v, want a ProtocolError", raw, err)
		}
	})
}

// Flawed tools that are read again from the cache are left out again.
func TestFlawedItemIsLeftOutOfTheCache(t *testing.T) {
	server := featured(t, mcp.Revision20260728, mcptest.Script{"prompts/list": mcptest.Result(
		`{"prompts":[` + flawed(flaws[0].member) + `,` + item(1) + `],"resultType":"complete","ttlMs":60000,"cacheScope":"public"}`)})
	c := newClient(t, server, nil)
	for range 2 {
		prompts, err := collect(c.Prompts(t.Context()))
		if err != nil {
			t.Fatal(err)
		}
		if len(prompts) != 1 {
			t.Errorf("got %d prompts, want 1", len(prompts))
		}
	}
	wantCount(t, server, "prompts/list", 1)
}
