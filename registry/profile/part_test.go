package profile_test

import (
	"bytes"
	"fmt"
	"image"
	"image/png"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/profile"
)

func picture(t *testing.T, width, height int) []byte {
	t.Helper()
	var b bytes.Buffer
	assert.OK(t, png.Encode(&b, image.NewGray(image.Rect(0, 0, width, height))))
	return b.Bytes()
}

// webp returns a WebP whose only chunk holds data.
func webp(chunk string, data ...byte) []byte {
	b := append([]byte("RIFF\x00\x00\x00\x00WEBP"+chunk+"\x00\x00\x00\x00"), data...)
	b[4], b[16] = byte(len(b)-8), byte(len(data))
	return b
}

// What a provider does not take must not reach it as data: it would refuse the
// conversation, and each one after it.
func TestPartsData(t *testing.T) {
	small := picture(t, 2, 2)
	pdf := []byte("%PDF-1.7\n")
	for _, c := range []struct {
		name  string
		block mcp.Content
		kind  string
		takes []profile.Provider
	}{
		{"png", &mcp.ImageContent{MIMEType: "image/png", Data: small}, "image/png", providers},
		//report: Results | microsoft/vscode#311732, anthropics/claude-code#12009, anthropics/claude-code#11936, AnimaApp/anima-sdk#84, llmsresearch/paperbanana#58 | an image is called by another type than its bytes are of, which spoils the conversation for good | a provider gets the type of the bytes
		{"png of another name", &mcp.ImageContent{MIMEType: "image/jpg", Data: small}, "image/png", providers},
		{"png as a file", &mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "file:///a.png", Blob: small}}, "image/png", providers},
		//report: Results | software-mansion/argent#261 | a screenshot that failed is an image without bytes, or half of one | no provider gets it; the model reads a line
		{"half a png", &mcp.ImageContent{MIMEType: "image/png", Data: small[:20]}, "", nil},
		{"an empty png", &mcp.ImageContent{MIMEType: "image/png"}, "", nil},
		{"a wide png", &mcp.ImageContent{MIMEType: "image/png", Data: picture(t, 8001, 1)}, "image/png", []profile.Provider{profile.OpenAI, profile.OpenAIStrict, profile.Gemini, profile.Ollama}},
		{"a page", &mcp.ImageContent{MIMEType: "image/png", Data: []byte("<html><body>")}, "", nil},
		{"gif", &mcp.ImageContent{MIMEType: "image/gif", Data: []byte("GIF89a\x01\x00\x01\x00\x00\x00\x00;")}, "image/gif", []profile.Provider{profile.OpenAI, profile.OpenAIStrict, profile.Anthropic, profile.Bedrock}},
		{"a png without its end", &mcp.ImageContent{MIMEType: "image/png", Data: small[:len(small)-8]}, "", nil},
		{"webp", &mcp.ImageContent{Data: webp("VP8X", 0, 0, 0, 0, 0x3f, 0x1f, 0, 0, 0, 0)}, "image/webp", providers}, // 8000 wide
		{"a wide webp", &mcp.ImageContent{Data: webp("VP8X", 0, 0, 0, 0, 0x40, 0x1f, 0, 0, 0, 0)}, "image/webp", []profile.Provider{profile.OpenAI, profile.OpenAIStrict, profile.Gemini, profile.Ollama}},
		{"a high webp", &mcp.ImageContent{Data: webp("VP8X", 0, 0, 0, 0, 0, 0, 0, 0x40, 0x1f, 0)}, "image/webp", []profile.Provider{profile.OpenAI, profile.OpenAIStrict, profile.Gemini, profile.Ollama}},
		{"a webp too wide for all", &mcp.ImageContent{Data: webp("VP8X", 0, 0, 0, 0, 0, 0, 1, 0, 0, 0)}, "", nil},
		{"lossy webp", &mcp.ImageContent{Data: webp("VP8 ", 0, 0, 0, 0x9d, 1, 0x2a, 1, 0, 1, 0x40)}, "image/webp", providers},
		{"lossy webp of no height", &mcp.ImageContent{Data: webp("VP8 ", 0, 0, 0, 0x9d, 1, 0x2a, 1, 0, 0, 0)}, "", nil},
		{"a wide lossless webp", &mcp.ImageContent{Data: webp("VP8L", 0x2f, 0x40, 0x1f, 0, 0, 0, 0, 0, 0, 0)}, "image/webp", []profile.Provider{profile.OpenAI, profile.OpenAIStrict, profile.Gemini, profile.Ollama}},
		{"a high lossless webp", &mcp.ImageContent{Data: webp("VP8L", 0x2f, 0, 0, 0xd0, 0x07, 0, 0, 0, 0, 0)}, "image/webp", []profile.Provider{profile.OpenAI, profile.OpenAIStrict, profile.Gemini, profile.Ollama}},
		{"the head of a webp", &mcp.ImageContent{Data: []byte("RIFF\x00\x00\x00\x00WEBPVP8X")}, "", nil},
		{"half a webp", &mcp.ImageContent{Data: webp("VP8X", 0, 0, 0, 0, 9, 0, 0, 9, 0, 0, 1)[:30]}, "", nil},
		{"pdf", &mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "file:///a.pdf", Blob: pdf}}, "application/pdf", []profile.Provider{profile.OpenAI, profile.OpenAIStrict, profile.Anthropic, profile.Gemini, profile.Bedrock}},
		{"sound", &mcp.AudioContent{MIMEType: "audio/wav", Data: []byte("RIFF\x00\x00\x00\x00WAVE")}, "", nil},
	} {
		for _, p := range providers {
			parts := profile.Parts(p, &mcp.CallToolResult{Content: []mcp.Content{c.block}})
			assert.Equal(t, len(parts), 1, "%s for %s: parts", c.name, p)
			assert.True(t, parts[0].Text != "", "%s for %s: there is a text", c.name, p)
			want := ""
			if slices.Contains(c.takes, p) {
				want = c.kind
			}
			assert.Equal(t, parts[0].Type, want, "%s %s", c.name, p)
			assert.Equal(t, parts[0].Data != nil, want != "", "%s %s", c.name, p)
		}
	}
}

// A result with more data than a request can have must not end the conversation.
func TestPartsOfTooMuch(t *testing.T) {
	small := picture(t, 2, 2)
	large := append(picture(t, 2, 2), make([]byte, 7<<20)...)
	for _, c := range []struct {
		data     []byte
		n, taken int
	}{{small, 20, 20}, {small, 1000, 20}, {large, 5, 2}} {
		res := &mcp.CallToolResult{}
		for range c.n {
			res.Content = append(res.Content, &mcp.ImageContent{MIMEType: "image/png", Data: c.data})
		}
		res.Content = append(res.Content, &mcp.TextContent{Text: "the end"})
		parts := profile.Parts(profile.OpenAI, res)
		taken := slices.IndexFunc(parts, func(p profile.Part) bool { return p.Data == nil })
		assert.Equal(t, len(parts), c.n+1)
		assert.Equal(t, taken, c.taken)
		assert.Equal(t, parts[c.n].Text, "the end")
		for _, p := range parts[taken:c.n] {
			assert.Equal(t, len(p.Data), 0, "bytes of what is behind the last")
			assert.Contains(t, p.Text, ", left out: the result has too many]")
		}
	}
}

func TestPartsText(t *testing.T) {
	text := func(s string) mcp.Content { return &mcp.TextContent{Text: s} }
	for _, c := range []struct {
		name string
		res  *mcp.CallToolResult
		want []string
	}{
		{"nil", nil, []string{"The tool returned nothing."}},
		{"nothing", &mcp.CallToolResult{}, []string{"The tool returned nothing."}},
		{"blanks", &mcp.CallToolResult{Content: []mcp.Content{text(""), text(" \n\t")}}, []string{"The tool returned nothing."}},
		{"a hole", &mcp.CallToolResult{Content: []mcp.Content{nil, text("a")}}, []string{"a"}},
		{"bad characters", &mcp.CallToolResult{Content: []mcp.Content{text("a\x00b\xffc")}}, []string{"a\uFFFDb\uFFFDc"}},
		{"the order", &mcp.CallToolResult{Content: []mcp.Content{text("a"), &mcp.AudioContent{MIMEType: "audio/wav"}, text("b")}}, []string{"a", "[audio audio/wav, 0 bytes]", "b"}},
		{"structure", &mcp.CallToolResult{StructuredContent: map[string]any{"a": 1}}, []string{`{"a":1}`}},
	} {
		for _, p := range append(slices.Clip(providers), "unknown") {
			var got []string
			for _, part := range profile.Parts(p, c.res) {
				got = append(got, part.Text)
			}
			assert.Equal(t, fmt.Sprintf("%q", got), fmt.Sprintf("%q", c.want), "%s %s", c.name, p)
		}
	}
}

func TestPartsFailure(t *testing.T) {
	for _, res := range []*mcp.CallToolResult{
		{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: "no"}}},
		{IsError: true},
	} {
		for _, p := range providers {
			parts := profile.Parts(p, res)
			flagged := p == profile.Anthropic || p == profile.Gemini || p == profile.Bedrock
			assert.Equal(t, parts[0].Text == "The tool failed:", !flagged, "%s: the text tells of the failure", p)
			if !flagged {
				assert.Equal(t, len(parts), 2, "%s: parts", p)
			}
		}
	}
}

func TestApart(t *testing.T) {
	image := picture(t, 1, 1)
	parts := profile.Parts(profile.OpenAI, &mcp.CallToolResult{Content: []mcp.Content{
		&mcp.TextContent{Text: "before"}, &mcp.ImageContent{MIMEType: "image/png", Data: image}, &mcp.TextContent{Text: "behind\n"},
	}})
	text, media := profile.Apart(parts)
	lines := strings.Split(text, "\n")
	assert.Equal(t, len(lines), 3, "%q", text)
	assert.Equal(t, lines[0], "before", "%q", text)
	assert.True(t, strings.HasSuffix(lines[1], ", attached]"), "%q: %q ends with %q", text, lines[1], ", attached]")
	assert.Equal(t, lines[2], "behind", "%q", text)
	assert.Equal(t, len(media), 1, "media")
	assert.Equal(t, string(media[0].Data), string(image), "the data")
	assert.Equal(t, media[0].Text, lines[1], "the text of the media")
	assert.Lacks(t, parts[1].Text, "attached", "Apart changed its argument")
}

// TestPartsOfLongText has results whose text is as long as the provider takes, or longer, in
// one part or several.
func TestPartsOfLongText(t *testing.T) {
	const most = 1 << 20
	image := &mcp.ImageContent{MIMEType: "image/png", Data: picture(t, 1, 1)}
	for _, test := range []struct {
		name    string
		p       profile.Provider
		content []mcp.Content
		cut     bool
	}{
		//report: Models | modelcontextprotocol/csharp-sdk#76, Shopify/roast#52 | a tool returns two million characters of text, and the API refuses the conversation with them for ever, as a string that is too long | the text is cut at what the API takes, and a line at the end says so
		{"one", profile.OpenAI, []mcp.Content{&mcp.TextContent{Text: strings.Repeat("x", 2_045_715)}}, true},
		{"one more", profile.OpenAIStrict, []mcp.Content{&mcp.TextContent{Text: strings.Repeat("x", most+1)}}, true},
		{"of several bytes", profile.OpenAI, []mcp.Content{&mcp.TextContent{Text: strings.Repeat("ä", most)}}, true},
		//report: Models | VectorlyApp/bluebox#31 | OpenAI counts the length of a text in characters, as JSON Schema does, and not in bytes | a text of several bytes a character is cut no sooner
		{"of several bytes, and few enough", profile.OpenAI, []mcp.Content{&mcp.TextContent{Text: strings.Repeat("ä", most-200)}}, false},
		{"several", profile.OpenAI, slices.Repeat([]mcp.Content{&mcp.TextContent{Text: strings.Repeat("x", 300)}, image}, 4000), true},
		{"enough", profile.OpenAI, []mcp.Content{&mcp.TextContent{Text: strings.Repeat("x", most-1000)}, image}, false},
		{"no limit", profile.Gemini, []mcp.Content{&mcp.TextContent{Text: strings.Repeat("x", 2*most)}}, false},
	} {
		text, _ := profile.Apart(profile.Parts(test.p, &mcp.CallToolResult{Content: test.content}))
		cut := strings.HasSuffix(text, "in one result]")
		if n := utf8.RuneCountInString(text); cut != test.cut || cut && (n > most || n < most-500) || !utf8.ValidString(text) {
			t.Errorf("%s: %d characters, cut: %v, want %v", test.name, n, cut, test.cut)
		}
	}
}

func TestTurnOfText(t *testing.T) {
	res := &mcp.CallToolResult{Content: []mcp.Content{&mcp.ImageContent{MIMEType: "image/png", Data: picture(t, 1, 1)}}}
	for _, only := range []bool{true, false} {
		part := newTurn(t, registry.New(nil), &profile.TurnOptions{TextOnly: only}).Set().Parts(res)[0]
		assert.Equal(t, part.Data == nil && part.Type == "", only, "TextOnly %v: there is no data", only)
		assert.True(t, part.Text != "", "TextOnly %v: there is a text", only)
	}
}
