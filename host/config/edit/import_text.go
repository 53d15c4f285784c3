package edit

import (
	"path/filepath"
	"strings"

	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/record"
	"github.com/mcpbelt/mcpbelt/internal/dialect"
)

// A translation carries values with references from a file of one kind into one of
// another.
type translation struct {
	fromLiteral, toLiteral bool               // $VAR without braces stays as it is
	forms                  dialect.References // that the program of the target replaces
	from                   dialect.References // that the program of the source does
	dir                    string             // where relative paths of the source start

	unknown []string // references that the program of the target does not replace
}

// text returns a value in the target's form.
func (x *translation) text(s string) string {
	if x.from == dialect.CurlyRefs {
		return x.fromCurly(s)
	}
	var b strings.Builder
	for {
		i := strings.IndexByte(s, '$')
		if i < 0 {
			b.WriteString(s)
			return b.String()
		}
		b.WriteString(s[:i])
		s = s[i:]
		end := strings.IndexByte(s, '}')
		name := 1 + dialect.NameLength(s[1:])
		switch {
		case x.from == dialect.SecretRefs && strings.HasPrefix(s, "${{") && strings.Contains(s, "}}"):
			inner, after, _ := strings.Cut(s[len("${{"):], "}}")
			b.WriteString(x.braced(strings.TrimPrefix(strings.TrimSpace(inner), "secrets.")))
			s = after
		case strings.HasPrefix(s, "${") && end > 0:
			b.WriteString(x.braced(s[2:end]))
			s = s[end+1:]
		case strings.HasPrefix(s, "$$"):
			b.WriteString("$$")
			s = s[2:]
		case name == 1:
			b.WriteByte('$')
			s = s[1:]
		case !x.fromLiteral:
			b.WriteString(x.braced(s[1:name]))
			s = s[name:]
		case x.toLiteral:
			b.WriteString(s[:name])
			s = s[name:]
		default:
			b.WriteString("${DOLLAR:-$}" + s[1:name])
			s = s[name:]
		}
	}
}

// braced returns ${inner} in the target's form.
func (x *translation) braced(inner string) string {
	kind, rest, prefixed := strings.Cut(inner, ":")
	special := prefixed && (kind == "file" || kind == "keyring" || kind == "input")
	switch {
	case prefixed && kind == "file" && rest != "" && !filepath.IsAbs(rest):
		inner = "file:" + filepath.Join(x.dir, rest)
	case prefixed && kind == "env" && x.forms != dialect.EditorRefs && x.forms != dialect.AllOwnRefs:
		inner = rest
	case !prefixed && x.forms == dialect.EditorRefs && inner == strings.ToUpper(inner):
		inner = "env:" + inner // names in small letters may be the editor's own
	}
	var known bool
	switch x.forms {
	case dialect.AllOwnRefs:
		known = kind != "input" || !prefixed
	case dialect.EditorRefs:
		known = !strings.Contains(inner, ":-") && kind != "file" && kind != "keyring" && !(prefixed && kind == "input")
	case dialect.BracedRefs:
		known = !special
	case dialect.BareRefs:
		known = !prefixed
	case dialect.CurlyRefs:
		if prefixed && kind == "file" {
			return "{" + inner + "}"
		}
		if inner != "" && dialect.NameLength(inner) == len(inner) {
			return "{env:" + inner + "}"
		}
	case dialect.SecretRefs:
		if inner != "" && dialect.NameLength(inner) == len(inner) {
			return "${{ secrets." + inner + " }}"
		}
	}
	reference := "${" + inner + "}"
	if !known {
		x.unknown = append(x.unknown, shownKind(inner))
	}
	return reference
}

// fromCurly is text for a source with references {env:VAR} and {file:path}, in which all
// else is plain.
func (x *translation) fromCurly(s string) string {
	var b strings.Builder
	plain := func(text string) {
		if x.forms == dialect.CurlyRefs {
			b.WriteString(text)
			return
		}
		as := &translation{fromLiteral: true, toLiteral: x.toLiteral, forms: x.forms}
		for i, part := range strings.Split(text, "${") {
			if i > 0 {
				b.WriteString("${DOLLAR:-$}{")
			}
			b.WriteString(as.text(part))
		}
	}
	for {
		before, after, found := strings.Cut(s, "{")
		kind, rest, _ := strings.Cut(after, ":")
		name, left, closed := strings.Cut(rest, "}")
		switch {
		case !found:
			plain(s)
			return b.String()
		case closed && name != "" && (kind == "env" || kind == "file"):
			plain(before)
			if kind == "file" || x.forms == dialect.EditorRefs {
				name = kind + ":" + name
			}
			b.WriteString(x.braced(name))
			s = left
		default:
			plain(before + "{")
			s = after
		}
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

// record carries all values of r, and calls say for each reference that the target's
// program does not replace.
func (x *translation) record(r *record.Record, say func(key, reference string)) {
	at := func(key, value string) string {
		out := x.text(value)
		for _, reference := range x.unknown {
			say(key, reference)
		}
		x.unknown = nil
		return out
	}
	r.Command = at("command", r.Command)
	for i := range r.Args {
		r.Args[i] = at("args", r.Args[i])
	}
	r.Cwd = at("cwd", r.Cwd)
	r.URL = at("url", r.URL)
	for _, values := range []struct {
		key string
		m   map[string]config.Secret
	}{{"env", r.Env}, {"headers", r.Headers}} {
		for _, name := range dialect.InOrder(values.m) {
			values.m[name] = config.Secret(at(values.key+"."+name, values.m[name].Reveal()))
		}
	}
	if a := r.Auth; a != nil {
		a.ClientID, a.Issuer, a.RedirectURL = at("auth.clientId", a.ClientID), at("auth.issuer", a.Issuer), at("auth.redirectUrl", a.RedirectURL)
		a.ClientSecret = config.Secret(at("auth.clientSecret", a.ClientSecret.Reveal()))
	}
	if i := r.Isolation; i != nil {
		i.Image = at("isolation.image", i.Image)
		for j := range i.Args {
			i.Args[j] = at("isolation.args", i.Args[j])
		}
	}
}
