package eino

import (
	"testing"

	"github.com/cloudwego/eino/schema"

	"github.com/mcpbelt/mcpbelt/registry/profile"
)

// Whatever a provider comes to take has its own kind of part, which eino passes on.
func TestMediaParts(t *testing.T) {
	for media, kind := range map[string]schema.ChatMessagePartType{
		"image/png": schema.ChatMessagePartTypeImageURL, "audio/wav": schema.ChatMessagePartTypeAudioURL,
		"video/mp4": schema.ChatMessagePartTypeVideoURL, "application/pdf": schema.ChatMessagePartTypeFileURL, "": schema.ChatMessagePartTypeFileURL,
	} {
		res := &schema.ToolResult{Parts: []schema.ToolOutputPart{mediaPart(profile.Part{Data: []byte("data"), Type: media})}}
		parts, err := res.ToMessageInputParts()
		if err != nil || parts[0].Type != kind {
			t.Fatalf("%s: %+v, %v", media, parts, err)
		}
		name, common := commonOf(parts[0])
		if name == "" || common.MIMEType != media || *common.Base64Data != "ZGF0YQ==" {
			t.Errorf("%s: %s, %+v", media, name, common)
		}
		if text, behind := apart(parts); len(behind) != 2 || behind[1].Type != kind || text != behind[0].Text || text != line(name, common)[:len(line(name, common))-1]+", attached]" {
			t.Errorf("%s: %q, %+v", media, text, behind)
		}
	}
}
