package gateway_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbelt/mcpbelt/host/gateway"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/hosttest"
)

// A client reads a resource by the URI that its server has for it, as results of tools have it, if one server of the
// view has such a resource.
func TestReadByURI(t *testing.T) {
	s := openSite(t, &gateway.Options{Profiles: map[string]gateway.Profile{
		"one": {Servers: []string{"one"}}, "many": {Servers: []string{"one", "two"}},
	}}, "one", "two", "note")
	for _, c := range []struct {
		path, uri string
		want      string // the URI in the result, or the code and a part of the message of the error
	}{
		{"/p/one/mcp", "note://1", "note://1"},
		{"/p/one/mcp", "one://note://1", "one://note://1"},
		{"/p/one/mcp", "note://7", "note://7"}, // by a template
		{"/p/one/mcp", "note://1/2", "-32002"},
		{"/p/one/mcp", "one://1", "-32602"}, // says the server
		{"/p/one/mcp", "1", "-32002"},
		{"/p/one/mcp", "two://note://1", "-32002"},
		{"/p/many/mcp", "note://1", `-32602 several servers have this resource: read one of "one://note://1", "two://note://1"`},
		{"/p/many/mcp", "note://7", `-32602 several servers have this resource: read one of "one://note://7", "two://note://7"`},
		{"/s/one/mcp", "note://1", "note://1"},
		{"/mcp", "note://1", `-32602 several servers`}, // though a server has the name of the scheme
		{"/mcp", "note://note://1", "note://note://1"},
	} {
		id := s.begin(t, c.path, "a", "2025-11-25")
		m := s.do(t, shot{path: c.path, user: "a", session: id, body: callOf(2, "resources/read", fmt.Sprintf(`{"uri":%q}`, c.uri))}).message(t)
		got := m.at("contents")
		if m.Error != nil {
			got = fmt.Sprint(m.Error.Code, " ", m.Error.Message)
		}
		want := c.want
		if !strings.HasPrefix(want, "-") {
			want = fmt.Sprintf(`"uri":%q`, want)
		}
		assert.Contains(t, got, want, "%s in %s", c.uri, c.path)
	}
}

// A client that follows a resource by its server's URI hears of changes under that URI.
func TestFollowByURI(t *testing.T) {
	server := newSDKServer()
	server.AddResource(&sdk.Resource{Name: "note", URI: "test://note"}, nil)
	url, _, _ := newBelt(t, nil, server)
	for _, revision := range both {
		for _, uri := range []string{"test://note", "belt://test://note"} {
			ctx, cancel := context.WithCancel(hosttest.Watchdog(t))
			c := newUser(t, url+"/mcp", "", revision, nil)
			updates := 0
			for changed, err := range c.ResourceUpdates(ctx, uri) {
				assert.OK(t, err)
				assert.Equal(t, changed, uri, "%s: got a change of", revision)
				if updates++; updates == 2 {
					break
				}
				assert.OK(t, server.ResourceUpdated(ctx, &sdk.ResourceUpdatedNotificationParams{URI: "test://note"}))
			}
			cancel()
		}
	}
	c := newUser(t, url+"/mcp", "", both[0], nil)
	for _, err := range c.ResourceUpdates(hosttest.Watchdog(t), "test://other") {
		assert.Fails(t, err, "got a change of a resource that is not there, want an error")
		break
	}
}
