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

func decodeString(dst *string, key string, value []byte) error {
	text, ok := jsonscan.String(value)
	if !ok && string(value) != "null" {
		return at(key, errNotString)
	}
	*dst = text
	return nil
}

// decodeInto decodes parts that need no exactness, such as annotations.
func decodeInto(dst any, key string, value []byte) error {
	if err := json.Unmarshal(value, dst); err != nil {
		return at(key, errors.New("wrong type"))
	}
	return nil
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
		switch key {
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
			err = decodeInto(&t.Annotations, key, value)
		case "icons":
			err = decodeInto(&t.Icons, key, value)
		case "_meta":
			err = decodeInto(&t.Meta, key, value)
		}
		if err != nil {
			return nil, err
		}
	}
	if t.Name == "" {
		return nil, at("name", errors.New("missing"))
	}
	if schema, ok := t.InputSchema.(json.RawMessage); ok && modern {
		if _, err := paramHeaders(schema); err != nil {
			return nil, at("inputSchema", err)
		}
	}
	return t, nil
}

// decodeSchema keeps a schema as it is. The value nil stands for no schema.
func decodeSchema(key string, value []byte) (any, error) {
	switch {
	case string(value) == "null":
		return nil, nil
	case value[0] != '{' && value[0] != 't' && value[0] != 'f':
		return nil, at(key, errors.New("not a JSON Schema"))
	}
	return json.RawMessage(value), nil
}

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
	res := &CallToolResult{Content: []Content{}}
	need := &inputRequired{}
	kind := "complete"
	var err error
	for key, value := range jsonscan.Fields(raw) {
		switch key {
		case "content":
			res.Content, err = decodeContents(key, value)
		case "structuredContent":
			if string(value) != "null" {
				res.StructuredContent = json.RawMessage(value)
			}
		case "isError":
			err = decodeInto(&res.IsError, key, value)
		case "_meta":
			err = decodeInto(&res.Meta, key, value)
		case "resultType":
			err = decodeString(&kind, key, value)
		case "inputRequests":
			need.requests, err = decodeRequests(key, value)
		case "requestState":
			if string(value) != "null" {
				need.state = value
			}
		}
		if err != nil {
			return nil, nil, err
		}
	}
	switch {
	case kind == "complete" || kind == "":
		return res, nil, nil
	case kind == "input_required" && modern:
		return nil, need, nil
	}
	return nil, nil, at("resultType", fmt.Errorf("%q is not known in this revision", kind))
}

// decodeRequests keeps the wishes of a server, or nil if it has none.
func decodeRequests(key string, value []byte) (json.RawMessage, error) {
	if value[0] != '{' && string(value) != "null" {
		return nil, at(key, errNotObject)
	}
	for range jsonscan.Fields(value) {
		return value, nil
	}
	return nil, nil
}

func decodeContents(key string, value []byte) ([]Content, error) {
	contents := []Content{}
	if string(value) == "null" {
		return contents, nil
	}
	if value[0] != '[' {
		return nil, at(key, errors.New("not an array"))
	}
	for element := range jsonscan.Elements(value) {
		content, err := decodeContent(element)
		if err != nil {
			return nil, at(fmt.Sprintf("%s[%d]", key, len(contents)), err)
		}
		contents = append(contents, content)
	}
	return contents, nil
}

// A block has the members of all kinds of content.
type block struct {
	kind, text, mimeType, uri, name, title, description string

	data        []byte
	size        *int64
	resource    *ResourceContents
	annotations *Annotations
	meta        Meta
	icons       []Icon
}

func decodeContent(raw []byte) (Content, error) {
	if raw[0] != '{' {
		return nil, errNotObject
	}
	var b block
	var err error
	for key, value := range jsonscan.Fields(raw) {
		switch key {
		case "type":
			err = decodeString(&b.kind, key, value)
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
			err = decodeInto(&b.size, key, value)
		case "resource":
			b.resource, err = decodeResource(value)
			err = at(key, err)
		case "annotations":
			err = decodeInto(&b.annotations, key, value)
		case "_meta":
			err = decodeInto(&b.meta, key, value)
		case "icons":
			err = decodeInto(&b.icons, key, value)
		}
		if err != nil {
			return nil, err
		}
	}
	return b.content(raw)
}

func (b *block) content(raw []byte) (Content, error) {
	switch b.kind {
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
			return nil, at("resource", errors.New("missing"))
		}
		return &EmbeddedResource{Resource: b.resource, Meta: b.meta, Annotations: b.annotations}, nil
	case "":
		return nil, at("type", errors.New("missing"))
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
		switch key {
		case "uri":
			err = decodeString(&r.URI, key, value)
		case "mimeType":
			err = decodeString(&r.MIMEType, key, value)
		case "text":
			err = decodeString(&r.Text, key, value)
		case "blob":
			r.Blob, err = decodeBase64(key, value)
		case "_meta":
			err = decodeInto(&r.Meta, key, value)
		}
		if err != nil {
			return nil, err
		}
	}
	return r, nil
}

func decodeBase64(key string, value []byte) ([]byte, error) {
	var text string
	if err := decodeString(&text, key, value); err != nil {
		return nil, err
	}
	data, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil, at(key, errors.New("not base64"))
	}
	return data, nil
}
