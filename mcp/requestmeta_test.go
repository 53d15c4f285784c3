package mcp_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/mcpbelt/mcpbelt/mcp"
)

// Every request of revision 2026-07-28 says in which version, by whom and with
// what capabilities it is made. The header repeats the version and the method,
// and both kinds of answers are accepted.
func TestRequestMetaOfEveryRequest(t *testing.T) {
	listening := make(chan struct{})
	s := newSite(t, mcp.Revision20260728, map[string]func(*visit){
		"server/discover": result(`{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{"listChanged":true}}}`),
		"subscriptions/listen": func(v *visit) {
			v.stream(`{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{}}`)
			close(listening)
			<-v.gone
		},
		"tools/list": result(`{"resultType":"complete","tools":[]}`),
	})
	s.script["tools/call"] = func(v *visit) {
		if len(s.of("tools/call")) == 1 {
			v.reply(200, `"result":{"resultType":"input_required","inputRequests":{"q":`+wish+`}}`)
			return
		}
		v.stream(`{"jsonrpc":"2.0","id":$ID,"result":{"resultType":"complete","content":[]}}`)
	}
	c := newClient(t, &s.HTTP, &mcp.ClientOptions{
		Implementation: &mcp.Implementation{Name: "belt", Version: "7"},
		Elicit:         annAnswers,
	})
	ready(t, c)
	if err := c.Ping(t.Context()); err != nil {
		t.Error(err)
	}
	wantTools(t, c, "")
	mustCall(t, c, "x")
	<-listening
	if err := c.Shutdown(context.Background()); err != nil {
		t.Error(err)
	}

	for method, n := range map[string]int{"server/discover": 2, "tools/list": 1, "tools/call": 2, "subscriptions/listen": 1} {
		if got := len(s.of(method)); got != n {
			t.Errorf("%d requests %s, want %d", got, method, n)
		}
	}
	for _, v := range s.of("") {
		var params struct {
			Meta struct {
				Version      string                         `json:"io.modelcontextprotocol/protocolVersion"`
				Capabilities json.RawMessage                `json:"io.modelcontextprotocol/clientCapabilities"`
				ClientInfo   struct{ Name, Version string } `json:"io.modelcontextprotocol/clientInfo"`
			} `json:"_meta"`
		}
		if err := json.Unmarshal(v.Params, &params); err != nil {
			t.Errorf("%s: params %s: %v", v.Method, v.Params, err)
			continue
		}
		m := params.Meta
		if m.Version != mcp.Revision20260728 || m.ClientInfo.Name != "belt" || m.ClientInfo.Version != "7" || string(m.Capabilities) != `{"elicitation":{"form":{}}}` {
			t.Errorf("%s: _meta of %s", v.Method, v.Params)
		}
		for field, want := range map[string]string{
			"Mcp-Protocol-Version": m.Version, "Mcp-Method": v.Method, "Mcp-Session-Id": "",
			"Accept": "application/json, text/event-stream", "Content-Type": "application/json",
		} {
			if got := v.Header.Get(field); got != want {
				t.Errorf("%s: %s is %q, want %q", v.Method, field, got, want)
			}
		}
	}
}
