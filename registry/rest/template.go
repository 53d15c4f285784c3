package rest

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/mcpbelt/mcpbelt/internal/canonjson"
	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
	"github.com/mcpbelt/mcpbelt/internal/plain"
)

// A templateNode is a value in the template of a body. One of its fields counts.
type templateNode struct {
	literal []byte           // a number, a boolean, null, or a string without placeholders
	hole    string           // the argument whose value it is
	text    []templateText   // a string with placeholders
	array   []*templateNode  // not nil: an array
	object  []templateMember // not nil: an object
}

// A templateText is a part of a string: literal text, or the text of an argument.
type templateText struct{ literal, argument string }

type templateMember struct {
	key  []byte // as JSON
	node *templateNode
}

// parseTemplate reads a template. Used are the arguments in it.
func parseTemplate(raw json.RawMessage, known map[string]bool) (node *templateNode, used map[string]bool, err error) {
	if len(raw) > maxTemplate {
		return nil, nil, fmt.Errorf("is longer than %d bytes", maxTemplate)
	}
	if err := jsonscan.Valid(raw); err != nil {
		return nil, nil, fmt.Errorf("is not JSON: %w", err)
	}
	r := templateReader{known: known, used: map[string]bool{}}
	node, err = r.read([]byte(strings.TrimSpace(string(raw))))
	if err != nil {
		return nil, nil, err
	}
	return node, r.used, nil
}

type templateReader struct {
	known, used map[string]bool
}

func (r *templateReader) read(raw []byte) (*templateNode, error) {
	switch raw[0] {
	case '"':
		return r.readText(raw)
	case '[':
		n := &templateNode{array: []*templateNode{}}
		for item := range jsonscan.Elements(raw) {
			child, err := r.read(item)
			if err != nil {
				return nil, err
			}
			n.array = append(n.array, child)
		}
		return n, nil
	case '{':
		n := &templateNode{object: []templateMember{}}
		for key, value := range jsonscan.Fields(raw) {
			if parts, err := r.parts(string(key)); err != nil || len(parts) != 1 || parts[0].argument != "" {
				return nil, errors.New("has a placeholder in the name of a member, where none can be")
			}
			child, err := r.read(value)
			if err != nil {
				return nil, err
			}
			n.object = append(n.object, templateMember{canonjson.AppendString(nil, string(key)), child})
		}
		return n, nil
	}
	return &templateNode{literal: raw}, nil
}

func (r *templateReader) readText(raw []byte) (*templateNode, error) {
	text, _ := jsonscan.String(raw)
	parts, err := r.parts(text)
	if err != nil {
		return nil, err
	}
	if len(parts) == 1 && parts[0].argument == "" {
		return &templateNode{literal: raw}, nil
	}
	for _, part := range parts {
		if part.argument != "" {
			r.used[part.argument] = true
		}
	}
	if len(parts) == 1 {
		return &templateNode{hole: parts[0].argument}, nil
	}
	return &templateNode{text: parts}, nil
}

// parts splits text at its placeholders; there is at least one part.
func (r *templateReader) parts(text string) ([]templateText, error) {
	var parts []templateText
	for {
		before, rest, ok := strings.Cut(text, "{{")
		if !ok {
			if text != "" || parts == nil {
				parts = append(parts, templateText{literal: text})
			}
			return parts, nil
		}
		name, after, ok := strings.Cut(rest, "}}")
		if !ok {
			return nil, errors.New(`has a "{{" without "}}"`)
		}
		name = strings.TrimSpace(name)
		if !r.known[name] {
			return nil, fmt.Errorf("has {{%s}}, but there is no such argument", plain.Quote(name))
		}
		if before != "" {
			parts = append(parts, templateText{literal: before})
		}
		parts = append(parts, templateText{argument: name})
		text = after
	}
}

// expand returns the value of a node; ok is false if an argument of it is missing.
// Much too large a value is cut off anywhere, but longer than maxBody then.
func (n *templateNode) expand(args arguments) (raw []byte, ok bool) {
	e := expansion{args: args}
	ok = e.add(n)
	return e.out, ok
}

// An expansion is a template on its way to become a value.
type expansion struct {
	args arguments
	out  []byte
}

// add appends the value of a node. If it reports false what it appended has to be
// taken back.
func (e *expansion) add(n *templateNode) bool {
	if len(e.out) > maxBody {
		return true
	}
	switch {
	case n.literal != nil:
		e.out = append(e.out, n.literal...)
	case n.hole != "":
		raw, ok := e.args[n.hole]
		e.out = append(e.out, raw...)
		return ok
	case n.text != nil:
		return e.addText(n.text)
	case n.array != nil:
		e.out = append(e.out, '[')
		first := true
		for _, child := range n.array {
			first = e.addElement(first, nil, child) && first
		}
		e.out = append(e.out, ']')
	default:
		e.out = append(e.out, '{')
		first := true
		for _, member := range n.object {
			first = e.addElement(first, member.key, member.node) && first
		}
		e.out = append(e.out, '}')
	}
	return true
}

// addElement appends an element or a member, unless an argument of it is missing. It
// reports whether nothing was appended.
func (e *expansion) addElement(first bool, key []byte, n *templateNode) (nothing bool) {
	before := len(e.out)
	if !first {
		e.out = append(e.out, ',')
	}
	if key != nil {
		e.out = append(append(e.out, key...), ':')
	}
	if e.add(n) {
		return false
	}
	e.out = e.out[:before]
	return true
}

func (e *expansion) addText(parts []templateText) bool {
	var text strings.Builder
	for _, part := range parts {
		if part.argument == "" {
			text.WriteString(part.literal)
			continue
		}
		raw, ok := e.args[part.argument]
		if !ok || raw[0] == 'n' {
			return false
		}
		if text.Len() <= maxBody {
			text.WriteString(textOf(raw))
		}
	}
	e.out = canonjson.AppendString(e.out, text.String())
	return true
}
