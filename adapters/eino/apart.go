package eino

import (
	"encoding/base64"
	"fmt"
	"strings"

	"github.com/cloudwego/eino/schema"

	"github.com/mcpbelt/mcpbelt/registry/profile"
)

// apart parts the text of the message of a tool from its media, see [profile.Apart].
// Each of the media has its line of text before it.
func apart(content []schema.MessageInputPart) (string, []schema.MessageInputPart) {
	var parts []profile.Part
	var others []schema.MessageInputPart // those of media, in order
	for _, p := range content {
		kind, common := commonOf(p)
		if common == nil {
			if p.Text != "" {
				parts = append(parts, profile.Part{Text: p.Text})
			}
			continue
		}
		// Apart only asks whether there is data.
		parts = append(parts, profile.Part{Text: line(kind, common), Data: []byte{}})
		others = append(others, p)
	}
	text, media := profile.Apart(parts)
	var behind []schema.MessageInputPart
	for i, p := range media {
		behind = append(behind, schema.MessageInputPart{Type: schema.ChatMessagePartTypeText, Text: p.Text}, others[i])
	}
	return text, behind
}

// plain is the content of the message of a tool as text, which is all that adk gives to
// another agent.
func plain(content []schema.MessageInputPart) string {
	lines := make([]string, 0, len(content))
	for _, p := range content {
		if kind, common := commonOf(p); common != nil {
			lines = append(lines, line(kind, common))
		} else if p.Text != "" {
			lines = append(lines, p.Text)
		}
	}
	return strings.Join(lines, "\n")
}

// commonOf returns what media of all kinds have; nil for text.
func commonOf(p schema.MessageInputPart) (kind string, common *schema.MessagePartCommon) {
	switch {
	case p.Type == schema.ChatMessagePartTypeImageURL && p.Image != nil:
		return "image", &p.Image.MessagePartCommon
	case p.Type == schema.ChatMessagePartTypeAudioURL && p.Audio != nil:
		return "audio", &p.Audio.MessagePartCommon
	case p.Type == schema.ChatMessagePartTypeVideoURL && p.Video != nil:
		return "video", &p.Video.MessagePartCommon
	case p.Type == schema.ChatMessagePartTypeFileURL && p.File != nil:
		return "file", &p.File.MessagePartCommon
	}
	return "", nil
}

// line says what media are.
func line(kind string, common *schema.MessagePartCommon) string {
	text := "[" + kind
	if common.MIMEType != "" {
		text += " " + common.MIMEType
	}
	if common.Base64Data != nil {
		padding := strings.Count((*common.Base64Data)[max(0, len(*common.Base64Data)-2):], "=")
		text += fmt.Sprintf(", %d bytes", base64.StdEncoding.DecodedLen(len(*common.Base64Data))-padding)
	}
	return text + "]"
}
