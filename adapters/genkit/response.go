package genkit

import (
	"maps"
	"slices"
	"strings"

	"github.com/firebase/genkit/go/ai"

	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry/profile"
)

// mediaKey is where an output has what is not text, when it has to pass through
// places where Genkit keeps nothing but the output: a call that was over while
// another one waited, and one that was run again.
const mediaKey = "mcpbelt:media"

// textKey is where such an output has its text, but for Gemini.
const textKey = "mcpbelt:text"

// response returns an answer as Genkit's result. With whole all of it is in the
// output.
func (t *Turn) response(a profile.Answer, whole bool) *ai.MultipartToolResponse {
	text, media := profile.Apart(t.parts(a.Result))
	res := &ai.MultipartToolResponse{Output: t.output(text, a.Result.IsError)}
	var packed []any
	for _, m := range media {
		url := m.DataURL()
		packed = append(packed, map[string]any{"url": url, "text": m.Text})
		res.Content = append(res.Content, mediaPart(m.Type, url, m.Text))
	}
	if !whole || packed == nil {
		return res
	}
	res.Content = nil
	output, ok := res.Output.(map[string]any)
	if !ok {
		output = map[string]any{textKey: res.Output}
	}
	output[mediaKey] = packed
	res.Output = output
	return res
}

// parts returns a result in the parts that the plugins take.
func (t *Turn) parts(res *mcp.CallToolResult) []profile.Part {
	if t.opts.Provider == profile.Gemini {
		return t.Set().Parts(res)
	}
	return profile.Images(t.Set().Parts(res))
}

// mediaPart returns a part that keeps the line of text that stands for it.
func mediaPart(kind, url, text string) *ai.Part {
	part := ai.NewMediaPart(kind, url)
	part.Metadata = map[string]any{lineKey: text}
	return part
}

// lineKey is where the metadata of a media part has that line.
const lineKey = "mcpbelt:line"

// output returns text as the output of a tool: for Gemini an object that says whether
// the tool failed, otherwise the text, which says so.
func (t *Turn) output(text string, isError bool) any {
	if t.opts.Provider == profile.Gemini {
		if isError {
			return map[string]any{"error": text}
		}
		return map[string]any{"output": text}
	}
	if isError {
		return profile.Failed(text)
	}
	return text
}

// unfold takes an output that holds media apart.
func unfold(res *ai.ToolResponse) *ai.ToolResponse {
	output, ok := res.Output.(map[string]any)
	packed, has := output[mediaKey].([]any)
	if !ok || !has {
		return res
	}
	rest := maps.Clone(output)
	delete(rest, mediaKey)
	out := &ai.ToolResponse{Name: res.Name, Ref: res.Ref, Output: rest, Content: slices.Clone(res.Content)}
	if text, ok := rest[textKey]; ok {
		out.Output = text
	}
	for _, p := range packed {
		one, _ := p.(map[string]any)
		url, _ := one["url"].(string)
		text, _ := one["text"].(string)
		if kind, data, ok := strings.Cut(url, ";base64,"); ok && strings.HasPrefix(kind, "data:") && data != "" {
			out.Content = append(out.Content, mediaPart(kind[len("data:"):], url, text))
		}
	}
	return out
}
