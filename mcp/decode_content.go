package mcp

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
)

// Kinds of results, as resultType names them.
const (
	kindComplete      = "complete"
	kindInputRequired = "input_required"
)

// An inputRequired is what a server of revision 2026-07-28 wants to know before
// it goes on with a call.
type inputRequired struct {
	requests json.RawMessage // nil if it only wants to be asked again
	state    json.RawMessage // to be sent back as it is; nil if there is none
}

// An unknownResult is a resultType that means nothing here.
type unknownResult string

func (u unknownResult) Error() string {
	return fmt.Sprintf("%.80q is not known in this revision", string(u))
}

// decodeRequests keeps the requests that come with a result; nil if there are none.
func decodeRequests(value []byte) (json.RawMessage, error) {
	if value[0] != '{' && !isNull(value) {
		return nil, wrongKind(value, anObject)
	}
	for range jsonscan.Fields(value) {
		return value, nil
	}
	return nil, nil
}

// decodeContents appends the content at the cursor, going down into it: it can be
// most of the answer. Blocks that cannot be read become a text, as they stand there;
// those that stand together become one, so that many do not need much memory.
func decodeContents(c *jsonscan.Cursor, contents []Content) ([]Content, error) {
	switch kind := c.Kind(); kind {
	case '[', 'n':
	case '"': // of servers that know of texts alone
		text, _ := jsonscan.String(c.Value())
		return append(contents, &TextContent{Text: text}), nil
	case '{':
		start := c.Pos()
		content, err := decodeContent(c)
		if err != nil {
			return appendUnread(contents, c.From(start)), nil
		}
		return append(contents, content), nil
	default:
		return nil, at("content", &kindError{kind, anArray})
	}
	var unread []byte
	first := 0 // where unread begins
	for range c.Elements() {
		start := c.Pos()
		content, err := decodeContent(c)
		if err != nil {
			if unread == nil {
				first = start
			}
			unread = c.From(first)
			continue
		}
		contents = append(appendUnread(contents, unread), content)
		unread = nil
	}
	return appendUnread(contents, unread), nil
}

func appendUnread(contents []Content, raw []byte) []Content {
	if raw == nil {
		return contents
	}
	return append(contents, &TextContent{Text: string(raw)})
}

// A block has the members of all kinds of content.
type block struct {
	kind []byte

	text, mimeType, uri, name, title, description string

	data, blob  []byte // not decoded
	size        *int64
	resource    *ResourceContents
	annotations *Annotations
	meta        Meta
	icons       []sdk.Icon
}

// decodeContent decodes the block at the cursor and passes over it, also if it
// cannot be read.
func decodeContent(c *jsonscan.Cursor) (Content, error) {
	if kind := c.Kind(); kind != '{' {
		c.Skip()
		return nil, &kindError{kind, anObject}
	}
	var b block
	var bad error // the first
	start := c.Pos()
	for key := range c.Members() {
		if err := b.take(key, c.Value()); err != nil && bad == nil {
			bad = err
		}
	}
	raw := c.From(start)
	var content Content
	if bad == nil && !b.unknown() {
		content, bad = b.content()
	}
	switch {
	case errors.Is(bad, errNotBase64), (bad != nil || b.unknown()) && len(b.data)+len(b.blob) > maxUnreadData:
		// A model can do nothing with it but pay.
		return &TextContent{Text: fmt.Sprintf("[A block of the type %.40q cannot be shown: its data, %d bytes, cannot be read.]", b.kind, len(b.data)+len(b.blob))}, nil
	case bad != nil:
		return nil, bad
	case b.unknown():
		// A kind that is not known yet stays readable instead of spoiling the
		// rest of the answer.
		return &TextContent{Text: string(raw)}, nil
	}
	return content, nil
}

// maxUnreadData is the size up to which the data of a block that cannot be read is shown.
const maxUnreadData = 256

// receive takes a member of the block.
func (b *block) take(key, value []byte) (err error) {
	switch string(key) {
	case "type":
		b.kind, err = decodeText(value)
	case "text":
		err = decodeString(&b.text, value)
	case "mimeType", "mime_type", "media_type":
		err = decodeMIMEType(&b.mimeType, key, value)
	case "uri":
		err = decodeString(&b.uri, value)
	case "name":
		err = decodeString(&b.name, value)
	case "title":
		err = decodeString(&b.title, value)
	case "description":
		err = decodeString(&b.description, value)
	case "data", "url":
		b.data = value
	case "blob":
		b.blob = value
	case "source":
		for key, value := range jsonscan.Fields(value) { // as in the API of a model
			if string(key) != "type" && err == nil {
				err = b.take(key, value)
			}
		}
	case "resource":
		b.resource, err = decodeResource(value)
	case "size":
		_ = optional(&b.size, value)
	case "annotations":
		_ = optional(&b.annotations, value)
	case "_meta":
		_ = optional(&b.meta, value)
	case "icons":
		b.icons, _ = decodeIcons(value)
	}
	if err != nil {
		return at(string(key), err)
	}
	return nil
}

// optional decodes what a block can do without: nothing of it is taken if it cannot be read.
func optional[T any](into *T, value []byte) error {
	read, err := decodeAs[T](value)
	if err == nil {
		*into = read
	}
	return err
}

// decodeMIMEType decodes what the protocol calls mimeType and some servers
// mime_type. Of both the protocol's counts.
func decodeMIMEType(dst *string, key, value []byte) error {
	if *dst != "" && string(key) != "mimeType" {
		return nil
	}
	return decodeString(dst, value)
}

// unknown reports whether the block says that it is of a kind that is not known.
func (b *block) unknown() bool {
	switch string(b.kind) {
	case "", "text", "image", "audio", "resource_link", "resource":
		return false
	}
	return true
}

// content returns the block, which is of a kind that is known or of none.
func (b *block) content() (Content, error) {
	switch string(b.kind) {
	case "text":
		return &TextContent{Text: b.text, Meta: b.meta, Annotations: b.annotations}, nil
	case "image", "audio":
		if address, _ := jsonscan.String(b.data); strings.HasPrefix(address, "https://") || strings.HasPrefix(address, "http://") {
			return &ResourceLink{URI: address, Name: string(b.kind), MIMEType: b.mimeType, Meta: b.meta, Annotations: b.annotations}, nil
		}
		data, mimeType, err := decodeData(b.data)
		mimeType = cmp.Or(b.mimeType, mimeType)
		if string(b.kind) == "audio" {
			return &AudioContent{Data: data, MIMEType: mimeType, Meta: b.meta, Annotations: b.annotations}, at("data", err)
		}
		return &ImageContent{Data: data, MIMEType: mimeType, Meta: b.meta, Annotations: b.annotations}, at("data", err)
	case "resource_link":
		return &ResourceLink{
			URI: b.uri, Name: b.name, Title: b.title, Description: b.description, MIMEType: b.mimeType,
			Size: b.size, Meta: b.meta, Annotations: b.annotations, Icons: b.icons,
		}, nil
	case "resource":
		r := b.resource
		switch {
		case r == nil && b.uri == "":
			return nil, at("resource", errMissing)
		case r == nil: // some servers have no object of its own for it
			blob, err := decodeBase64(b.blob)
			if err != nil {
				return nil, at("blob", err)
			}
			r = &ResourceContents{URI: b.uri, MIMEType: b.mimeType, Text: b.text, Blob: blob}
		}
		return &EmbeddedResource{Resource: r, Meta: b.meta, Annotations: b.annotations}, nil
	}
	return nil, at("type", errMissing)
}

func decodeResource(raw []byte) (*ResourceContents, error) {
	r := &ResourceContents{}
	var mimeType string
	err := decodeObject(raw,
		field{name: "uri", into: &r.URI},
		field{name: "mimeType", into: &r.MIMEType},
		field{name: "mime_type", into: &mimeType},
		field{name: "text", into: &r.Text},
		field{name: "blob", into: by(&r.Blob, decodeBase64)},
		field{name: "_meta", into: func(value []byte) error { _ = optional(&r.Meta, value); return nil }},
	)
	r.MIMEType = cmp.Or(r.MIMEType, mimeType)
	return decoded(r, err)
}

// errNotBase64 is the error of data that is in no form that is known.
var errNotBase64 = errors.New("not base64")

// decodeBase64 is decodeData without the type.
func decodeBase64(value []byte) ([]byte, error) {
	data, _, err := decodeData(value)
	return data, err
}

// decodeData decodes a string of base64; it returns nil for a member that is missing. Servers also
// send base64 without its padding, broken by blanks, in the alphabet for URLs, or as a data URL, whose
// media type is returned: all of that is taken.
func decodeData(value []byte) (data []byte, mimeType string, err error) {
	if value == nil {
		return nil, "", nil
	}
	text, ok := jsonscan.Text(value)
	if !ok && !isNull(value) {
		return nil, "", wrongKind(value, aString)
	}
	data = make([]byte, base64.StdEncoding.DecodedLen(len(text)+2))
	n, err := base64.StdEncoding.Decode(data, text)
	if err == nil {
		return data[:n], "", nil
	}
	if head, rest, found := bytes.Cut(text, []byte(";base64,")); found && bytes.HasPrefix(head, []byte("data:")) && len(head) < 256 {
		mimeType, text = string(head[len("data:"):]), rest
	}
	plain := bytes.TrimRight(bytes.Map(func(r rune) rune {
		switch r {
		case '-':
			return '+'
		case '_':
			return '/'
		case ' ', '\t', '\r', '\n':
			return -1
		}
		return r
	}, text), "=")
	if n, err = base64.RawStdEncoding.Decode(data, plain); err != nil {
		return nil, "", errNotBase64
	}
	return data[:n], mimeType, nil
}
