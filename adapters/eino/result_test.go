package eino_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/flow/agent"
	"github.com/cloudwego/eino/flow/agent/react"
	"github.com/cloudwego/eino/schema"

	belt "github.com/mcpbelt/mcpbelt/adapters/eino"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/profile"
	"github.com/mcpbelt/mcpbelt/registry/result"
)

// runOne runs the only tool of a registry that has this result.
func runOne(t *testing.T, opts *belt.Options, res *mcp.CallToolResult) any {
	t.Helper()
	reg := registry.New(nil)
	assert.OK(t, reg.Add(returning("one", func() (*mcp.CallToolResult, error) { return res, nil })))
	tools := assert.Value(belt.New(reg, opts).Tools(t.Context()))(t)
	switch one := tools[0].(type) {
	case tool.InvokableTool:
		return assert.Value(one.InvokableRun(t.Context(), ""))(t)
	case tool.EnhancedInvokableTool:
		return assert.Value(one.InvokableRun(t.Context(), nil))(t)
	}
	t.Fatalf("a tool of type %T", tools[0])
	return nil
}

// form shows the parts of a result.
func form(res any) string {
	if text, ok := res.(string); ok {
		return text
	}
	var all []string
	for _, p := range res.(*schema.ToolResult).Parts {
		data := func(c schema.MessagePartCommon) string {
			raw, err := base64.StdEncoding.DecodeString(*c.Base64Data)
			if err != nil || c.URL != nil || len(raw) == 0 {
				return "broken"
			}
			return c.MIMEType
		}
		switch p.Type {
		case schema.ToolPartTypeText:
			all = append(all, p.Text)
		case schema.ToolPartTypeImage:
			all = append(all, "image:"+data(p.Image.MessagePartCommon))
		case schema.ToolPartTypeFile:
			all = append(all, "file:"+data(p.File.MessagePartCommon))
		}
	}
	return strings.Join(all, "|")
}

func TestResults(t *testing.T) {
	text := func(s string) mcp.Content { return &mcp.TextContent{Text: s} }
	picture := &mcp.ImageContent{MIMEType: "image/jpeg", Data: onePixel()}
	pdf := &mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "file:///a.pdf", MIMEType: "application/pdf", Blob: []byte("%PDF-1.7\n")}}
	sound := &mcp.AudioContent{MIMEType: "audio/wav", Data: []byte("RIFF0000WAVE")}
	for _, c := range []struct {
		name string
		opts *belt.Options
		res  *mcp.CallToolResult
		want string
	}{
		{"texts", nil, &mcp.CallToolResult{Content: []mcp.Content{text("a"), text("b")}}, "a\nb"},
		{"texts as text", &belt.Options{Turn: profile.TurnOptions{TextOnly: true}}, &mcp.CallToolResult{Content: []mcp.Content{text("a"), text("b")}}, "a\nb"},
		{"nothing", nil, &mcp.CallToolResult{}, "The tool returned nothing."},
		{"nothing as text", &belt.Options{Turn: profile.TurnOptions{TextOnly: true}}, &mcp.CallToolResult{}, "The tool returned nothing."},
		{"order", nil, &mcp.CallToolResult{Content: []mcp.Content{picture, text("a"), picture}}, "image:image/png|a|image:image/png"},
		{"image as text", &belt.Options{Turn: profile.TurnOptions{TextOnly: true}}, &mcp.CallToolResult{Content: []mcp.Content{picture}}, "[image image/jpeg, 71 bytes]"},
		{"image alone", nil, &mcp.CallToolResult{Content: []mcp.Content{picture}}, "image:image/png"},
		{"file", nil, &mcp.CallToolResult{Content: []mcp.Content{pdf}}, "[binary application/pdf, 9 bytes]"},
		{"file as file", &belt.Options{Files: true}, &mcp.CallToolResult{Content: []mcp.Content{pdf}}, "file:application/pdf"},
		{"sound", &belt.Options{Files: true}, &mcp.CallToolResult{Content: []mcp.Content{sound}}, "[audio audio/wav, 12 bytes]"},
		{"structure", nil, &mcp.CallToolResult{StructuredContent: json.RawMessage(`{"a":1}`)}, `{"a":1}`},
		{"failure", nil, &mcp.CallToolResult{IsError: true, Content: []mcp.Content{text("no")}}, "The tool failed:\nno"},
		{"failure for Claude", &belt.Options{Provider: profile.Anthropic}, &mcp.CallToolResult{IsError: true, Content: []mcp.Content{text("no")}}, "The tool failed:\nno"},
		{"failure for Gemini as text", &belt.Options{Provider: profile.Gemini, Turn: profile.TurnOptions{TextOnly: true}}, &mcp.CallToolResult{IsError: true}, "The tool failed:\nThe tool returned nothing."},
		{"failure with an image", nil, &mcp.CallToolResult{IsError: true, Content: []mcp.Content{picture}}, "The tool failed:|image:image/png"},
		{"characters", nil, &mcp.CallToolResult{Content: []mcp.Content{text("a\xff\x00b")}}, "a\uFFFD\uFFFDb"},
	} {
		assert.Equal(t, form(runOne(t, c.opts, c.res)), c.want, "%s", c.name)
	}
}

// A model that takes nothing but text from tools gets images behind all results of a
// message, and the caller's messages stay as they were.
func TestMessages(t *testing.T) {
	data, url := base64.StdEncoding.EncodeToString(onePixel()), "https://example.com/a.png"
	part := func(text string) schema.MessageInputPart {
		return schema.MessageInputPart{Type: schema.ChatMessagePartTypeText, Text: text}
	}
	picture := schema.MessageInputPart{Type: schema.ChatMessagePartTypeImageURL, Image: &schema.MessageInputImage{MessagePartCommon: schema.MessagePartCommon{Base64Data: &data, MIMEType: "image/png"}}}
	linked := schema.MessageInputPart{Type: schema.ChatMessagePartTypeImageURL, Image: &schema.MessageInputImage{MessagePartCommon: schema.MessagePartCommon{URL: &url}}}
	of := func(id string, parts ...schema.MessageInputPart) *schema.Message {
		m := schema.ToolMessage("", id)
		m.UserInputMultiContent = parts
		return m
	}
	asked := call("a", "{}", "b", "{}", "c", "{}", "d", "{}")
	for i := range asked.ToolCalls {
		asked.ToolCalls[i].ID = fmt.Sprint(i + 1)
	}
	in := []*schema.Message{
		schema.UserMessage("a"), asked, of("1", part("one"), picture, part("two")), schema.ToolMessage("plain", "2"), of("3", linked), of("4", part("text")),
		schema.AssistantMessage("b", []schema.ToolCall{{ID: "5", Function: schema.FunctionCall{Name: "it", Arguments: "{}"}}}), of("5", picture), nil,
	}
	before := assert.Value(json.Marshal(in))(t)
	out := belt.New(registry.New(nil), nil).Messages(in)
	if after, err := json.Marshal(in); err != nil || string(after) != string(before) {
		t.Errorf("the messages of the caller became %s", after)
	}
	var got []string
	for _, m := range out {
		if m == nil {
			got = append(got, "nil")
			continue
		}
		line := string(m.Role) + ":" + m.Content
		for _, p := range m.UserInputMultiContent {
			line += "<" + p.Text + ">"
			if p.Image != nil {
				line += "image"
			}
		}
		got = append(got, line)
	}
	want := []string{
		"user:a", "assistant:", "tool:one\n[image image/png, 71 bytes, attached]\ntwo", "tool:plain", "tool:[image, attached]", "tool:text",
		"user:<[image image/png, 71 bytes, attached]><>image<[image, attached]><>image",
		"assistant:b", "tool:[image image/png, 71 bytes, attached]", "user:<[image image/png, 71 bytes, attached]><>image", "nil",
	}
	assert.False(t, strings.Join(got, "\x00") != strings.Join(want, "\x00"), "the messages are\n%q, want\n%q", got, want)
	kept := belt.New(registry.New(nil), &belt.Options{ToolImages: true}).Messages(in)
	if len(kept) != len(in) || len(kept[2].UserInputMultiContent) != 3 || kept[5].Content != "text" || kept[5].UserInputMultiContent != nil {
		t.Errorf("for a model that takes images from tools they are %+v", kept)
	}
}

// direct is a registry whose tool show is for the user.
func direct(t *testing.T) *registry.Registry {
	t.Helper()
	reg := registry.New(nil)
	show := returning("show", func() (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "for your eyes"}}}, nil
	})
	show.Definition().ReturnDirect = true
	assert.OK(t, reg.Add(show))
	return reg
}

func TestReturnDirect(t *testing.T) {
	var shown atomic.Int64
	opts := &belt.Options{Turn: profile.TurnOptions{Direct: func(_ context.Context, a profile.Answer) {
		if result.Text(a.Direct) == "for your eyes" {
			shown.Add(1)
		}
	}}}
	t.Run("react", func(t *testing.T) {
		model := newModel(t)
		model.Then(calls("show", `{}`))
		b := belt.New(direct(t), opts)
		config := assert.Value(b.ToolsNode(t.Context()))(t)
		reacting := assert.Value(react.NewAgent(t.Context(), &react.AgentConfig{ToolCallingModel: b.Model(newModelOf(t, "", model.URL)), ToolsConfig: config, MaxStep: 20}))(t)
		answer := assert.Value(reacting.Generate(t.Context(), []*schema.Message{schema.UserMessage("show")}, agent.WithComposeOptions(b.Live(t.Context()))))(t)
		assert.Equal(t, texts(b, []*schema.Message{answer})[0], "for your eyes")
		assert.Equal(t, shown.Load(), 0)
	})
	t.Run("adk", func(t *testing.T) {
		model := newModel(t)
		model.Then(calls("show", `{}`))
		a := &adkAgent{belt: belt.New(direct(t), opts), model: newModelOf(t, "", model.URL), store: newStore()}
		assert.Value(a.Ask(t.Context(), "show"))(t)
		assert.Equal(t, texts(a.belt, []*schema.Message{a.messages[len(a.messages)-1]})[0], "for your eyes", "the last event")
		assert.Equal(t, len(model.Requests()), 1, "requests")
		assert.Equal(t, shown.Load(), 0, "the times that it was shown")
	})
	t.Run("node", func(t *testing.T) {
		r := newRig(t, belt.New(direct(t), opts), newStore())
		assert.Lacks(t, r.mustEnd(t, t.Context(), call("show", `{}`))[0], "eyes", "the model")
		assert.Equal(t, shown.Load(), 1, "the times that it was shown")
		r = newRig(t, belt.New(direct(t), nil), newStore())
		assert.Equal(t, r.mustEnd(t, t.Context(), call("show", `{}`))[0], "for your eyes", "nobody got the result")
	})
}

// In the events of adk a tool message is there once for each call, whatever kind the tools
// are of.
func TestEventsOfAgent(t *testing.T) {
	for _, text := range []bool{false, true} {
		var l log
		model := newModel(t)
		model.Then(calls("picture", `{}`, "nobody", `{}`), says("done"))
		a := &adkAgent{belt: belt.New(newCautious(t, &l), &belt.Options{Turn: profile.TurnOptions{TextOnly: text}}), model: newModelOf(t, "", model.URL), store: newStore()}
		assert.Value(a.Ask(t.Context(), "look"))(t)
		ids := map[string]int{}
		for _, m := range a.messages {
			if m.Role == schema.Tool {
				ids[m.ToolCallID]++
				if m.ToolName == "picture" && !text {
					checkImage(t, m.UserInputMultiContent)
				}
			}
		}
		assert.True(t, len(ids) == 2, "the events are of %v", ids)
		for id, n := range ids {
			assert.Equal(t, n, 1, "%s has events", id)
		}
	}
}
