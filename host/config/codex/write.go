package codex

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mcpbelt/mcpbelt/internal/dialect"
	"github.com/mcpbelt/mcpbelt/internal/jsonc"
)

var (
	errTaken = errors.New("is there already")
	errNull  = errors.New("is null, which TOML does not have")
)

// writing says how the tables of Codex are written.
func writing(*jsonc.Node) *dialect.Writing {
	return &dialect.Writing{
		Edit:      &dialect.Edit{Set: set, Remove: remove, Rename: rename},
		Container: []string{serversKey},
		Keys: map[string]string{
			"command": "command", "args": "args", "env": "env", "cwd": "cwd", "url": "url", "headers": "http_headers",
			"enabled": "enabled", "required": "required", "connectTimeoutSeconds": "startup_timeout_sec",
			"readTimeoutSeconds": "tool_timeout_sec", "tools": "tools", "tools.allow": "enabled_tools", "tools.deny": "disabled_tools",
		},
		Transports: map[string]string{"stdio": "", "http": ""},
		URL:        "http",
		References: dialect.NoReferences,
		Notes: map[string]string{
			"transport": "is told by the keys there: a url is streamable HTTP",
		},
	}
}

// assignment returns a line key = value.
func assignment(path []string, value *jsonc.Node) (string, error) {
	for len(path) > 1 {
		last := len(path) - 1
		value = &jsonc.Node{Kind: jsonc.Object, Members: []jsonc.Member{{Key: path[last], Value: *value}}}
		path = path[:last]
	}
	b, err := appendValue(append(appendKey(nil, path[0]), " = "...), value)
	return string(b), err
}

// appendValue appends a value on one line.
func appendValue(dst []byte, n *jsonc.Node) ([]byte, error) {
	var err error
	switch n.Kind {
	case jsonc.Null:
		return nil, errNull
	case jsonc.Bool, jsonc.Number:
		return append(dst, n.Text...), nil
	case jsonc.String:
		return appendString(dst, n.Text), nil
	case jsonc.Array:
		dst = append(dst, '[')
		for i := range n.Elems {
			if i > 0 {
				dst = append(dst, ", "...)
			}
			if dst, err = appendValue(dst, &n.Elems[i]); err != nil {
				return nil, err
			}
		}
		return append(dst, ']'), nil
	default:
		if len(n.Members) == 0 {
			return append(dst, "{}"...), nil
		}
		dst = append(dst, "{ "...)
		for i := range n.Members {
			if i > 0 {
				dst = append(dst, ", "...)
			}
			dst = append(appendKey(dst, n.Members[i].Key), " = "...)
			if dst, err = appendValue(dst, &n.Members[i].Value); err != nil {
				return nil, err
			}
		}
		return append(dst, " }"...), nil
	}
}

func appendKey(dst []byte, key string) []byte {
	for _, r := range key {
		if (r < 'a' || 'z' < r) && (r < 'A' || 'Z' < r) && (r < '0' || '9' < r) && r != '_' && r != '-' {
			return appendString(dst, key)
		}
	}
	if key == "" {
		return append(dst, `""`...)
	}
	return append(dst, key...)
}

// appendString appends a text in quotes: simple ones if it has backslashes, as paths of
// Windows. Invisible characters are escaped.
func appendString(dst []byte, text string) []byte {
	plain := !strings.Contains(text, "'") && !strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) })
	if plain && strings.Contains(text, `\`) {
		return append(append(append(dst, '\''), text...), '\'')
	}
	dst = append(dst, '"')
	for _, r := range text {
		switch {
		case r == '"' || r == '\\':
			dst = append(dst, '\\', byte(r))
		case r == '\n':
			dst = append(dst, `\n`...)
		case r == '\t':
			dst = append(dst, `\t`...)
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
