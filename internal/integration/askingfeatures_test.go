//go:build integration && unix

package integration

//lint:file-ignore SA1019 Sampling, roots and logging are deprecated since revision 2026-07-28, and work.

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
)

// askingFeatures are what a server asks of the client.
func askingFeatures() []feature {
	const (
		midCall = "the revision lets a server ask only between calls"
		oneLeg  = "the SDK's server asks clients of older revisions once a call"
		titled  = "the SDK's server refuses its own question: a choice of several with titles"
	)
	older := reasons{"sdk http " + modern: midCall, "sdk stdio " + modern: midCall}
	return []feature{
		{name: "form", on: servers{
			"sdk": func(t *testing.T, p *peer) {
				p.user.fill(map[string]any{"name": "Ada"})
				p.says(t, "test_input_required_result_elicitation", `{}`, "Hello, Ada!")
			},
			"npm": func(t *testing.T, p *peer) {
				p.user.fill(map[string]any{"name": "Ada", "check": true})
				p.says(t, "trigger-elicitation-request", `{}`, "Name: Ada", "Agreed to terms: true", "It was a dark and stormy night.", `"integer": 42`, `"fish-1"`)
			},
			"own": func(t *testing.T, p *peer) {
				p.user.fill(map[string]any{"name": "Ada", "language": "fr"})
				p.says(t, "introduce", `{}`, "Voici Ada.")
				form := p.user.form(t)
				assert.Equal(t, form.Server, "own", "form")
				assert.Equal(t, form.Params.Message, "Who are you?", "form")
			},
		}},
		{name: "form declined", on: servers{
			"npm": func(t *testing.T, p *peer) { p.says(t, "trigger-elicitation-request", `{}`, "declined") },
			"own": func(t *testing.T, p *peer) { p.says(t, "introduce", `{}`, "did not want to be introduced") },
		}},
		{name: "form in mid-call", on: servers{"sdk": func(t *testing.T, p *peer) {
			p.user.fill(map[string]any{"username": "ada"})
			p.says(t, "test_elicitation", `{"message":"Who?"}`, "action=accept", "username:ada")
		}}, not: older},
		{name: "form with defaults", on: servers{"sdk": func(t *testing.T, p *peer) {
			p.user.fill(map[string]any{"name": "Ada"})
			p.says(t, "test_elicitation_sep1034_defaults", `{}`, "action=accept", "name:Ada", "age:30", "score:95.5", "status:active", "verified:true")
		}}, not: older},
		{name: "form with choices", on: servers{
			"sdk": func(t *testing.T, p *peer) { p.says(t, "test_elicitation_sep1330_enums", `{}`) },
			"npm": func(t *testing.T, p *peer) {
				p.user.fill(map[string]any{
					"name": "Ada", "untitledSingleSelectEnum": "Joey", "untitledMultipleSelectEnum": []string{"Drums", "Bass"},
					"titledSingleSelectEnum": "hero-3", "titledMultipleSelectEnum": []string{"fish-2", "fish-3"}, "legacyTitledEnum": "pet-4",
				})
				p.says(t, "trigger-elicitation-request", `{}`, `"Joey"`, `"Drums"`, `"Bass"`, `"hero-3"`, `"fish-2"`, `"fish-3"`, `"pet-4"`)
			},
		}, not: reasons{
			"sdk http " + legacy: titled, "sdk stdio " + legacy: titled, "sdk http " + modern: midCall, "sdk stdio " + modern: midCall,
		}},
		{name: "page to visit", on: servers{
			"npm": func(t *testing.T, p *peer) {
				p.says(t, "trigger-url-elicitation", `{"url":"https://example.com/a?b=c","message":"Please."}`, "URL: https://example.com/a?b=c", `"action": "accept"`)
				page := assert.Only(t, p.user.pages)
				assert.Equal(t, page.URL+" "+page.Message, "https://example.com/a?b=c Please.", "the page")
			},
			"own": func(t *testing.T, p *peer) { p.says(t, "connect_account", `{}`, "The account is connected.") },
		}},
		// The server refuses the call until the user was at another page.
		{name: "page before a call", on: servers{"npm": func(t *testing.T, p *peer) {
			p.says(t, "trigger-url-elicitation", `{"url":"https://example.com/d","errorPath":true}`, "URL: https://example.com/d")
			var pages []string
			for _, page := range p.user.pages {
				pages = append(pages, page.URL)
			}
			assert.Equal(t, strings.Join(pages, " "), "https://modelcontextprotocol.io https://example.com/d", "the pages")
		}}},
		{name: "sampling", on: servers{
			"sdk": func(t *testing.T, p *peer) {
				p.says(t, "test_input_required_result_sampling", `{}`, "Sampling response: said by a model")
			},
			"npm": func(t *testing.T, p *peer) {
				p.says(t, "trigger-sampling-request", `{"prompt":"go on","maxTokens":7}`, "said by a model", `"model": "canned"`)
				talk := assert.Only(t, p.user.talks)
				got := fmt.Sprint(talk.Server, talk.Params.MaxTokens, talk.Params.Temperature, talk.Params.SystemPrompt)
				assert.Equal(t, got, fmt.Sprint("npm", 7, 0.7, "You are a helpful test server."), "the server and what it asks for")
			},
			"own": func(t *testing.T, p *peer) {
				p.tool(t, "append", `{"text":"to be summed up"}`, nil)
				p.says(t, "summarize", `{}`, "Summary by canned:", "said by a model")
			},
		}},
		{name: "sampling in mid-call", on: servers{"sdk": func(t *testing.T, p *peer) {
			p.says(t, "test_sampling", `{"prompt":"go on"}`, "LLM response: said by a model")
		}}, not: older},
		{name: "roots", on: servers{
			"sdk": roots("test_input_required_result_list_roots"), "npm": roots("get-roots-list"), "own": roots("list_roots"),
		}},
		{name: "changed roots", on: servers{"npm": changedRoots("get-roots-list"), "own": changedRoots("list_roots")}},
		{name: "several questions at once", on: servers{"sdk": func(t *testing.T, p *peer) {
			p.user.fill(map[string]any{"name": "Ada"})
			p.says(t, "test_input_required_result_multiple_inputs", `{}`, "said by a model Ada", "1 root(s) visible")
		}}},
		{name: "several rounds", on: servers{"sdk": func(t *testing.T, p *peer) {
			p.user.fill(map[string]any{"name": "Ada", "color": "red"})
			p.says(t, "test_input_required_result_multi_round", `{}`, "Multi-round complete: Ada likes red")
		}}, not: reasons{"sdk http " + legacy: oneLeg, "sdk stdio " + legacy: oneLeg}},
		{name: "state between rounds", on: servers{"sdk": func(t *testing.T, p *peer) {
			p.user.fill(map[string]any{"ok": true})
			p.says(t, "test_input_required_result_request_state", `{}`, "state-ok")
			p.says(t, "test_input_required_result_tampered_state", `{}`, "state-ok")
		}}},
		{name: "prompt that asks", on: servers{"sdk": func(t *testing.T, p *peer) {
			p.user.fill(map[string]any{"context": "a test"})
			prompts("test_input_required_result_prompt", nil, "Context: a test")(t, p)
		}}},
		{name: "missing capability", on: servers{"sdk": func(t *testing.T, p *peer) {
			another := p.another(t, func(o *mcp.ClientOptions) { o.Sample = nil })
			_, err := another.CallTool(ctxFor(t), "test_missing_capability", json.RawMessage(`{}`), nil)
			assert.Equal(t, assert.As[*mcp.ServerError](t, err).Err.Code, -32021, "without a model: the code")
			p.says(t, "test_missing_capability", `{}`, "tool executed")
		}}},
	}
}

func roots(tool string) func(*testing.T, *peer) {
	return func(t *testing.T, p *peer) {
		eventually(t, "the roots", func() bool { return strings.Contains(text(p.tool(t, tool, `{}`, nil)), "file:///srv/one") })
	}
}

// changedRoots replaces the roots and has the server list them. A server that
// keeps them learns that they changed, and asks for them in its own time.
func changedRoots(tool string) func(*testing.T, *peer) {
	return func(t *testing.T, p *peer) {
		p.user.work("two")
		assert.OK(t, p.RootsChanged(ctxFor(t)))
		eventually(t, "the new root", func() bool { return strings.Contains(text(p.tool(t, tool, `{}`, nil)), "file:///srv/two") })
		p.user.work()
		assert.OK(t, p.RootsChanged(ctxFor(t)))
		eventually(t, "the root to go", func() bool { return !strings.Contains(text(p.tool(t, tool, `{}`, nil)), "file:///srv/two") })
	}
}
