// Package yamljson reads YAML into the tree of package jsonc, and so as JSON: members stay
// in their order, numbers keep their digits, aliases and merge keys are written out.
package yamljson

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"
	"go.yaml.in/yaml/v4/plugin/loaderlimits"

	"github.com/mcpbelt/mcpbelt/internal/jsonc"
	"github.com/mcpbelt/mcpbelt/internal/plain"
)

// maxText bounds the texts of a document with its aliases written out, in bytes: one alias
// stands for any number of them.
const maxText = 4 * jsonc.MaxSize

// Parse reads one YAML document within the limits of package jsonc. Its error is a
// [*jsonc.SyntaxError] that quotes no value. In a line with characters that are not
// ASCII, a column counts characters and not bytes.
func Parse(data []byte) (*jsonc.Document, error) {
	if err := jsonc.CheckText(data); err != nil {
		return nil, err
	}
	r := &reader{doc: jsonc.New(data, jsonc.Node{})}
	if n := values(data); n > jsonc.MaxNodes {
		return nil, r.fail(nil, "the file has about %d values, more than the limit of %d", n, jsonc.MaxNodes)
	}
	var file yaml.Node
	limits := loaderlimits.New(loaderlimits.DepthValue(jsonc.MaxDepth), loaderlimits.AliasNone()) // aliases are counted here
	if err := yaml.Load(data, &file, yaml.WithPlugin(limits)); err != nil {
		return nil, r.refused(err)
	}
	if file.Kind != yaml.DocumentNode || len(file.Content) != 1 {
		return nil, r.fail(nil, "the file is empty")
	}
	root, err := r.value(file.Content[0], "", 0)
	if err != nil {
		return nil, err
	}
	return jsonc.New(data, root), nil
}

// values returns how many values a text has at most, nearly: what can begin or end one
// is counted.
func values(data []byte) int {
	n := bytes.Count(data, []byte("- ")) - bytes.Count(data, []byte("\r\n"))
	for _, c := range []byte("\n\r,[{") {
		n += bytes.Count(data, []byte{c})
	}
	return n
}

// A reader makes the tree of one document.
type reader struct {
	doc   *jsonc.Document // has the places, and no tree yet
	nodes int             // that were made or looked at
	text  int             // bytes
}

// fail returns an error at a node, or at the start of the file.
func (r *reader) fail(n *yaml.Node, format string, args ...any) error {
	if n == nil {
		n = &yaml.Node{}
	}
	return &jsonc.SyntaxError{Position: r.doc.Position(r.doc.Offset(n.Line, n.Column)), Message: fmt.Sprintf(format, args...)}
}

// refused returns the error of the YAML parser without the names that it may quote: what
// looks like an alias may be a secret that lacks its quotes.
func (r *reader) refused(err error) error {
	var bad *yaml.LoadError
	known := errors.As(err, &bad)
	switch text := err.Error(); {
	case known && bad.Mark.Line > 0:
		message := plain.Line(bad.Message)
		if bad.Stage == "composer" && strings.ContainsAny(message, "'\"`") {
			message = "an alias or an anchor that cannot be used: put a text that starts with * or & in quotes"
		}
		return r.fail(&yaml.Node{Line: bad.Mark.Line, Column: bad.Mark.Column}, "%s", message)
	case strings.Contains(text, "no documents"):
		return r.fail(nil, "the file is empty")
	case strings.Contains(text, "multiple"):
		return r.fail(nil, "the file has more than one document: remove those after ---")
	}
	return r.fail(nil, "this is not YAML that can be read")
}

// step counts a node, with its aliases written out; depth is how many are around it.
func (r *reader) step(n *yaml.Node, depth int) error {
	r.nodes++
	r.text += len(n.Value)
	switch {
	case depth > jsonc.MaxDepth:
		return r.fail(n, "nested deeper than %d levels, or an alias holds itself", jsonc.MaxDepth)
	case r.nodes > jsonc.MaxNodes || r.text > maxText:
		return r.fail(n, "too long with its aliases written out: at most %d values and %d bytes are read", jsonc.MaxNodes, maxText)
	}
	return nil
}

// value turns a node into one of the tree.
func (r *reader) value(n *yaml.Node, at jsonc.Path, depth int) (jsonc.Node, error) {
	out := jsonc.Node{Offset: r.doc.Offset(n.Line, n.Column)}
	out.End = out.Offset
	if err := r.step(n, depth); err != nil {
		return out, err
	}
	switch n.Kind {
	case yaml.AliasNode:
		return r.value(n.Alias, at, depth+1)
	case yaml.SequenceNode:
		out.Kind, out.Elems = jsonc.Array, make([]jsonc.Node, 0, len(n.Content))
		for i, e := range n.Content {
			v, err := r.value(e, at.Index(i), depth+1)
			if err != nil {
				return out, err
			}
			out.Elems, out.End = append(out.Elems, v), max(out.End, v.End)
		}
	case yaml.MappingNode:
		out.Kind = jsonc.Object
		m := &mapping{reader: r, node: &out, at: at, seen: make(map[string]bool, len(n.Content)/2)}
		if err := m.read(n, false, depth); err != nil {
			return out, err
		}
	case yaml.ScalarNode:
		out.Kind, out.Text = scalar(n)
		out.End = r.doc.Offset(n.Line, n.Column+len(n.Value))
	default:
		return out, r.fail(n, "a kind of YAML that JSON does not have")
	}
	return out, nil
}

// A mapping collects the members of one object.
type mapping struct {
	*reader
	node *jsonc.Node
	at   jsonc.Path
	seen map[string]bool
}

// read adds the members of n. Those that are merged give way to members that are there.
func (m *mapping) read(n *yaml.Node, merged bool, depth int) error {
	var later []*yaml.Node
	for i := 0; i+1 < len(n.Content); i += 2 {
		place, v := n.Content[i], n.Content[i+1]
		if place.ShortTag() == "!!merge" {
			later = append(later, v)
			continue
		}
		k := place
		if k.Kind == yaml.AliasNode {
			k = k.Alias
		}
		if err := m.step(k, depth); err != nil {
			return err
		}
		at := m.at.Key(k.Value)
		switch {
		case k.Kind != yaml.ScalarNode:
			return m.fail(place, "a key must be a text")
		case m.seen[k.Value] && merged:
			continue
		case m.seen[k.Value]:
			return &jsonc.SyntaxError{Position: m.doc.Position(m.doc.Offset(place.Line, place.Column)), Path: at, Message: "duplicate key: remove one"}
		}
		m.seen[k.Value] = true
		value, err := m.value(v, at, depth+1)
		if err != nil {
			return err
		}
		m.node.Members = append(m.node.Members, jsonc.Member{Key: k.Value, Offset: m.doc.Offset(place.Line, place.Column), Value: value})
		m.node.End = max(m.node.End, value.End)
	}
	for _, from := range later {
		if err := m.merge(from, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// merge adds the members of a mapping, or of several, that a merge key names.
func (m *mapping) merge(from *yaml.Node, depth int) error {
	if from.Kind == yaml.AliasNode {
		from = from.Alias
	}
	if err := m.step(from, depth); err != nil {
		return err
	}
	switch from.Kind {
	case yaml.MappingNode:
		return m.read(from, true, depth)
	case yaml.SequenceNode:
		for _, e := range from.Content {
			if err := m.merge(e, depth+1); err != nil {
				return err
			}
		}
		return nil
	}
	return m.fail(from, "a merge key takes a mapping")
}

// scalar returns what JSON has for a scalar. A value that is not what its tag says is a
// text.
func scalar(n *yaml.Node) (jsonc.Kind, string) {
	switch n.ShortTag() {
	case "!!null":
		return jsonc.Null, ""
	case "!!bool":
		if v, err := strconv.ParseBool(strings.ToLower(n.Value)); err == nil {
			return jsonc.Bool, strconv.FormatBool(v)
		}
	case "!!int", "!!float":
		if text, ok := number(n.Value); ok {
			return jsonc.Number, text
		}
	}
	return jsonc.String, n.Value
}

// number writes a number of YAML as JSON has it. Infinity and what is no number have no
// such form.
func number(text string) (string, bool) {
	if text != "" && (text[0] == '-' || text[0] >= '0' && text[0] <= '9') && json.Valid([]byte(text)) {
		return text, true
	}
	digits := strings.ReplaceAll(strings.TrimPrefix(text, "+"), "_", "")
	if len(digits) > 64 {
		return "", false
	}
	if i, ok := new(big.Int).SetString(digits, 0); ok {
		return i.String(), true
	}
	f, err := strconv.ParseFloat(digits, 64)
	if err != nil || math.IsInf(f, 0) || math.IsNaN(f) {
		return "", false
	}
	return strconv.FormatFloat(f, 'g', -1, 64), true
}
