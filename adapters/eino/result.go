package eino

import (
	"context"
	"encoding/base64"
	"strings"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/flow/agent/react"
	"github.com/cloudwego/eino/schema"

	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry/profile"
	"github.com/mcpbelt/mcpbelt/registry/result"
)

// parts returns what the model is told, with images, and files if they are wanted. A
// message of eino has no other place for a failure, whatever the provider has.
func (b *Belt) parts(t *profile.Turn, a *profile.Answer) []profile.Part {
	parts := t.Set().Parts(a.Result)
	if a.Result.IsError {
		parts = failed(parts)
	}
	if !b.opts.Files {
		return profile.Images(parts)
	}
	return parts
}

// failed has it said in front that a tool failed.
func failed(parts []profile.Part) []profile.Part {
	if parts[0].Text == profile.Failure {
		return parts
	}
	return append([]profile.Part{{Text: profile.Failure}}, parts...)
}

// textOf returns an answer as text.
func (b *Belt) textOf(t *profile.Turn, a *profile.Answer) string {
	parts := b.parts(t, a)
	for i := range parts {
		parts[i].Data = nil
	}
	text, _ := profile.Apart(parts)
	return text
}

// resultOf returns an answer in parts. Texts that follow each other are one.
func (b *Belt) resultOf(t *profile.Turn, a *profile.Answer) *schema.ToolResult {
	res := &schema.ToolResult{}
	var lines []string
	flush := func() {
		if lines != nil {
			res.Parts = append(res.Parts, schema.ToolOutputPart{Type: schema.ToolPartTypeText, Text: strings.Join(lines, "\n")})
		}
		lines = nil
	}
	for _, p := range b.parts(t, a) {
		if p.Data == nil {
			lines = append(lines, p.Text)
			continue
		}
		flush()
		res.Parts = append(res.Parts, mediaPart(p))
	}
	flush()
	return res
}

func mediaPart(p profile.Part) schema.ToolOutputPart {
	data := base64.StdEncoding.EncodeToString(p.Data)
	common := schema.MessagePartCommon{Base64Data: &data, MIMEType: p.Type}
	switch kind, _, _ := strings.Cut(p.Type, "/"); kind {
	case "image":
		return schema.ToolOutputPart{Type: schema.ToolPartTypeImage, Image: &schema.ToolOutputImage{MessagePartCommon: common}}
	case "audio":
		return schema.ToolOutputPart{Type: schema.ToolPartTypeAudio, Audio: &schema.ToolOutputAudio{MessagePartCommon: common}}
	case "video":
		return schema.ToolOutputPart{Type: schema.ToolPartTypeVideo, Video: &schema.ToolOutputVideo{MessagePartCommon: common}}
	}
	return schema.ToolOutputPart{Type: schema.ToolPartTypeFile, File: &schema.ToolOutputFile{MessagePartCommon: common}}
}

// direct gives the user a result that is for them, if there is a way to them: the agent
// ends with it, or the program wants it. Otherwise the model has it.
func (b *Belt) direct(ctx context.Context, a *profile.Answer) {
	if a.Result.IsError {
		goOn(ctx, a.Call.ID)
		return
	}
	give := b.opts.Turn.Direct
	if a.Direct == nil || returnsDirectly(ctx, a.Call.ID) || give == nil {
		return
	}
	a.Result = &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: result.Withheld}}}
	give(ctx, *a)
}

// returnsDirectly reports whether the agent that makes a call ends with its result. One
// of the package react is told to.
func returnsDirectly(ctx context.Context, id string) bool {
	agents := false
	err := compose.ProcessState(ctx, func(_ context.Context, s *adk.State) error {
		agents = s.HasReturnDirectly && s.ReturnDirectlyToolCallID == id
		return nil
	})
	return err == nil && agents || err != nil && react.SetReturnDirectly(ctx) == nil
}

// goOn lets the model of an agent of adk mend a call that failed: the agent would end with
// whatever the tool returns.
func goOn(ctx context.Context, id string) {
	// Outside of such an agent there is no such state, which is the only error.
	_ = compose.ProcessState(ctx, func(_ context.Context, s *adk.State) error {
		if s.HasReturnDirectly && s.ReturnDirectlyToolCallID == id {
			s.HasReturnDirectly, s.ReturnDirectlyToolCallID = false, ""
		}
		return nil
	})
}
