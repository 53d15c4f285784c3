package openapi

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

	"github.com/mcpbelt/mcpbelt/internal/canonjson"
	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
	"github.com/mcpbelt/mcpbelt/internal/plain"
)

// Bounds on YAML, where a value takes some hundred bytes of memory, and an alias
// stands for any number of them.
const (
	maxYAMLValues = 1 << 19
	maxYAMLSteps  = 1 << 22 // aliases and merge keys written out
	maxWritten    = 4       // times as long as the limit of the document, as JSON
)

// fromYAML writes a YAML document as JSON: members in their order, numbers with
// their digits, aliases and merge keys written out.
func fromYAML(text []byte, maxBytes int) ([]byte, error) {
	if n := yamlValues(text); n > maxYAMLValues {
		return nil, &DocumentError{Reason: fmt.Sprintf("has about %d YAML values, at most %d are read; as JSON it may be larger", n, maxYAMLValues)}
	}
	var doc yaml.Node
	limits := loaderlimits.New(loaderlimits.DepthValue(jsonscan.MaxDepth), loaderlimits.AliasNone())
	if err := yaml.Load(text, &doc, yaml.WithPlugin(limits)); err != nil {
		return nil, &DocumentError{Reason: "is neither JSON nor YAML: " + plain.Line(err.Error()), Err: err}
	}
	if doc.Kind != yaml.DocumentNode || len(doc.Content) != 1 {
		return nil, &DocumentError{Reason: "is empty"}
	}
	w := yamlWriter{max: maxBytes * maxWritten}
	if err := w.value(doc.Content[0], 0); err != nil {
		return nil, err
	}
	return w.out, nil
}

// yamlValues returns how many values a text has at most, nearly: what can begin
// or end one is counted.
func yamlValues(text []byte) int {
	n := bytes.Count(text, []byte("- ")) - bytes.Count(text, []byte("\r\n"))
	for _, c := range []byte("\n\r,[{") {
		n += bytes.Count(text, []byte{c})
	}
	return n
}

// A yamlWriter writes YAML nodes as JSON.
type yamlWriter struct {
	out   []byte
	max   int
	steps int
}

// step counts what writing costs.
func (w *yamlWriter) step(n *yaml.Node, depth int) error {
	w.steps++
	switch {
	case depth > jsonscan.MaxDepth:
		return yamlError(n, fmt.Sprintf("is nested deeper than %d, or an alias holds itself", jsonscan.MaxDepth))
	case len(w.out) > w.max || w.steps > maxYAMLSteps:
		return yamlError(n, "is too long with its aliases written out")
	}
	return nil
}

func (w *yamlWriter) value(n *yaml.Node, depth int) error {
	if err := w.step(n, depth); err != nil {
		return err
	}
	switch n.Kind {
	case yaml.AliasNode:
		return w.value(n.Alias, depth+1)
	case yaml.SequenceNode:
		w.out = append(w.out, '[')
		for i, e := range n.Content {
			if i > 0 {
				w.out = append(w.out, ',')
			}
			if err := w.value(e, depth+1); err != nil {
				return err
			}
		}
		w.out = append(w.out, ']')
	case yaml.MappingNode:
		return w.mapping(n, depth)
	case yaml.ScalarNode:
		w.out = appendScalar(w.out, n)
	default:
		return yamlError(n, "is a kind of YAML that JSON does not have")
	}
	return nil
}

func (w *yamlWriter) mapping(n *yaml.Node, depth int) error {
	w.out = append(w.out, '{')
	seen := make(map[string]bool, len(n.Content)/2)
	var merged []*yaml.Node
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].ShortTag() == "!!merge" {
			merged = append(merged, n.Content[i+1])
			continue
		}
		if err := w.member(n.Content[i], n.Content[i+1], seen, false, depth); err != nil {
			return err
		}
	}
	// A merged member gives way to one that is there, and a later one to an earlier.
	for _, m := range merged {
		if err := w.merge(m, seen, depth); err != nil {
			return err
		}
	}
	w.out = append(w.out, '}')
	return nil
}

func (w *yamlWriter) merge(from *yaml.Node, seen map[string]bool, depth int) error {
	if err := w.step(from, depth); err != nil {
		return err
	}
	if from.Kind == yaml.AliasNode {
		from = from.Alias
	}
	switch from.Kind {
	case yaml.SequenceNode:
		for _, e := range from.Content {
			if err := w.merge(e, seen, depth+1); err != nil {
				return err
			}
		}
		return nil
	case yaml.MappingNode:
		var deeper []*yaml.Node
		for i := 0; i+1 < len(from.Content); i += 2 {
			if from.Content[i].ShortTag() == "!!merge" {
				deeper = append(deeper, from.Content[i+1])
			} else if err := w.member(from.Content[i], from.Content[i+1], seen, true, depth); err != nil {
				return err
			}
		}
		for _, m := range deeper {
			if err := w.merge(m, seen, depth+1); err != nil {
				return err
			}
		}
		return nil
	}
	return yamlError(from, "a merge key takes a mapping")
}

func (w *yamlWriter) member(k, v *yaml.Node, seen map[string]bool, merged bool, depth int) error {
	if err := w.step(k, depth); err != nil {
		return err
	}
	if k.Kind == yaml.AliasNode {
		k = k.Alias
	}
	if k.Kind != yaml.ScalarNode {
		return yamlError(k, "a key must be a text")
	}
	if seen[k.Value] {
		if merged {
			return nil
		}
		return yamlError(k, "the key "+plain.Quote(k.Value)+" is there twice")
	}
	if len(seen) > 0 {
		w.out = append(w.out, ',')
	}
	seen[k.Value] = true
	w.out = append(canonjson.AppendString(w.out, k.Value), ':')
	return w.value(v, depth+1)
}

func appendScalar(dst []byte, n *yaml.Node) []byte {
	switch n.ShortTag() {
	case "!!null":
		return append(dst, "null"...)
	case "!!bool":
		if b, err := strconv.ParseBool(strings.ToLower(n.Value)); err == nil {
			return strconv.AppendBool(dst, b)
		}
	case "!!int", "!!float":
		if number, ok := jsonNumber(n.Value); ok {
			return append(dst, number...)
		}
	}
	return canonjson.AppendString(dst, strings.ToValidUTF8(n.Value, "\uFFFD"))
}

// jsonNumber writes a number of YAML as JSON has it. Infinity and what is no
// number have no such form.
func jsonNumber(text string) (string, bool) {
	if text != "" && (text[0] == '-' || text[0] >= '0' && text[0] <= '9') && json.Valid([]byte(text)) {
		return text, true
	}
	plain := strings.ReplaceAll(strings.TrimPrefix(text, "+"), "_", "")
	if len(plain) > 64 {
		return "", false
	}
	if i, ok := new(big.Int).SetString(plain, 0); ok {
		return i.String(), true
	}
	f, err := strconv.ParseFloat(plain, 64)
	if err != nil || math.IsInf(f, 0) || math.IsNaN(f) {
		return "", false
	}
	return strconv.FormatFloat(f, 'g', -1, 64), true
}

func yamlError(n *yaml.Node, reason string) error {
	return &DocumentError{Line: n.Line, Column: n.Column, Reason: reason}
}

// asJSON returns a document as JSON that has been checked.
func asJSON(text []byte, maxBytes int) ([]byte, error) {
	text = bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))
	trimmed := bytes.TrimLeft(text, " \t\r\n")
	if len(trimmed) == 0 {
		return nil, &DocumentError{Reason: "is empty"}
	}
	scanned := jsonscan.Valid(trimmed)
	if scanned == nil {
		return trimmed, nil
	}
	// A document that is JSON for others, but can be read in more than one way, is not
	// YAML.
	if trimmed[0] == '{' && json.Valid(trimmed) {
		return nil, jsonError(text, len(text)-len(trimmed), scanned)
	}
	out, err := fromYAML(text, maxBytes)
	if err == nil {
		err = jsonscan.Valid(out)
	}
	if err != nil && trimmed[0] == '{' {
		return nil, jsonError(text, len(text)-len(trimmed), scanned)
	}
	return out, err
}

func jsonError(text []byte, skipped int, err error) error {
	var syntax *jsonscan.SyntaxError
	if !errors.As(err, &syntax) {
		return &DocumentError{Reason: "is not JSON", Err: err}
	}
	before := text[:min(len(text), skipped+syntax.Offset)]
	line := bytes.Count(before, []byte("\n"))
	return &DocumentError{Line: line + 1, Column: len(before) - bytes.LastIndexByte(before, '\n'), Reason: syntax.Reason, Err: err}
}
