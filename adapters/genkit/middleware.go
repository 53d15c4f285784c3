package genkit

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/firebase/genkit/go/ai"

	"github.com/mcpbelt/mcpbelt/registry/profile"
)

// errNoResponse reports a plugin that returns neither a message nor an error.
var errNoResponse = errors.New("genkit: the model returned no response")

// mend is the middleware around the model. It mends what the model gets to see; the
// history of the conversation stays as Genkit has it.
func (t *Turn) mend(next ai.ModelFunc) ai.ModelFunc {
	return func(ctx context.Context, req *ai.ModelRequest, cb ai.ModelStreamCallback) (*ai.ModelResponse, error) {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		resp, err := next(ctx, t.mended(req), cb)
		if err != nil {
			return nil, err
		}
		if resp == nil || resp.Message == nil {
			return nil, errNoResponse
		}
		out := *resp
		out.Request = req
		out.Message = t.listed(req, resp.Message)
		return &out, nil
	}
}

// mended returns the request as the model is to get it.
func (t *Turn) mended(req *ai.ModelRequest) *ai.ModelRequest {
	out := *req
	out.Tools = t.sorted(req.Tools)
	out.Messages = nil
	all := t.repaired(req.Messages)
	for len(all) > 0 {
		m := *all[0]
		m.Content = nil
		n := 0 // the results of one message of the model are one message
		for ; n == 0 || m.Role == ai.RoleTool && n < len(all) && all[n].Role == m.Role; n++ {
			m.Content = append(m.Content, all[n].Content...)
		}
		all = all[n:]
		if m.Role != ai.RoleTool {
			out.Messages = append(out.Messages, &m)
			continue
		}
		images := unfoldAll(m.Content)
		if t.opts.Provider == profile.Ollama {
			out.Messages = append(out.Messages, apart(&m)...)
		} else {
			out.Messages = append(out.Messages, &m)
		}
		if images != nil {
			out.Messages = append(out.Messages, ai.NewUserMessage(images...))
		}
	}
	return &out
}

// repaired returns messages as the provider takes them, each result in one of its own.
func (t *Turn) repaired(messages []*ai.Message) []*ai.Message {
	r := &profile.Repairer[*ai.Message]{
		Provider: t.opts.Provider,
		Each: func(m *ai.Message, call, result func(profile.Call) profile.Call) *ai.Message {
			with := *m
			with.Content = slices.Clone(m.Content)
			for i, p := range m.Content {
				part := *p
				switch {
				case p.IsToolResponse() && m.Role == ai.RoleTool:
					res := *p.ToolResponse
					of := result(profile.Call{ID: res.Ref, Name: res.Name})
					res.Ref, res.Name, part.ToolResponse = of.ID, of.Name, &res
				case p.IsToolRequest():
					req := *p.ToolRequest
					input, _ := json.Marshal(req.Input)
					back := call(profile.Call{ID: req.Ref, Name: req.Name, Arguments: input})
					if string(input) != string(back.Arguments) {
						req.Input = back.Arguments
					}
					req.Ref, req.Name, part.ToolRequest = back.ID, back.Name, &req
				}
				with.Content[i] = &part
			}
			return &with
		},
		Lost: func(c profile.Call, text string) *ai.Message {
			return ai.NewMessage(ai.RoleTool, nil, ai.NewToolResponsePart(&ai.ToolResponse{Ref: c.ID, Name: c.Name, Output: t.output(text, true)}))
		},
		Ended: true,
	}
	var pieces []*ai.Message
	for _, m := range messages {
		piece := *m
		piece.Content = make([]*ai.Part, len(m.Content))
		for i, p := range m.Content {
			piece.Content[i] = signed(named(p))
		}
		said := m.Role == ai.RoleModel && t.opts.Provider != profile.Gemini // which takes all of it
		if said {
			piece.Content = t.sendable(piece.Content)
		}
		if m.Role == ai.RoleTool {
			pieces = append(pieces, apart(&piece)...)
		} else if !said || len(piece.Content) > 0 {
			pieces = append(pieces, &piece)
		}
	}
	return r.Repair(pieces)
}

// sendable returns what a model wrote as its API takes it back.
func (t *Turn) sendable(parts []*ai.Part) []*ai.Part {
	return profile.Sendable(parts, func(p *ai.Part) (thought, empty bool) {
		signature, _ := p.Metadata["signature"].([]byte)
		unsigned := p.IsReasoning() && len(signature) == 0 && t.opts.Provider == profile.Anthropic
		return p.IsReasoning(), p.IsText() && strings.TrimSpace(p.Text) == "" || unsigned
	})
}

// apart returns a message for each result: the plugin for Ollama would write all those
// of one message as one text.
func apart(m *ai.Message) []*ai.Message {
	all := make([]*ai.Message, len(m.Content))
	for i, p := range m.Content {
		one := *m
		one.Content = []*ai.Part{p}
		all[i] = &one
	}
	return all
}

// sorted returns the tools that the model is told of: ours in the order of the turn,
// then the others by name. Genkit has them in any order.
func (t *Turn) sorted(tools []*ai.ToolDefinition) []*ai.ToolDefinition {
	at := make(map[string]int, len(t.tools))
	for i, own := range t.tools {
		at[own.name] = i - len(t.tools)
	}
	tools = slices.DeleteFunc(slices.Clone(tools), func(d *ai.ToolDefinition) bool { return !t.offers(d.Name) })
	slices.SortFunc(tools, func(a, b *ai.ToolDefinition) int {
		return cmp.Or(cmp.Compare(at[a.Name], at[b.Name]), strings.Compare(a.Name, b.Name))
	})
	return tools
}

// unfoldAll unfolds the responses in parts, and returns the images that follow them in
// a message of the user: of the plugins only one sends them with the results, and not
// all models that it is for take them there.
func unfoldAll(parts []*ai.Part) (images []*ai.Part) {
	for i, p := range parts {
		if !p.IsToolResponse() {
			continue
		}
		res := unfold(p.ToolResponse)
		if len(res.Content) > 0 {
			for _, c := range res.Content {
				if line, _ := c.Metadata[lineKey].(string); line != "" {
					images = append(images, ai.NewTextPart(line))
				}
				images = append(images, c)
			}
			bare := *res
			bare.Content = nil
			res = &bare
		}
		part := *p
		part.ToolResponse = res
		parts[i] = &part
	}
	return images
}

// named returns a part with the name that the model wrote.
func named(p *ai.Part) *ai.Part {
	if !p.IsToolRequest() || p.ToolRequest.Name != unlisted {
		return p
	}
	input, _ := p.ToolRequest.Input.(map[string]any)
	name, _ := input["name"].(string)
	part := *p
	part.ToolRequest = &ai.ToolRequest{Name: name, Ref: p.ToolRequest.Ref, Input: input["input"]}
	return &part
}

// signed returns a part with its signature as bytes. Plugins for models that think
// look for those, but a conversation that was stored, or in which a call waited, has
// been through JSON.
func signed(p *ai.Part) *ai.Part {
	text, ok := p.Metadata["signature"].(string)
	if !ok {
		return p
	}
	raw, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return p
	}
	part := *p
	part.Metadata = maps.Clone(p.Metadata)
	part.Metadata["signature"] = raw
	return &part
}

// listed returns a message of the model in which calls of tools that it was not told
// of are calls of the tool that answers them, and each has an id of its own.
func (t *Turn) listed(req *ai.ModelRequest, m *ai.Message) *ai.Message {
	offered := make(map[string]bool, len(req.Tools))
	for _, d := range req.Tools {
		offered[d.Name] = t.offers(d.Name)
	}
	out := *m
	out.Content = slices.Clone(m.Content)
	var calls []profile.Call
	for _, p := range m.Content {
		if p.IsToolRequest() {
			calls = append(calls, profile.Call{ID: p.ToolRequest.Ref})
		}
	}
	calls = t.opts.Provider.WithIDs(calls)
	for i, p := range m.Content {
		if !p.IsToolRequest() {
			continue
		}
		ref := calls[0].ID
		calls = calls[1:]
		part := *p
		if offered[p.ToolRequest.Name] {
			if ref != p.ToolRequest.Ref {
				request := *p.ToolRequest
				request.Ref, part.ToolRequest = ref, &request
				out.Content[i] = &part
			}
			continue
		}
		part.Metadata = maps.Clone(p.Metadata)
		part.ToolRequest = &ai.ToolRequest{Name: unlisted, Ref: ref, Input: map[string]any{
			"name": p.ToolRequest.Name, "input": p.ToolRequest.Input,
		}}
		out.Content[i] = &part
	}
	return &out
}
