package rest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"mime"
	"net/http"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mcpbelt/mcpbelt/internal/guardhttp"
	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
	"github.com/mcpbelt/mcpbelt/internal/plain"
	"github.com/mcpbelt/mcpbelt/mcp"
)

// maxFailure bounds the text of an answer that is a failure, in bytes.
const maxFailure = 8 << 10

// result makes the result of an answer.
func (o *operation) result(a *guardhttp.Answer) *mcp.CallToolResult {
	switch {
	case a.Status < 200 || a.Status > 299:
		return o.failure(a)
	case a.Truncated:
		return &mcp.CallToolResult{IsError: true, Content: textContent(fmt.Sprintf(
			"The API answered with %s, but the answer is larger than the %d bytes that are allowed, and was left out. If the arguments allow it, ask for less. The call itself was carried out.",
			statusLine(a.Status), cmp.Or(o.MaxBytes, callBytes)))}
	case len(a.Body) == 0:
		said := "The API answered with " + statusLine(a.Status) + " and no content."
		if where := location(a); where != "" {
			said += " Location: " + where
		}
		return &mcp.CallToolResult{Content: textContent(said)}
	}
	return o.content(a)
}

// content makes the result of an answer with content.
func (o *operation) content(a *guardhttp.Answer) *mcp.CallToolResult {
	media, params := mediaType(a)
	main, _, _ := strings.Cut(media, "/")
	switch {
	case media == "image/svg+xml": // is text
	case main == "image":
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.ImageContent{MIMEType: media, Data: a.Body}}}
	case main == "audio":
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.AudioContent{MIMEType: media, Data: a.Body}}}
	}
	text, ok := decodeText(a.Body, media, params["charset"])
	if !ok {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{
			URI: "rest:" + o.service.api.Name + "/" + o.Name, MIMEType: media, Blob: a.Body,
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
func (o *operation) failure(a *guardhttp.Answer) *mcp.CallToolResult {
	said := "The API answered with " + statusLine(a.Status) + "."
	if wait := a.Header.Get("Retry-After"); wait != "" {
		if strings.Trim(wait, "0123456789") == "" {
			wait += " s"
		}
		said += " Retry-After: " + plain.Line(wait) + "."
	}
	if where := location(a); where != "" && a.Status < 400 {
		said += " It redirects to " + where + ", where the call does not follow."
	}
	if len(a.Body) > 0 {
		media, params := mediaType(a)
		if text, ok := decodeText(a.Body, media, params["charset"]); ok {
			said += "\n" + plain.Cut(text, maxFailure)
			if len(text) > maxFailure || a.Truncated {
				said += "\n[the rest is left out]"
			}
		} else {
			said += fmt.Sprintf("\n[%d bytes of %s]", len(a.Body), plain.Line(media))
		}
	}
	return &mcp.CallToolResult{IsError: true, Content: textContent(said)}
}

// statusLine returns a status with its name, if it has one.
func statusLine(status int) string {
	return strings.TrimSpace(fmt.Sprintf("%d %s", status, http.StatusText(status)))
}

// location returns where an answer points to, without what may be a secret in it.
func location(a *guardhttp.Answer) string {
	where := a.Header.Get("Location")
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

// decodeText returns the body of an answer as text; ok is false if it is none, or in
// a charset that is not known here. Bytes that are no character become U+FFFD.
func decodeText(body []byte, media, charset string) (text string, ok bool) {
	switch strings.ToLower(charset) {
	case "", "utf-8", "utf8", "us-ascii", "ascii":
	case "iso-8859-1", "latin1", "windows-1252", "cp1252":
		runes := make([]rune, len(body))
		for i, c := range body {
			runes[i] = rune(c)
		}
		return string(runes), true
	default:
		return "", false
	}
	isText := strings.HasPrefix(media, "text/") || isJSON(media) || strings.HasSuffix(media, "xml")
	if !isText && (!utf8.Valid(body) || bytes.ContainsFunc(body, func(r rune) bool { return unicode.IsControl(r) && !unicode.IsSpace(r) })) {
		return "", false
	}
	return strings.ToValidUTF8(string(bytes.TrimPrefix(body, []byte("\xef\xbb\xbf"))), "\ufffd"), true
}

// mediaType returns the type of an answer in lower case, which is that of any bytes
// if the answer gives none that can be read.
func mediaType(a *guardhttp.Answer) (media string, params map[string]string) {
	media, params, err := mime.ParseMediaType(a.Header.Get("Content-Type"))
	if err != nil || strings.Count(media, "/") != 1 {
		// An unreadable parameter does not spoil the type.
		if media, _, _ = strings.Cut(a.Header.Get("Content-Type"), ";"); strings.Count(media, "/") != 1 {
			return "application/octet-stream", nil
		}
		media = strings.ToLower(strings.TrimSpace(media))
	}
	return plain.Line(media), params
}

func isJSON(media string) bool {
	return media == "application/json" || media == "text/json" || strings.HasSuffix(media, "+json")
}
