package gateway_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/host/access"
	"github.com/mcpbelt/mcpbelt/host/gateway"
)

// A requestState of the gateway continues one call, once, for who made it.
func TestRequestState(t *testing.T) {
	s := openSite(t, &gateway.Options{
		Profiles: map[string]gateway.Profile{"all": {}},
		Authenticate: func(r *http.Request) (*access.Caller, error) {
			user, credential, _ := strings.Cut(r.Header.Get(userField), "/")
			return &access.Caller{User: user, Credential: credential}, nil
		},
	}, "one", "two")
	type round struct {
		State    string                     `json:"requestState"`
		Requests map[string]json.RawMessage `json:"inputRequests"`
	}
	begin := func(tool string) (r round, question string) {
		m := s.do(t, modern("ada/1", "/mcp", "tools/call", tool, `"name":"`+tool+`","arguments":{}`)).message(t)
		if err := json.Unmarshal(m.Result, &r); err != nil || r.State == "" || len(r.Requests) != 1 {
			t.Fatalf("got %s, want a question", m.Result)
		}
		for id := range r.Requests {
			question = id
		}
		return r, question
	}
	answer := func(question, state string) string {
		return fmt.Sprintf(`"inputResponses":{%q:{"action":"accept","content":{"name":"x"}}},"requestState":%q`, question, state)
	}
	first, question := begin("one__ask")
	other, _ := begin("two__ask")
	parts := strings.Split(first.State, ".")
	if len(parts) != 3 {
		t.Fatalf("got the state %q, want three parts", first.State)
	}
	for what, in := range map[string]shot{
		"another user":       modern("eve/1", "/mcp", "tools/call", "one__ask", `"name":"one__ask","arguments":{},`+answer(question, first.State)),
		"no user":            modern("", "/mcp", "tools/call", "one__ask", `"name":"one__ask","arguments":{},`+answer(question, first.State)),
		"another credential": modern("ada/2", "/mcp", "tools/call", "one__ask", `"name":"one__ask","arguments":{},`+answer(question, first.State)),
		"another view":       modern("ada/1", "/p/all/mcp", "tools/call", "one__ask", `"name":"one__ask","arguments":{},`+answer(question, first.State)),
		"view of the server": modern("ada/1", "/s/one/mcp", "tools/call", "ask", `"name":"ask","arguments":{},`+answer(question, first.State)),
		"another tool":       modern("ada/1", "/mcp", "tools/call", "two__ask", `"name":"two__ask","arguments":{},`+answer(question, first.State)),
		"other arguments":    modern("ada/1", "/mcp", "tools/call", "one__ask", `"name":"one__ask","arguments":{"a":1},`+answer(question, first.State)),
		"another method":     modern("ada/1", "/mcp", "prompts/get", "one__ask", `"name":"one__ask","arguments":{},`+answer(question, first.State)),
		"forged":             modern("ada/1", "/mcp", "tools/call", "one__ask", `"name":"one__ask","arguments":{},`+answer(question, "mcpbelt.x.y")),
		"forged end":         modern("ada/1", "/mcp", "tools/call", "one__ask", `"name":"one__ask","arguments":{},`+answer(question, parts[0]+"."+parts[1]+".AAAAAAAAAAAAAAAAAAAAAAAAAA")),
		"without end":        modern("ada/1", "/mcp", "tools/call", "one__ask", `"name":"one__ask","arguments":{},`+answer(question, parts[0]+"."+parts[1])),
		"end of another":     modern("ada/1", "/mcp", "tools/call", "one__ask", `"name":"one__ask","arguments":{},`+answer(question, parts[0]+"."+parts[1]+other.State[strings.LastIndexByte(other.State, '.'):])),
	} {
		m := s.do(t, in).message(t)
		if m.Error == nil || m.Error.Code != -32602 {
			t.Errorf("%s: got %s, want error -32602", what, m.Result)
		}
	}
	right := modern("ada/1", "/mcp", "tools/call", "one__ask", `"name":"one__ask","arguments":{},`+answer(question, first.State))
	if m := s.do(t, right).message(t); !strings.Contains(string(m.Result), "accept x") {
		t.Errorf("got %s, want the answer", m.Result)
	}
	if m := s.do(t, right).message(t); m.Error == nil || m.Error.Code != -32602 {
		t.Errorf("used again: got %s, want error -32602", m.Result)
	}
}
