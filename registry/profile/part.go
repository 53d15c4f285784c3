package profile

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"image"
	_ "image/gif" // for their sizes
	_ "image/jpeg"
	_ "image/png"
	"net/http"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry/result"
)

// Failure is the text in front of the result of a tool that failed, where nothing else
// tells the model so.
const Failure = "The tool failed:"

// A Part is a piece of a result as a provider takes it.
type Part struct {
	// Text is what the model reads. If there is Data it is one line that says what
	// it is, for where the data cannot stand. It is never blank, and is UTF-8.
	Text string
	// Data is an image or a file; nil for text. Do not change it.
	Data []byte
	// Type is the media type of Data, such as image/png: found out by its first
	// bytes, whatever the server says.
	Type string
	// URI is that of the resource which the part is; empty: it is none.
	URI string
}

// DataURL returns the data as a URL, which is how some providers take it.
func (p Part) DataURL() string {
	return "data:" + p.Type + ";base64," + base64.StdEncoding.EncodeToString(p.Data)
}

// Bounds of the data in one result: providers bound a request, which has the results of
// a whole conversation.
const (
	mostMedia      = 20
	mostMediaBytes = 16 << 20
)

// Parts returns a result in the parts that a provider takes; there is one at least.
// Data that it refuses, and would refuse the whole conversation for, is one line of
// text instead: of another type, too large, or not what its first bytes say. So is
// what a result has beside text and data, and data behind the first 20 pieces or 16 MiB.
// The order stays. Text that is longer than the provider takes is cut, and a line at the
// end says so; [registry.Options].Results bound it much sooner, and keep the whole for the
// model to read on.
//
// Where the provider has no place of its own to say that a tool failed, the first
// part is [Failure]. An unknown provider takes nothing but text.
func Parts(p Provider, res *mcp.CallToolResult) []Part {
	d, ok := rulesOf(p)
	if !ok {
		d = &ruleset{}
	}
	var parts []Part
	if res != nil && res.IsError && !d.failure {
		parts = append(parts, Part{Text: Failure})
	}
	pieces, size := 0, 0
	for _, b := range result.Pieces(res) {
		part := Part{Text: description(b.Text), URI: b.URI}
		if kind := d.mediaType(b.Data); kind != "" && pieces < mostMedia && size+len(b.Data) <= mostMediaBytes {
			part.Data, part.Type = b.Data, kind
			pieces, size = pieces+1, size+len(b.Data)
		} else if kind != "" {
			part.Text = strings.TrimSuffix(part.Text, "]") + ", left out: the result has too many]"
		}
		if part.Text != "" {
			parts = append(parts, part)
		}
	}
	if len(parts) == 0 || parts[0].Text == Failure && len(parts) == 1 {
		parts = append(parts, Part{Text: "The tool returned nothing."})
	}
	if d.textMost > 0 {
		return within(parts, d.textMost)
	}
	return parts
}

// within returns parts whose texts, and what [Apart] adds to them, have at most so many
// characters, which is what OpenAI's API counts: it is the maxLength of JSON Schema.
func within(parts []Part, most int) []Part {
	const note, attached = 100, len(", attached")
	for i, p := range parts {
		size := utf8.RuneCountInString(p.Text) + len("\n")
		if p.Data != nil {
			size += attached
		}
		if size <= most-note {
			most -= size
			continue
		}
		kept := ""
		if p.Data == nil {
			kept = cutText(p.Text, most-note) + "\n"
		}
		return append(parts[:i], Part{Text: kept + "[the rest is left out: it is more than the provider takes in one result]"})
	}
	return parts
}

// mediaType returns the type of data that the provider takes, and "" for other data.
func (d *ruleset) mediaType(data []byte) string {
	if len(data) == 0 || len(data) > d.mediaMost {
		return ""
	}
	kind := http.DetectContentType(data)
	if !slices.Contains(d.media, kind) {
		return ""
	}
	if strings.HasPrefix(kind, "image/") {
		width, height := sizeOf(kind, data)
		if min(width, height) < 1 || max(width, height) > d.sideMost || !ends(kind, data) {
			return ""
		}
	}
	return kind
}

// sizeOf returns the pixels of an image; 0 if it does not say.
func sizeOf(kind string, data []byte) (width, height int) {
	if kind == "image/webp" {
		return webpSize(data)
	}
	size, _, err := image.DecodeConfig(bytes.NewReader(data))
	if err != nil {
		return 0, 0
	}
	return size.Width, size.Height
}

// webpSize returns what the first chunk of a WebP says, see RFC 9649, sections 2.5 to 2.7.
func webpSize(data []byte) (width, height int) {
	if len(data) < 30 {
		return 0, 0
	}
	b := data[20:] // behind RIFF, size, WEBP, and name and size of the chunk
	switch string(data[12:16]) {
	case "VP8 ":
		return int(b[6]) | int(b[7]&0x3f)<<8, int(b[8]) | int(b[9]&0x3f)<<8
	case "VP8L":
		bits := int(b[1]) | int(b[2])<<8 | int(b[3])<<16 | int(b[4])<<24
		return bits&0x3fff + 1, bits>>14&0x3fff + 1
	case "VP8X":
		return (int(b[4]) | int(b[5])<<8 | int(b[6])<<16) + 1, (int(b[7]) | int(b[8])<<8 | int(b[9])<<16) + 1
	}
	return 0, 0
}

// ends reports whether an image of PNG or WebP is there to its end. Decoders of
// the others take them without.
func ends(kind string, data []byte) bool {
	switch kind {
	case "image/png":
		return bytes.Contains(data, []byte("\x00\x00\x00\x00IEND"))
	case "image/webp":
		return uint64(binary.LittleEndian.Uint32(data[4:])) <= uint64(len(data)-8)
	}
	return true
}

// Images returns parts in which no data is left but images: for where a model, or a program's
// SDK, takes no files.
func Images(parts []Part) []Part {
	for i, p := range parts {
		if !strings.HasPrefix(p.Type, "image/") {
			parts[i].Data, parts[i].Type = nil, ""
		}
	}
	return parts
}

// Failed returns the text of a tool that failed with [Failure] before it, once: for where
// the provider has a place to say so and the program's SDK has none.
func Failed(text string) string {
	if strings.HasPrefix(text, Failure) {
		return text
	}
	return Failure + "\n" + text
}

// Apart parts the text of a result from its data, for providers that take text
// alone as the result of a tool: a line of the text stands for each piece of data,
// and the data, which keeps that line as its Text, goes into a message of its own
// behind the results.
func Apart(parts []Part) (text string, media []Part) {
	var lines []string
	for _, p := range parts {
		if p.Data != nil {
			p.Text = strings.TrimSuffix(p.Text, "]") + ", attached]"
			media = append(media, p)
		}
		lines = append(lines, p.Text)
	}
	return strings.TrimRightFunc(strings.Join(lines, "\n"), unicode.IsSpace), media
}
