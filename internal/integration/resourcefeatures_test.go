//go:build integration && unix

package integration

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
)

func resourceFeatures() []feature {
	return []feature{
		{name: "resources", on: servers{
			"sdk": offers("test://static-text", "test://static-binary", "test://watched-resource"),
			"npm": offers("demo://resource/static/document/features.md"),
			"own": offers("features://about", "journal://all"),
		}},
		{name: "resource templates", on: servers{
			"sdk": offersTemplates("test://template/{id}/data"),
			"npm": offersTemplates("demo://resource/dynamic/text/{resourceId}", "demo://resource/dynamic/blob/{resourceId}"),
			"own": offersTemplates("journal://entries/{number}"),
		}},
		{name: "resource of text", on: servers{
			"sdk": reads("test://static-text", "content of the static text resource"),
			"npm": reads("demo://resource/static/document/features.md", "# Everything Server"),
			"own": reads("features://about", "every feature of the protocol"),
		}},
		{name: "resource of bytes", on: servers{
			"sdk": reads("test://static-binary", "\x89PNG"),
			"npm": reads("demo://resource/dynamic/blob/3", "Resource 3"),
		}},
		{name: "resource of a template", on: servers{
			"sdk": reads("test://template/a%20b/data", `"templateTest": true`),
			"npm": reads("demo://resource/dynamic/text/3", "Resource 3"),
			"own": func(t *testing.T, p *peer) {
				p.tool(t, "append", `{"text":"first"}`, nil)
				reads("journal://entries/1", "first")(t, p)
			},
		}},
		// The SDK's servers leave an empty text out.
		{name: "empty resource", on: servers{"own": func(t *testing.T, p *peer) {
			var entry struct{ URI string }
			raw, _ := p.tool(t, "append", `{"text":""}`, nil).StructuredContent.(json.RawMessage)
			assert.OK(t, json.Unmarshal(raw, &entry))
			res, err := p.ReadResource(ctxFor(t), entry.URI, nil)
			if err != nil || len(res.Contents) != 1 || res.Contents[0].Text != "" || res.Contents[0].Blob != nil {
				t.Errorf("%+v, %v", res, err)
			}
		}}},
		{name: "missing resource", on: servers{
			"sdk": cannotRead("test://nothing"), "npm": cannotRead("demo://resource/nothing"), "own": cannotRead("journal://entries/999"),
		}},
		{name: "resource updates", on: servers{
			"sdk": updates("test://watched-resource", "", ""), // it changes by itself
			"npm": updates("demo://resource/static/document/features.md", "toggle-subscriber-updates", `{}`),
			"own": updates("journal://all", "append", `{"text":"news"}`),
		}},
		{name: "updates beside others", on: servers{"own": updatesBesideOthers}},
	}
}

func offers(uris ...string) func(*testing.T, *peer) {
	return func(t *testing.T, p *peer) {
		listed := list(t, p.Resources(ctxFor(t)), func(r *mcp.Resource) string { return r.URI })
		for _, uri := range uris {
			if !slices.Contains(listed, uri) {
				t.Errorf("%s is not among %q", uri, listed)
			}
		}
	}
}

func offersTemplates(uris ...string) func(*testing.T, *peer) {
	return func(t *testing.T, p *peer) {
		listed := list(t, p.ResourceTemplates(ctxFor(t)), func(r *mcp.ResourceTemplate) string { return r.URITemplate })
		for _, uri := range uris {
			if !slices.Contains(listed, uri) {
				t.Errorf("%s is not among %q", uri, listed)
			}
		}
	}
}

// list collects a list to its end.
func list[T any](t *testing.T, items iter.Seq2[T, error], name func(T) string) []string {
	t.Helper()
	var names []string
	for item, err := range items {
		assert.OK(t, err)
		names = append(names, name(item))
	}
	return names
}

func reads(uri, part string) func(*testing.T, *peer) {
	return func(t *testing.T, p *peer) {
		res := assert.Value(p.ReadResource(ctxFor(t), uri, nil))(t)
		if len(res.Contents) != 1 || res.Contents[0].URI != uri {
			t.Fatalf("contents %+v", res.Contents)
		}
		content := res.Contents[0].Text
		if res.Contents[0].Blob != nil {
			content = string(res.Contents[0].Blob)
		}
		want(t, content, part)
	}
}

func cannotRead(uri string) func(*testing.T, *peer) {
	return func(t *testing.T, p *peer) {
		var refused *mcp.ServerError
		if res, err := p.ReadResource(ctxFor(t), uri, nil); !errors.As(err, &refused) {
			t.Errorf("%+v, %v", res, err)
		}
	}
}

// updates waits for the server's promise to announce changes, has the resource
// change, and waits for the announcement.
func updates(uri, tool, args string) func(*testing.T, *peer) {
	return func(t *testing.T, p *peer) {
		ctx, cancel := context.WithCancel(ctxFor(t))
		defer cancel()
		seen := 0
		for changed, err := range p.ResourceUpdates(ctx, uri) {
			assert.OK(t, err)
			if !strings.HasPrefix(changed, uri) {
				t.Errorf("update of %s", changed)
			}
			if seen++; seen == 2 {
				break
			}
			if tool != "" {
				p.tool(t, tool, args, nil)
			}
		}
		assert.Equal(t, seen, 2, "updates")
		if tool == "toggle-subscriber-updates" {
			p.tool(t, tool, args, nil) // off again
		}
	}
}

// updatesBesideOthers follows a resource while other subscriptions come and go,
// each of which makes the client subscribe anew in the newest revision.
func updatesBesideOthers(t *testing.T, p *peer) {
	ctx, cancel := context.WithCancel(ctxFor(t))
	updated := make(chan struct{}, 1)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	wg.Go(func() {
		for _, err := range p.ResourceUpdates(ctx, "journal://all") {
			if err != nil {
				t.Error(err)
				return
			}
			select {
			case updated <- struct{}{}:
			default:
			}
		}
	})
	for round := range 10 {
		for _, err := range p.ResourceUpdates(ctx, "features://about") {
			if err != nil {
				t.Error(err)
			}
			break
		}
		p.tool(t, "count", `{"to":1}`, nil) // the other subscription ends meanwhile
		select {
		case <-updated: // perhaps by the new subscription
		default:
		}
		p.tool(t, "append", `{"text":"news"}`, nil)
		select {
		case <-updated:
		case <-ctx.Done():
			t.Fatalf("round %d: no update", round)
		}
	}
}
