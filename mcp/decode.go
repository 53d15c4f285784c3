package mcp

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
)

// The functions here decode what the protocol's reader has checked already.
// They look at exact keys, unlike encoding/json, which would let "ISERROR"
// pass for "isError".

var (
	errNotString = errors.New("not a string")
	errNotObject = errors.New("not an object")
	errNotArray  = errors.New("not an array")
	errMissing   = errors.New("missing")
)

// at says where in an answer an error is.
func at(path string, err error) error {
	if err == nil {
		return nil
	}
	var inner *ProtocolError
	if errors.As(err, &inner) {
		if inner.Path != "" {
			path += "." + inner.Path
		}
		err = inner.Err
	}
	return &ProtocolError{Path: path, Err: err}
}

func decodeString(dst *string, key, value []byte) error {
	text, ok := jsonscan.String(value)
	if !ok && string(value) != "null" {
		return at(string(key), errNotString)
	}
	*dst = text
	return nil
}

// decodeText is decodeString without a copy.
func decodeText(key, value []byte) ([]byte, error) {
	text, ok := jsonscan.Text(value)
	if !ok && string(value) != "null" {
		return nil, at(string(key), errNotString)
	}
	return text, nil
}

// decodeAs decodes parts that need no exactness, such as annotations.
func decodeAs[T any](key, value []byte) (T, error) {
	var v T
	if err := json.Unmarshal(value, &v); err != nil {
		return v, at(string(key), errors.New("wrong type"))
	}
	return v, nil
}

func decodeBool(key, value []byte) (bool, error) {
	switch string(value) {
	case "true":
		return true, nil
	case "false", "null":
		return false, nil
	}
	return false, at(string(key), errors.New("neither true nor false"))
}

// decodeTool decodes a tool. To revision 2026-07-28 one is invalid whose schema
// asks for header fields in a way that the protocol does not allow.
func decodeTool(raw []byte, modern bool) (*Tool, error) {
	if raw[0] != '{' {
		return nil, errNotObject
	}
	t := &Tool{}
	var err error
	for key, value := range jsonscan.Fields(raw) {
		switch string(key) {
		case "name":
			err = decodeString(&t.Name, key, value)
		case "title":
			err = decodeString(&t.Title, key, value)
		case "description":
			err = decodeString(&t.Description, key, value)
		case "inputSchema":
			t.InputSchema, err = decodeSchema(key, value)
		case "outputSchema":
			t.OutputSchema, err = decodeSchema(key, value)
		case "annotations":
			t.Annotations, err = decodeAs[*ToolAnnotations](key, value)
		case "icons":
			t.Icons, err = decodeIcons(key, value)
		case "_meta":
			t.Meta, err = decodeAs[Meta](key, value)
		}
		if err != nil {
			return nil, err
		}
	}
	if t.Name == "" {
		return nil, at("name", errMissing)
	}
	if schema, ok := t.InputSchema.(json.RawMessage); ok && modern {
		if _, err := paramHeaders(schema); err != nil {
			return nil, at("inputSchema", err)
		}
	}
	return t, nil
}

// decodeSchema keeps a schema as it is. The value nil stands for no schema.
func decodeSchema(key, value []byte) (any, error) {
	switch {
	case string(value) == "null":
		return nil, nil
	case value[0] != '{' && value[0] != 't' && value[0] != 'f':
		return nil, at(string(key), errors.New("not a JSON Schema"))
	}
	return json.RawMessage(value), nil
}

// Kinds of results, as resultType names them.
const (
	kindComplete      = "complete"
	kindInputRequired = "input_required"
)

func unknownKind(kind string) error { return unknownResult(kind) }

// An inputRequired is what a server of revision 2026-07-28 wants to know before
// it goes on with a call.
type inputRequired struct {
	requests json.RawMessage // nil if it only wants to be asked again
	state    json.RawMessage // to be sent back as it is; nil if there is none
}

// decodeCallResult decodes an answer to tools/call: a result or, in revision
// 2026-07-28, what the server needs first.
func decodeCallResult(raw json.RawMessage, modern bool) (*CallToolResult, *inputRequired, error) {
	if len(raw) == 0 || raw[0] != '{' {
		return nil, nil, at("result", errNotObject)
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
	task, content := false, false
	var err error
	c := jsonscan.Walk(raw)
	for key := range c.Members() {
		if string(key) == "content" {
			content = true
			if res.Content, err = decodeContents(&c, res.Content); err != nil {
				return nil, nil, err
			}
			continue
		}
		value := c.Value()
		switch string(key) {
		case "structuredContent":
			if modern || string(value) != "null" { // to older revisions null is none
				res.StructuredContent = json.RawMessage(value)
			}
		case "isError":
			res.IsError, err = decodeBool(key, value)
		case "_meta":
			res.Meta, err = decodeAs[Meta](key, value)
		case "resultType":
			if string(value) != "null" {
				err = decodeString(&kind, key, value)
			}
		case "inputRequests":
			need.requests, err = decodeRequests(key, value)
		case "requestState":
			if string(value) != "null" {
				need.state = value
			}
		case "task":
			task = true
		}
		if err != nil {
			return nil, nil, err
		}
	}
	switch {
	case kind == kindComplete && task && !content && !modern:
		return nil, nil, at("task", errUnaskedTask)
	case kind == kindComplete:
		return res, nil, nil
	case kind == kindInputRequired && modern:
		asked := need // or every answer would put it on the heap
		return nil, &asked, nil
	}
	return nil, nil, at("resultType", unknownResult(kind))
}

// An unknownResult is a resultType that means nothing here.
type unknownResult string

func (u unknownResult) Error() string {
	return fmt.Sprintf("%.80q is not known in this revision", string(u))
}

// decodeRequests keeps the wishes of a server, or nil if it has none.
func decodeRequests(key, value []byte) (json.RawMessage, error) {
	if value[0] != '{' && string(value) != "null" {
		return nil, at(string(key), errNotObject)
	}
	for range jsonscan.Fields(value) {
		return value, nil
	}
	return nil, nil
}

// decodeContents appends the content at the cursor, going down into it: it can be
// most of the answer.
func decodeContents(c *jsonscan.Cursor, contents []Content) ([]Content, error) {
	if kind := c.Kind(); kind != '[' && kind != 'n' {
		return nil, at("content", errNotArray)
	}
	for i := range c.Elements() {
		content, err := decodeContent(c)
		if err != nil {
			return nil, at(fmt.Sprintf("content[%d]", i), err)
		}
		contents = append(contents, content)
	}
	return contents, nil
}

// A block has the members of all kinds of content.
type block struct {
	kind []byte

	text, mimeType, uri, name, title, description string

	data        []byte
	size        *int64
	resource    *ResourceContents
	annotations *Annotations
	meta        Meta
	icons       []Icon
}

func decodeContent(c *jsonscan.Cursor) (Content, error) {
	if c.Kind() != '{' {
		return nil, errNotObject
	}
	var b block
	var err error
	start := c.Pos()
	for key := range c.Members() {
		value := c.Value()
		switch string(key) {
		case "type":
			b.kind, err = decodeText(key, value)
		case "text":
			err = decodeString(&b.text, key, value)
		case "mimeType":
			err = decodeString(&b.mimeType, key, value)
		case "uri":
			err = decodeString(&b.uri, key, value)
		case "name":
			err = decodeString(&b.name, key, value)
		case "title":
			err = decodeString(&b.title, key, value)
		case "description":
			err = decodeString(&b.description, key, value)
		case "data":
			b.data, err = decodeBase64(key, value)
		case "size":
			b.size, err = decodeAs[*int64](key, value)
		case "resource":
			b.resource, err = decodeResource(value)
			err = at(string(key), err)
		case "annotations":
			b.annotations, err = decodeAs[*Annotations](key, value)
		case "_meta":
			b.meta, err = decodeAs[Meta](key, value)
		case "icons":
			b.icons, err = decodeIcons(key, value)
		}
		if err != nil {
			return nil, err
		}
	}
	return b.content(c.From(start))
}

func (b *block) content(raw []byte) (Content, error) {
	switch string(b.kind) {
	case "text":
		return &TextContent{Text: b.text, Meta: b.meta, Annotations: b.annotations}, nil
	case "image":
		return &ImageContent{Data: b.data, MIMEType: b.mimeType, Meta: b.meta, Annotations: b.annotations}, nil
	case "audio":
		return &AudioContent{Data: b.data, MIMEType: b.mimeType, Meta: b.meta, Annotations: b.annotations}, nil
	case "resource_link":
		return &ResourceLink{
			URI: b.uri, Name: b.name, Title: b.title, Description: b.description, MIMEType: b.mimeType,
			Size: b.size, Meta: b.meta, Annotations: b.annotations, Icons: b.icons,
		}, nil
	case "resource":
		if b.resource == nil {
			return nil, at("resource", errMissing)
		}
		return &EmbeddedResource{Resource: b.resource, Meta: b.meta, Annotations: b.annotations}, nil
	case "":
		return nil, at("type", errMissing)
	}
	// A kind that is not known yet stays readable instead of spoiling the
	// rest of the answer.
	return &TextContent{Text: string(raw)}, nil
}

func decodeResource(raw []byte) (*ResourceContents, error) {
	if raw[0] != '{' {
		return nil, errNotObject
	}
	r := &ResourceContents{}
	var err error
	for key, value := range jsonscan.Fields(raw) {
		switch string(key) {
		case "uri":
			err = decodeString(&r.URI, key, value)
		case "mimeType":
			err = decodeString(&r.MIMEType, key, value)
		case "text":
			err = decodeString(&r.Text, key, value)
		case "blob":
			r.Blob, err = decodeBase64(key, value)
		case "_meta":
			r.Meta, err = decodeAs[Meta](key, value)
		}
		if err != nil {
			return nil, err
		}
	}
	return r, nil
}

func decodeBase64(key, value []byte) ([]byte, error) {
	var text string
	if err := decodeString(&text, key, value); err != nil {
		return nil, err
	}
	data, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil, at(string(key), errors.New("not base64"))
	}
	return data, nil
}
