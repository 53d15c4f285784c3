package genkit

import (
	"cmp"
	"context"
	"encoding/base64"
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
	var calls []*ai.Part // of the message before
	for _, m := range req.Messages {
		mended := *m
		mended.Content = make([]*ai.Part, len(m.Content))
		for i, p := range m.Content {
			mended.Content[i] = signed(named(p))
		}
		if m.Role == ai.RoleModel {
			calls = mended.Content
		}
		out.Messages = append(out.Messages, &mended)
		if m.Role != ai.RoleTool {
			continue
		}
		slices.SortStableFunc(mended.Content, func(a, b *ai.Part) int { return cmp.Compare(place(calls, a), place(calls, b)) })
		for i, p := range mended.Content {
			mended.Content[i] = namedAs(p, calls)
		}
		images := unfoldAll(mended.Content)
		if t.opts.Provider == profile.Ollama {
			out.Messages = append(out.Messages[:len(out.Messages)-1], apart(&mended)...)
		}
		if images != nil {
			out.Messages = append(out.Messages, ai.NewUserMessage(images...))
		}
	}
	return &out
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

// place returns where in a message the call is that a part answers.
func place(calls []*ai.Part, response *ai.Part) int {
	for i, c := range calls {
		if c.IsToolRequest() && response.IsToolResponse() && c.ToolRequest.Ref == response.ToolResponse.Ref {
			return i
		}
	}
	return len(calls)
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

// namedAs returns a part that answers one of the calls with the name of that.
func namedAs(p *ai.Part, calls []*ai.Part) *ai.Part {
	at := place(calls, p)
	if at == len(calls) || p.ToolResponse.Name != unlisted {
		return p
	}
	part, res := *p, *p.ToolResponse
	res.Name = calls[at].ToolRequest.Name
	part.ToolResponse = &res
	return &part
}

// listed returns a message of the model in which calls of tools that it was not told
// of are calls of the tool that answers them.
func (t *Turn) listed(req *ai.ModelRequest, m *ai.Message) *ai.Message {
	offered := make(map[string]bool, len(req.Tools))
	for _, d := range req.Tools {
		offered[d.Name] = t.offers(d.Name)
	}
	out := *m
	out.Content = slices.Clone(m.Content)
	for i, p := range m.Content {
		if !p.IsToolRequest() || offered[p.ToolRequest.Name] {
			continue
		}
		part := *p
		part.Metadata = maps.Clone(p.Metadata)
		part.ToolRequest = &ai.ToolRequest{Name: unlisted, Ref: p.ToolRequest.Ref, Input: map[string]any{
			"name": p.ToolRequest.Name, "input": p.ToolRequest.Input,
		}}
		out.Content[i] = &part
	}
	return &out
}
