package rest

import (
	"encoding/json"
	"fmt"
	"mime"
	"net/http"
	"strings"

	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
	"github.com/mcpbelt/mcpbelt/internal/plain"
	"github.com/mcpbelt/mcpbelt/mcp"
)

// maxFailure bounds the text of an answer that is a failure, in bytes.
const maxFailure = 8 << 10

// result makes the result of an answer.
func (o *operation) result(a *answer) *mcp.CallToolResult {
	switch {
	case a.status < 200 || a.status > 299:
		return o.failure(a)
	case o.method == http.MethodHead:
		return &mcp.CallToolResult{Content: textContent(headLines(a))}
	case a.truncated:
		return &mcp.CallToolResult{IsError: true, Content: textContent(fmt.Sprintf(
			"The API answered with %s, but the answer is larger than the %d bytes that are allowed, and was left out. If the arguments allow it, ask for less. The call itself was carried out.",
			statusLine(a.status), o.maxBytes()))}
	case len(a.body) == 0:
		said := "The API answered with " + statusLine(a.status) + " and no content."
		if where := location(a); where != "" {
			said += " Location: " + where
		}
		return &mcp.CallToolResult{Content: textContent(said)}
	}
	return o.content(a)
}

func (o *operation) maxBytes() int {
	if o.endpoint.MaxBytes > 0 {
		return o.endpoint.MaxBytes
	}
	return callBytes
}

// content makes the result of an answer with content.
func (o *operation) content(a *answer) *mcp.CallToolResult {
	media, params := mediaType(a)
	main, _, _ := strings.Cut(media, "/")
	switch {
	case media == "image/svg+xml": // is text
	case main == "image":
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.ImageContent{MIMEType: media, Data: a.body}}}
	case main == "audio":
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.AudioContent{MIMEType: media, Data: a.body}}}
	}
	text, ok := decodeText(a.body, media, params["charset"])
	if !ok {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{
			URI: "rest:" + o.api + "/" + o.name, MIMEType: media, Blob: a.body,
		}}}}
	}
	res := &mcp.CallToolResult{Content: textContent(text)}
	if isJSON(media) {
		// The protocol's older revisions have objects only. A text that two programs
		// could read in two ways is text and nothing more.
		raw := json.RawMessage(strings.Trim(text, " \t\r\n"))
		if len(raw) > 0 && raw[0] == '{' && jsonscan.Valid(raw) == nil {
			res.StructuredContent = raw
		}
	}
	return res
}

// failure makes the result of an answer with a status that is not of success.
func (o *operation) failure(a *answer) *mcp.CallToolResult {
	said := "The API answered with " + statusLine(a.status) + "."
	if wait := a.header.Get("Retry-After"); wait != "" {
		if strings.Trim(wait, "0123456789") == "" {
			wait += " s"
		}
		said += " Retry-After: " + plain.Line(wait) + "."
	}
	if where := location(a); where != "" && a.status < 400 {
		said += " It redirects to " + where + ", where the call does not follow."
	}
	if o.method != http.MethodHead && len(a.body) > 0 {
		media, params := mediaType(a)
		if text, ok := decodeText(a.body, media, params["charset"]); ok {
			said += "\n" + plain.Cut(text, maxFailure)
			if len(text) > maxFailure || a.truncated {
				said += "\n[the rest is left out]"
			}
		} else {
			said += fmt.Sprintf("\n[%d bytes of %s]", len(a.body), plain.Line(media))
		}
	}
	return &mcp.CallToolResult{IsError: true, Content: textContent(said)}
}

// statusLine returns a status with its name, if it has one.
func statusLine(status int) string {
	return strings.TrimSpace(fmt.Sprintf("%d %s", status, http.StatusText(status)))
}

// location returns where an answer points to, without what may be a secret in it.
func location(a *answer) string {
	where := a.header.Get("Location")
	where, _, _ = strings.Cut(where, "#")
	if before, _, ok := strings.Cut(where, "?"); ok {
		where = before + "?..."
	}
	if scheme, rest, ok := strings.Cut(where, "//"); ok {
		host, path, _ := strings.Cut(rest, "/")
		if at := strings.LastIndexByte(host, '@'); at >= 0 {
			where = scheme + "//" + host[at+1:] + "/" + path
		}
	}
	return plain.Line(where)
}

// headLines returns what the answer to HEAD says.
func headLines(a *answer) string {
	said := "The API answered with " + statusLine(a.status) + "."
	for _, name := range []string{"Content-Type", "Content-Length", "Last-Modified", "ETag", "Expires", "Cache-Control", "Allow", "Link", "X-Total-Count"} {
		for _, value := range a.header.Values(name) {
			said += "\n" + name + ": " + plain.Line(value)
			if len(said) > maxFailure {
				return plain.Cut(said, maxFailure) + "\n[the rest is left out]"
			}
		}
	}
	return said
}

// mediaType returns the type of an answer in lower case, which is that of any bytes
// if the answer gives none that can be read.
func mediaType(a *answer) (media string, params map[string]string) {
	media, params, err := mime.ParseMediaType(a.header.Get("Content-Type"))
	if err != nil || strings.Count(media, "/") != 1 {
		// An unreadable parameter does not spoil the type.
		if media, _, _ = strings.Cut(a.header.Get("Content-Type"), ";"); strings.Count(media, "/") != 1 {
			return "application/octet-stream", nil
		}
		media = strings.ToLower(strings.TrimSpace(media))
	}
	return plain.Line(media), params
}

func isJSON(media string) bool {
	return media == "application/json" || media == "text/json" || strings.HasSuffix(media, "+json")
}
