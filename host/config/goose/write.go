package goose

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mcpbelt/mcpbelt/internal/dialect"
	"github.com/mcpbelt/mcpbelt/internal/jsonc"
)

// writing says how the extensions of Goose are written.
func writing(*jsonc.Node) *dialect.Writing {
	return &dialect.Writing{
		Edit:      &dialect.Edit{Set: set, Remove: remove, Rename: rename, Empty: "extensions: {}\n"},
		Container: []string{serversKey},
		Keys: map[string]string{
			"command": "cmd", "args": "args", "env": "envs", "url": "uri", "headers": "headers", "enabled": "enabled",
			"description": "description", "transport": "type", "readTimeoutSeconds": "timeout",
			"tools": "tools", "tools.allow": "available_tools",
		},
		Transports: map[string]string{"stdio": "stdio", "http": "streamable_http", "sse": "sse"},
		Always:     true,
		Name:       "name",
		References: dialect.BracedRefs,
		Notes: map[string]string{
			"readTimeoutSeconds": "is called timeout there, in seconds",
		},
	}
}

// after returns what stands behind the colon of a key in a column: a value on the line,
// or lines below it.
func (t *text) after(n *jsonc.Node, indent string) string {
	var b strings.Builder
	switch {
	case n.Kind == jsonc.Object && len(n.Members) > 0:
		for i := range n.Members {
			m := &n.Members[i]
			b.WriteString(t.lineEnd + indent + t.unit + string(appendKey(nil, m.Key)) + ":" + t.after(&m.Value, indent+t.unit))
		}
	case n.Kind == jsonc.Array && len(n.Elems) > 0:
		for i := range n.Elems {
			b.WriteString(t.lineEnd + t.element(&n.Elems[i], indent+t.unit))
		}
	default:
		b.WriteString(" " + string(appendFlow(nil, n)))
	}
	return b.String()
}

// element returns an element of a list with its dash.
func (t *text) element(n *jsonc.Node, indent string) string {
	if n.Kind != jsonc.Object || len(n.Members) == 0 || len(t.unit) < len("- ") {
		return indent + "- " + string(appendFlow(nil, n))
	}
	first := t.lineEnd + indent + t.unit
	return indent + "-" + t.unit[1:] + strings.TrimPrefix(t.after(n, indent), first)
}

// appendFlow appends a value on one line.
func appendFlow(dst []byte, n *jsonc.Node) []byte {
	switch n.Kind {
	case jsonc.Null:
		return append(dst, "null"...)
	case jsonc.Bool, jsonc.Number:
		return append(dst, n.Text...)
	case jsonc.String:
		return appendText(dst, n.Text)
	case jsonc.Array:
		dst = append(dst, '[')
		for i := range n.Elems {
			if i > 0 {
				dst = append(dst, ", "...)
			}
			dst = appendFlow(dst, &n.Elems[i])
		}
		return append(dst, ']')
	default:
		dst = append(dst, '{')
		for i := range n.Members {
			if i > 0 {
				dst = append(dst, ", "...)
			}
			dst = append(appendKey(dst, n.Members[i].Key), ": "...)
			dst = appendFlow(dst, &n.Members[i].Value)
		}
		return append(dst, '}')
	}
}

func appendKey(dst []byte, key string) []byte { return appendText(dst, key) }

// simple is a text that no reader of YAML takes for anything else.
var simple = regexp.MustCompile(`^[A-Za-z/][A-Za-z0-9_./@+-]*(?::[A-Za-z0-9_./@+-]+)*$`)

// appendText appends a text, in quotes if it could be taken for something else. Invisible
// characters are escaped.
func appendText(dst []byte, text string) []byte {
	switch strings.ToLower(text) {
	case "true", "false", "yes", "no", "on", "off", "null", "y", "n":
	default:
		if simple.MatchString(text) {
			return append(dst, text...)
		}
	}
	dst = append(dst, '"')
	for _, r := range text {
		switch {
		case r == '"' || r == '\\':
			dst = append(dst, '\\', byte(r))
		case r == '\n':
			dst = append(dst, `\n`...)
		case unicode.IsPrint(r):
			dst = utf8.AppendRune(dst, r)
		case r > 0xffff:
			dst = fmt.Appendf(dst, `\U%08x`, r)
		default:
			dst = fmt.Appendf(dst, `\u%04x`, r)
		}
	}
	return append(dst, '"')
}
