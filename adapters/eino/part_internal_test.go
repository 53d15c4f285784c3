package eino

import (
	"testing"

	"github.com/cloudwego/eino/schema"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/registry/profile"
)

// Whatever a provider comes to take has its own kind of part, which eino passes on.
func TestMediaParts(t *testing.T) {
	for media, kind := range map[string]schema.ChatMessagePartType{
		"image/png": schema.ChatMessagePartTypeImageURL, "audio/wav": schema.ChatMessagePartTypeAudioURL,
		"video/mp4": schema.ChatMessagePartTypeVideoURL, "application/pdf": schema.ChatMessagePartTypeFileURL, "": schema.ChatMessagePartTypeFileURL,
	} {
		res := &schema.ToolResult{Parts: []schema.ToolOutputPart{mediaPart(profile.Part{Data: []byte("data"), Type: media})}}
		parts := assert.Value(res.ToMessageInputParts())(t)
		assert.Equal(t, parts[0].Type, kind, "%s", media)
		name, common := commonOf(parts[0])
		assert.False(t, name == "", "%s: %s", media, name)
		assert.Equal(t, common.MIMEType, media)
		assert.Equal(t, *common.Base64Data, "ZGF0YQ==", "%s: %s", media, name)
		if text, behind := apart(parts); len(behind) != 2 || behind[1].Type != kind || text != behind[0].Text || text != line(name, common)[:len(line(name, common))-1]+", attached]" {
			t.Errorf("%s: %q, %+v", media, text, behind)
		}
	}
}
