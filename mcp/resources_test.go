package mcp_test

import (
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/mcp/mcptest"
)

const allFeatures = `{"tools":{"listChanged":true},"resources":{"listChanged":true,"subscribe":true},"prompts":{"listChanged":true},"completions":{},"logging":{}}`

// featured returns a server of a revision that offers all features.
func featured(t testing.TB, revision string, scripts ...mcptest.Script) *mcptest.Server {
	return mcptest.NewServer(t, append([]mcptest.Script{mcptest.Handshake(revision, allFeatures)}, scripts...)...)
}

// collect returns what a list yields, and the error it ends with.
func collect[T any](list iter.Seq2[*T, error]) (items []*T, err error) {
	for item, e := range list {
		if e != nil {
			return items, e
		}
		items = append(items, item)
	}
	return items, nil
}

func uris(resources []*mcp.Resource) string {
	var uris []string
	for _, r := range resources {
		uris = append(uris, r.URI)
	}
	return strings.Join(uris, " ")
}

// resourcePage is a result of resources/list; more are further members.
func resourcePage(more string, uris ...string) string {
	var list []string
	for _, uri := range uris {
		list = append(list, fmt.Sprintf(`{"uri":%q,"name":"n"}`, uri))
	}
	return fmt.Sprintf(`{"resources":[%s]%s}`, strings.Join(list, ","), more)
}

func TestResourcesPaged(t *testing.T) {
	everywhere(t, func(t *testing.T, revision string, p plane) {
		server := featured(t, revision, mcptest.Script{"resources/list": mcptest.Sequence(
			mcptest.Result(resourcePage(`,"nextCursor":"é\u0000 2"`, "a:1", "a:2")), mcptest.Result(resourcePage("", "a:3")))})
		c := newClient(t, p.to(server), nil)
		got, err := collect(c.Resources(t.Context()))
		if err != nil || uris(got) != "a:1 a:2 a:3" {
			t.Errorf("%s, %v", uris(got), err)
		}
		if cursor := cursorOf(server.Received("resources/list")[1].Params); cursor != `"é\u0000 2"` {
			t.Errorf("cursor %s", cursor)
		}
	})
}

// Pages that nobody needs are not read.
func TestResourcesLazy(t *testing.T) {
	server := featured(t, mcp.Revision20251125, mcptest.Script{"resources/list": mcptest.Result(resourcePage(`,"nextCursor":"2"`, "a:1"))})
	for r, err := range newClient(t, server, nil).Resources(t.Context()) {
		if err != nil || r.URI != "a:1" {
			t.Errorf("%v, %v", r, err)
		}
		break
	}
	wantCount(t, server, "resources/list", 1)
}

func TestReadResource(t *testing.T) {
	everywhere(t, func(t *testing.T, revision string, p plane) {
		server := featured(t, revision, mcptest.Script{"resources/read": mcptest.Result(
			`{"contents":[{"uri":"a:1","mimeType":"text/plain","text":""},{"uri":"a:2","blob":"AAE="}],"_meta":{"k":1}}`)})
		res, err := newClient(t, p.to(server), nil).ReadResource(t.Context(), "a:\u2028\"1", nil)
		if err != nil {
			t.Fatal(err)
		}
		if len(res.Contents) != 2 || res.Contents[0].MIMEType != "text/plain" || !slices.Equal(res.Contents[1].Blob, []byte{0, 1}) || res.Meta["k"] != 1.0 {
			t.Errorf("result %+v", res)
		}
	})
}

func TestReadResourceNotFound(t *testing.T) {
	for _, test := range []struct {
		revision string
		code     int64
		missing  bool
	}{
		{mcp.Revision20251125, -32002, true},
		{mcp.Revision20260728, -32002, true},
		{mcp.Revision20260728, -32602, true},
		{mcp.Revision20251125, -32602, false},
		{mcp.Revision20260728, -32603, false},
	} {
		everyPlane(t, func(t *testing.T, p plane) {
			server := featured(t, test.revision, mcptest.Script{"resources/read": mcptest.Error(test.code, "gone")})
			c := newClient(t, p.to(server), nil)
			_, err := c.ReadResource(t.Context(), "a:1", nil)
			var refused *mcp.ServerError
			if errors.Is(err, mcp.ErrResourceNotFound) != test.missing || !errors.As(err, &refused) || refused.Err.Code != test.code {
				t.Errorf("%s, code %d: error %v", test.revision, test.code, err)
			}
			wantOutcome(t, err, mcp.Answered)
			wantPhase(t, c, mcp.Ready)
		})
	}
}
