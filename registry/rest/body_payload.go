package rest

import (
	"crypto/sha256"
	"fmt"
	"mime/multipart"
	"net/textproto"
	"strings"

	"github.com/mcpbelt/mcpbelt/internal/canonjson"
	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
)

// A payloadKind is the form of a body.
type payloadKind int

const (
	noPayload        payloadKind = iota
	jsonPayload                  // raw is a JSON value
	formPayload                  // fields
	multipartPayload             // fields
	textPayload                  // raw is the text
)

// A payload is the body of a request before it is encoded.
type payload struct {
	kind        payloadKind
	contentType string // the header; empty for multipart, of whose fields encode makes it
	raw         []byte
	fields      []pair // not escaped
}

// takesFields reports whether add can work.
func (p *payload) takesFields() bool {
	switch p.kind {
	case jsonPayload:
		return len(p.raw) > 0 && p.raw[0] == '{'
	case formPayload, multipartPayload:
		return true
	default:
		return false
	}
}

// add adds a string as a member of the JSON object or as a field of the form. The
// payload has to take fields and must not have one of that name yet.
func (p *payload) add(name, value string) error {
	if p.has(name) {
		return fmt.Errorf("the body has a field %q already", name)
	}
	switch {
	case !p.takesFields():
		return fmt.Errorf("the body is no object that could take the field %q", name)
	case p.kind == jsonPayload:
		member := canonjson.AppendString(nil, name)
		member = canonjson.AppendString(append(member, ':'), value)
		raw := make([]byte, 0, len(p.raw)+len(member)+1)
		raw = append(append(raw, '{'), member...)
		for range jsonscan.Fields(p.raw) { // there is another member
			raw = append(raw, ',')
			break
		}
		p.raw = append(raw, p.raw[1:]...)
	default:
		p.fields = append(p.fields, pair{name, value})
	}
	return nil
}

// has reports whether there is a field of a name, in upper or lower case: to some
// readers of JSON that is one name.
func (p *payload) has(name string) bool {
	if p.kind == jsonPayload {
		for key := range jsonscan.Fields(p.raw) {
			if strings.EqualFold(string(key), name) {
				return true
			}
		}
	}
	for _, f := range p.fields {
		if strings.EqualFold(f.name, name) {
			return true
		}
	}
	return false
}

// encode returns the bytes of the body and its Content-Type; nil and "" if there is
// no body.
func (p *payload) encode() (data []byte, contentType string, err error) {
	switch p.kind {
	case noPayload:
		return nil, "", nil
	case formPayload:
		escaped := make([]pair, len(p.fields))
		for i, f := range p.fields {
			escaped[i] = pair{escape(f.name), escape(f.value)}
		}
		return []byte(join(escaped, "&")), p.contentType, nil
	case multipartPayload:
		var text strings.Builder
		w := multipart.NewWriter(&text)
		// No field can hold the hash of all fields.
		if err := w.SetBoundary(fmt.Sprintf("%x", sha256.Sum256([]byte(join(p.fields, "&"))))); err != nil {
			return nil, "", err
		}
		for _, f := range p.fields {
			// As browsers do (HTML, multipart/form-data encoding algorithm).
			name := strings.NewReplacer("\n", "%0A", "\r", "%0D", `"`, "%22").Replace(f.name)
			part, err := w.CreatePart(textproto.MIMEHeader{
				"Content-Disposition": {`form-data; name="` + name + `"`},
			})
			if err != nil {
				return nil, "", err
			}
			if _, err := part.Write([]byte(f.value)); err != nil {
				return nil, "", err
			}
		}
		if err := w.Close(); err != nil {
			return nil, "", err
		}
		return []byte(text.String()), w.FormDataContentType(), nil
	default:
		return p.raw, p.contentType, nil
	}
}

// size returns about how many bytes the body has.
func (p *payload) size() int {
	n := len(p.raw)
	for _, f := range p.fields {
		n += len(f.name) + len(f.value) + 2
	}
	return n
}
