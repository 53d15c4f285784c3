package mcp_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
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
		assert.Equal(t, cursorOf(server.Received("resources/list")[1].Params), `"é\u0000 2"`, "cursor")
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
		res := assert.Value(newClient(t, p.to(server), nil).ReadResource(t.Context(), "a:\u2028\"1", nil))(t)
		if len(res.Contents) != 2 || res.Contents[0].MIMEType != "text/plain" || !slices.Equal(res.Contents[1].Blob, []byte{0, 1}) || res.Meta["k"] != json.Number("1") {
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

func TestResourceDecodedExactly(t *testing.T) {
	server := featured(t, mcp.Revision20251125, mcptest.Script{
		"resources/list": mcptest.Result(`{"resources":[{"uri":"a:1","URI":"x","name":"n","title":"T","description":"d","mimeType":"m",
			"size":9007199254740993,"annotations":{"audience":["user"],"priority":0.5,"lastModified":"2026-01-01T00:00:00Z"},"_meta":{"k":1},"new":{}},
			{"uri":"a:2","name":"n","size":1e3},{"uri":"a:3","name":"n","size":1.5},{"uri":"a:4","name":"n","size":"1"},{"uri":"a:5","name":"n","size":null}]}`),
		"resources/templates/list": mcptest.Result(`{"resourceTemplates":[{"uriTemplate":"a:{x}","URITEMPLATE":"y","name":"n","title":"T","description":"d","mimeType":"m",
			"annotations":{"audience":["user"]},"_meta":{"k":1}}]}`),
	})
	c := newClient(t, server, nil)
	resources, err := collect(c.Resources(t.Context()))
	if err != nil || uris(resources) != "a:1 a:2 a:5" {
		t.Fatal(uris(resources), err)
	}
	r := resources[0]
	if r.Name != "n" || r.Title != "T" || r.Description != "d" || r.MIMEType != "m" || r.Size != 9007199254740993 || resources[1].Size != 1000 ||
		r.Annotations.Priority != 0.5 || r.Annotations.LastModified != "2026-01-01T00:00:00Z" || r.Meta["k"] != json.Number("1") {
		t.Errorf("resource %+v", r)
	}
	templates, err := collect(c.ResourceTemplates(t.Context()))
	if err != nil || len(templates) != 1 {
		t.Fatal(templates, err)
	}
	if u := templates[0]; u.URITemplate != "a:{x}" || u.Name != "n" || u.Title != "T" || u.Description != "d" || u.MIMEType != "m" || u.Annotations == nil || u.Meta["k"] != json.Number("1") {
		t.Errorf("template %+v", u)
	}
}

// refuses runs a request whose results are all wrong, in both eras on both
// planes, and wants an error that says where, and a connection that lives on.
func refuses(t *testing.T, method string, ask func(*mcp.Client) error, bad map[string]string, good string) {
	t.Helper()
	everywhere(t, func(t *testing.T, revision string, p plane) {
		for result, path := range bad {
			server := featured(t, revision, mcptest.Script{method: mcptest.Sequence(mcptest.Result(result), mcptest.Result(good))})
			c := newClient(t, p.to(server), nil)
			err := ask(c)
			var invalid *mcp.ProtocolError
			if !errors.As(err, &invalid) || invalid.Path != path || invalid.Method != method || invalid.Server != "scripted" {
				t.Errorf("%s: error %v, want one at %s", result, err, path)
				continue
			}
			wantOutcome(t, err, mcp.Answered)
			if err := ask(c); err != nil || c.State().Connections != 1 {
				t.Errorf("after %s: error %v", result, err)
			}
		}
	})
}

func TestReadResourceRefused(t *testing.T) {
	refuses(t, "resources/read", func(c *mcp.Client) error {
		_, err := c.ReadResource(t.Context(), "a:1", nil)
		return err
	}, map[string]string{
		`[]`: "result", `7`: "result", `{}`: "contents", `{"contents":null}`: "contents", `{"contents":{}}`: "contents", `{"CONTENTS":[]}`: "contents",
		`{"contents":[7]}`:                                                          "contents[0]",
		`{"contents":[{"text":"x"}]}`:                                               "contents[0].uri",
		`{"contents":[{"uri":7,"text":"x"}]}`:                                       "contents[0].uri",
		`{"contents":[{"uri":"a","text":7}]}`:                                       "contents[0].text",
		`{"contents":[{"uri":"a","blob":"%"}]}`:                                     "contents[0].blob",
		`{"contents":[{"uri":"a","blob":{}}]}`:                                      "contents[0].blob",
		`{"contents":[{"uri":"a","text":"x"},{"uri":"a","text":"x","mimeType":1}]}`: "contents[1].mimeType",
		`{"contents":[],"_meta":7}`:                                                 "_meta",
		`{"contents":[],"resultType":"later"}`:                                      "resultType",
		`{"contents":[],"resultType":7}`:                                            "resultType",
	}, `{"contents":[],"resultType":"complete"}`)
}

// A server of 2026-07-28 may need something before it answers, and one of an
// older revision may not.
func TestReadResourceInput(t *testing.T) {
	everywhere(t, func(t *testing.T, revision string, p plane) {
		server := featured(t, revision, mcptest.Script{"resources/read": mcptest.Sequence(
			needs(`{"q":`+inputRequest+`}`, `"s"`), mcptest.Result(`{"contents":[{"uri":"a","text":"x"}]}`))})
		c := newClient(t, p.to(server), &mcp.ClientOptions{Elicit: annAnswers})
		res, err := c.ReadResource(t.Context(), "a", nil)
		var invalid *mcp.ProtocolError
		switch {
		case revision < mcp.Revision20260728:
			if !errors.As(err, &invalid) || invalid.Path != "resultType" {
				t.Errorf("error %v", err)
			}
		case err != nil || len(res.Contents) != 1:
			t.Errorf("%v, %v", res, err)
		default:
			if second := string(server.Received("resources/read")[1].Params); !strings.Contains(second, `"requestState":"s"`) || !strings.Contains(second, `"inputResponses":{"q":`) {
				t.Errorf("second round %s", second)
			}
		}
	})
}

func TestReadResourceProgress(t *testing.T) {
	everywhere(t, func(t *testing.T, revision string, p plane) {
		server := featured(t, revision, mcptest.Script{"resources/read": func(c *mcptest.Call) {
			c.Progress(1)
			c.Result(`{"contents":[]}`)
		}})
		seen := 0
		if _, err := newClient(t, p.to(server), nil).ReadResource(t.Context(), "a", &mcp.RequestOptions{
			Progress: func(*mcp.ProgressParams) { seen++ }, Meta: mcp.Meta{"k": "v"},
		}); err != nil || seen != 1 {
			t.Errorf("%d notifications, %v", seen, err)
		}
		assert.Contains(t, string(server.Received("resources/read")[0].Params), `"k":"v"`, "params")
	})
}

// Many servers leave an empty text out.
func TestReadEmptyResource(t *testing.T) {
	everywhere(t, func(t *testing.T, revision string, p plane) {
		for _, contents := range []string{`{"uri":"a"}`, `{"uri":"a","text":null}`, `{"uri":"a","text":""}`} {
			server := featured(t, revision, mcptest.Script{"resources/read": mcptest.Result(`{"contents":[` + contents + `]}`)})
			res, err := newClient(t, p.to(server), nil).ReadResource(t.Context(), "a", nil)
			if err != nil || len(res.Contents) != 1 || res.Contents[0].URI != "a" || res.Contents[0].Text != "" || res.Contents[0].Blob != nil {
				t.Errorf("%s: %+v, %v", contents, res, err)
			}
		}
	})
}
