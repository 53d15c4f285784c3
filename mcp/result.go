package mcp

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"

	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
)

// A CallToolResult is what a tool answered. The first four fields are those of the
// official SDK's type of this name; [CallToolResult.Raw] is what the server sent.
type CallToolResult struct {
	// Meta is the metadata of the result.
	Meta Meta `json:"_meta,omitempty"`
	// Content is the answer, block by block. In results of [Client.CallTool] a block
	// that cannot be read, or is of a kind that is not known, is a [TextContent] that
	// holds its JSON.
	Content []Content `json:"content"`
	// StructuredContent is the answer as a JSON value; nil if there is none. In results
	// of [Client.CallTool] it is a [encoding/json.RawMessage].
	StructuredContent any `json:"structuredContent,omitempty"`
	// IsError says that the tool failed.
	IsError bool `json:"isError,omitempty"`
	// Err is the error that the failure stands for, if a tool of this program knows it.
	// It is never sent.
	Err error `json:"-"`

	raw    json.RawMessage // the result as it came; nil if it did not come from a server
	modern bool            // it is one of revision 2026-07-28
	skips  bool            // Content was not decoded

	// Of a result that is one text as it came, or without its content, so that Raw need not decode it again.
	sentText   string
	sentPlain  bool
	sentFailed bool
}

// plainText returns the text of a result that is one text and nothing else; empty where the content was skipped.
func (r *CallToolResult) plainText() (text string, ok bool) {
	if r.StructuredContent != nil || r.Meta != nil || r.Err != nil {
		return "", false
	}
	if r.skips || len(r.Content) != 1 {
		return "", r.skips && len(r.Content) == 0
	}
	t, ok := r.Content[0].(*TextContent)
	if !ok || t == nil || t.Meta != nil || t.Annotations != nil {
		return "", false
	}
	return t.Text, true
}

// Text returns the texts of the [TextContent] blocks in Content, parted by line feeds.
// Blocks of other kinds and StructuredContent are not part of it; package registry/result
// has the text for a model. It is the server's text, which may hold anything. A nil r has
// none.
func (r *CallToolResult) Text() string {
	if r == nil {
		return ""
	}
	var texts []string
	for _, c := range r.Content {
		if text, ok := c.(*TextContent); ok && text != nil {
			texts = append(texts, text.Text)
		}
	}
	return strings.Join(texts, "\n")
}

// Raw returns the result as the server sent it, byte for byte, or nil if the result is
// no longer the one that the server sent: if it was made or changed here, or a field of
// it, or something that it points to.
//
// Raw holds what the fields have no place for: numbers as they are spelled, the order of
// members, unknown members and unknown blocks. If the result is more than one text, Raw
// decodes the bytes again to compare them with the fields, and takes about as long as encoding
// the result would. The bytes
// may not be changed, and they live as long as the result.
func (r *CallToolResult) Raw() json.RawMessage {
	if r == nil || r.raw == nil {
		return nil
	}
	if r.sentPlain {
		// The text is compared byte by byte only if it is another string.
		if text, ok := r.plainText(); !ok || text != r.sentText || r.IsError != r.sentFailed {
			return nil
		}
		return r.raw
	}
	sent, _, err := decodeCallResult(r.raw, r.modern, r.skips)
	if err != nil || !reflect.DeepEqual(r, sent) {
		return nil
	}
	return r.raw
}

// UnmarshalJSON decodes a result as [Client.CallTool] does, and keeps a copy of the JSON for
// Raw. It fails with a [*ProtocolError] if a member is of another type than the protocol says.
func (r *CallToolResult) UnmarshalJSON(data []byte) error {
	if err := jsonscan.Valid(data); err != nil {
		return at("result", err)
	}
	decoded, _, err := decodeCallResult(bytes.Clone(data), false, false)
	if err == nil {
		*r = *decoded
	}
	return at("result", err)
}

// WithContent returns r or, if SkipContent of [RequestOptions] has left its Content empty, the
// result as the server sent it, with Content.
func (r *CallToolResult) WithContent() *CallToolResult {
	if r == nil || !r.skips {
		return r
	}
	sent, _, _ := decodeCallResult(r.raw, r.modern, false) // without an error, as before
	return sent
}

// CheckRaw returns r if it did not come from a server, or if ok reports true of the bytes
// that came, and otherwise a copy of r for which [CallToolResult.Raw] returns nil. It is
// for code that takes something out of results: the bytes may hold it where no field of r
// does. A nil r stays nil.
func (r *CallToolResult) CheckRaw(ok func(raw json.RawMessage) bool) *CallToolResult {
	if r == nil || r.raw == nil || ok(r.raw) {
		return r
	}
	own := *r.WithContent()
	own.raw = nil
	return &own
}

// decodeCallResult decodes an answer to tools/call: a result, if need be without its content,
// or, in revision 2026-07-28, what the server needs first.
func decodeCallResult(raw json.RawMessage, modern, skips bool) (*CallToolResult, *inputRequired, error) {
	if len(raw) == 0 || raw[0] != '{' {
		return nil, nil, at("result", wrongKind(raw, anObject))
	}
	// Most results have one block of content, for which there is room.
	whole := &struct {
		CallToolResult
		room [1]Content
	}{}
	res := &whole.CallToolResult
	res.Content = whole.room[:0]
	var need inputRequired
	kind := kindComplete
	task, content, foreign := false, false, false
	var err error
	c := jsonscan.Walk(raw)
	for key := range c.Members() {
		if string(key) == "content" {
			content = true
			if kind := c.Kind(); skips && (kind == '[' || kind == 'n') {
				continue
			}
			if res.Content, err = decodeContents(&c, res.Content); err != nil {
				return nil, nil, err
			}
			continue
		}
		value := c.Value()
		switch string(key) {
		case "structuredContent":
			if modern || !isNull(value) { // to older revisions null is none
				res.StructuredContent = json.RawMessage(value)
			}
		case "isError", "is_error": // as some servers write it
			var failed bool
			failed, err = decodeBool(value)
			res.IsError = res.IsError || failed
		case "_meta":
			_ = optional(&res.Meta, value)
		case "resultType":
			if !isNull(value) {
				err = decodeString(&kind, value)
			}
		case "inputRequests":
			need.requests, err = decodeRequests(value)
		case "requestState":
			if !isNull(value) {
				need.state = value
			}
		case "task":
			task = true
		default:
			foreign = true
		}
		if err != nil {
			return nil, nil, at(string(key), err)
		}
	}
	switch {
	case kind == kindComplete && task && !content && !modern:
		return nil, nil, at("task", errUnaskedTask)
	case kind == kindComplete:
		if foreign && !content && res.StructuredContent == nil { // in a form of the server's own
			res.Content = append(res.Content, &TextContent{Text: string(raw)})
		}
		res.raw, res.modern, res.skips, res.sentFailed = raw, modern, skips, res.IsError
		res.sentText, res.sentPlain = res.plainText()
		return res, nil, nil
	case kind == kindInputRequired && modern:
		asked := need // or every answer would put it on the heap
		return nil, &asked, nil
	}
	return nil, nil, at("resultType", unknownResult(kind))
}
