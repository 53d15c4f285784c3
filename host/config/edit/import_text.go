package edit

import (
	"encoding/json"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/mcpbelt/mcpbelt/internal/dialect"
)

// A translation carries values with references from a file of one kind into one of
// another.
type translation struct {
	fromLiteral, toLiteral bool               // $VAR without braces stays as it is
	forms                  dialect.References // that the program of the target replaces
	from                   dialect.References // that the program of the source does
	dir                    string             // where relative paths of the source start

	variable  func(id string) string // that stands for an input; nil: none does
	variables []string               // that stand for inputs now

	unknown []string // references that the program of the target does not replace
}

// text returns a value in the target's form.
func (x *translation) text(s string) string {
	pattern := `\$\$|\$\{[^}]*\}|\$[A-Za-z_][A-Za-z0-9_]*`
	curly := x.from == dialect.CurlyRefs
	switch {
	case curly: // all else is plain there
		pattern = `\{(?:env|file):[^}]+\}|\$\$|\$\{|\$[A-Za-z_][A-Za-z0-9_]*`
	case x.from == dialect.SecretRefs:
		pattern = `\$\{\{(?s:.*?)\}\}|` + pattern
	}
	return regexp.MustCompile(pattern).ReplaceAllStringFunc(s, func(found string) string {
		switch {
		case found[0] == '{':
			kind, name, _ := strings.Cut(found[1:len(found)-1], ":")
			if kind == "file" || x.forms == dialect.EditorRefs {
				name = kind + ":" + name
			}
			return x.braced(name)
		case found == "$$", curly && x.forms == dialect.CurlyRefs:
			return found
		case found == "${":
			return "${DOLLAR:-$}{"
		case x.from == dialect.SecretRefs && strings.HasSuffix(found, "}}"):
			return x.braced(strings.TrimPrefix(strings.TrimSpace(found[len("${{"):len(found)-len("}}")]), "secrets."))
		case found[1] == '{':
			return x.braced(found[len("${") : len(found)-1])
		case !x.fromLiteral && !curly:
			return x.braced(found[1:])
		case x.toLiteral:
			return found
		}
		return "${DOLLAR:-$}" + found[1:]
	})
}

// braced returns ${inner} in the target's form.
func (x *translation) braced(inner string) string {
	kind, rest, prefixed := strings.Cut(inner, ":")
	if prefixed && kind == "input" && x.variable != nil {
		name := x.variable(rest)
		if !slices.Contains(x.variables, name) {
			x.variables = append(x.variables, name)
		}
		return x.braced(name)
	}
	special := prefixed && (kind == "file" || kind == "keyring" || kind == "input")
	switch {
	case prefixed && kind == "file" && rest != "" && !filepath.IsAbs(rest):
		inner = "file:" + filepath.Join(x.dir, rest)
	case prefixed && kind == "env" && x.forms != dialect.EditorRefs && x.forms != dialect.AllOwnRefs:
		inner = rest
	case !prefixed && x.forms == dialect.EditorRefs && inner == strings.ToUpper(inner):
		inner = "env:" + inner // names in small letters may be the editor's own
	}
	isName := inner != "" && dialect.NameLength(inner) == len(inner)
	hasDefault := strings.Contains(inner, ":-")
	switch reference := "${" + inner + "}"; {
	case x.forms == dialect.CurlyRefs && prefixed && kind == "file":
		return reference[1:]
	case x.forms == dialect.CurlyRefs && isName:
		return "{env:" + inner + "}"
	case x.forms == dialect.SecretRefs && isName:
		return "${{ secrets." + inner + " }}"
	case x.forms == dialect.AllOwnRefs && !(prefixed && kind == "input"), x.forms == dialect.EditorRefs && !special && !hasDefault,
		x.forms == dialect.BracedRefs && !special, x.forms == dialect.BareRefs && !prefixed:
		return reference
	default:
		x.unknown = append(x.unknown, shownKind(inner))
		return reference
	}
}

// shownKind is a reference without what may be a secret in it.
func shownKind(inner string) string {
	name, _, hasDefault := strings.Cut(inner, ":-")
	if hasDefault {
		return "${" + name + ":-…}"
	}
	return "${" + name + "}"
}

// carry carries the values of an entry that may have references, and calls say for each of them that
// the target's program does not replace.
func (x *translation) carry(entry map[string]json.RawMessage, say func(key, reference string)) {
	for _, key := range []string{"command", "args", "cwd", "url", "env", "headers", "auth", "isolation"} {
		var value any
		if json.Unmarshal(entry[key], &value) == nil { // else it is not there
			entry[key] = marshalJSON(x.value(key, value, say))
		}
	}
}

func (x *translation) value(key string, value any, say func(key, reference string)) any {
	switch v := value.(type) {
	case string:
		value = x.text(v)
		for _, reference := range x.unknown {
			say(key, reference)
		}
		x.unknown = nil
	case []any:
		for i := range v {
			v[i] = x.value(key, v[i], say)
		}
	case map[string]any:
		for _, name := range dialect.InOrder(v) {
			v[name] = x.value(key+"."+name, v[name], say)
		}
	}
	return value
}
