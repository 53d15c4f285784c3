package config

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/mcpbelt/mcpbelt/internal/dialect"
	"github.com/mcpbelt/mcpbelt/internal/jsonc"
)

// An entry reads one server of a file.
type entry struct {
	*reading
	scope  Scope // of the entry
	off    bool  // it is disabled: no user is asked for it
	later  bool  // inputs and the keyring wait for the approval
	at     jsonc.Path
	offset int // of the server's name
	fields []dialect.Field
	faults []*Error

	variables, headerPairs []pair // as written

	waits      bool              // it has a reference that waits
	missing    bool              // it says neither command nor URL, for all that is known so far
	references []string          // see Server.references
	templates  map[string]string // see Server.written
	secrets    []string          // see Server.Secrets
}

// maxFaults bounds the faults of one entry that are told, and the warnings of a file:
// no user reads more, and a hostile file has a million.
const maxFaults = 100

// fail notes a fault of the entry at offset; at is the path it is about.
func (e *entry) fail(offset int, at jsonc.Path, format string, args ...any) {
	switch {
	case len(e.faults) < maxFaults:
		e.faults = append(e.faults, e.fault(offset, at, format, args...))
	case len(e.faults) == maxFaults:
		e.faults = append(e.faults, e.fault(offset, e.at, "has more faults than these %d: the others are not told", maxFaults))
	}
}

// tooMany reports whether the entry has more faults than are told.
func (e *entry) tooMany() bool { return len(e.faults) > maxFaults }

// entry returns the reader of what found describes. If it is off no user is asked for it.
func (r *reading) entry(found *dialect.Entry, off bool) *entry {
	scope := r.scopeOf(found)
	return &entry{reading: r, scope: scope, off: off, at: found.At, offset: found.Offset, templates: map[string]string{}}
}

// read returns the server that found describes.
func (e *entry) read(found *dialect.Entry, name claim) *Server {
	before := len(e.warnings)
	s := &Server{
		Name:   name.name,
		Title:  found.Title,
		Source: e.place(found, e.scope),
	}
	switch {
	case found.Fault != nil:
		e.note(*found.Fault)
	case name.fault != nil:
		e.fail(found.Offset, e.at, "%w", name.fault)
	}
	if found.Value.Kind == jsonc.Object {
		e.translate(found)
		e.switches(s)
		e.off = e.off || s.Disabled
		e.endpoint(s)
		e.envFile(s)
		e.env(s)
		e.headers(s)
		e.timeouts(s)
		e.tools(s)
		e.route(s)
		e.identity(s)
		e.auth(s)
		e.isolation(s)
		e.limits(s)
		e.extra(s)
		s.fingerprint = e.fingerprint(s)
		s.references, s.templates, s.secrets = e.references, e.templates, e.secrets
	} else {
		e.fail(found.Value.Offset, e.at, "must be an object such as {\"command\": \"npx\", \"args\": []}, not %s", found.Value.Kind)
	}
	s.Err = e.err()
	s.Warnings = append([]*Error(nil), e.warnings[before:]...)
	sortErrors(s.Warnings)
	return s
}

// place is the place of an entry of a scope.
func (p *parser) place(found *dialect.Entry, scope Scope) Source {
	if scope == ScopeUser && found.Local {
		scope = ScopeLocal
	}
	return Source{File: p.file, Line: p.doc.Position(found.Offset).Line, Format: p.dialect.Name, Scope: scope}
}

// err joins the faults in file order.
func (e *entry) err() error {
	sortErrors(e.faults)
	errs := make([]error, len(e.faults))
	for i, fault := range e.faults {
		errs[i] = fault
	}
	return errors.Join(errs...)
}

// field returns what the entry says under that key; null is as good as absent.
func (e *entry) field(key string) *dialect.Field {
	for i := range e.fields {
		if f := &e.fields[i]; f.Key == key && f.Name == "" && !f.Foreign && f.Value.Kind != jsonc.Null {
			return f
		}
	}
	return nil
}

// check reports whether n is of the kind that it must be, and notes a fault if
// not.
func (e *entry) check(n *jsonc.Node, at jsonc.Path, want jsonc.Kind) bool {
	if n.Kind == want {
		return true
	}
	cure := ""
	switch {
	case want == jsonc.String && (n.Kind == jsonc.Number || n.Kind == jsonc.Bool):
		cure = ": put it in double quotes"
	case want == jsonc.Number && n.Kind == jsonc.String, want == jsonc.Bool && n.Kind == jsonc.String:
		cure = ": remove the quotes"
	case want == jsonc.Array:
		cure = ": put it in [ ]"
	}
	e.fail(n.Offset, at, "must be %s, not %s%s", want, n.Kind, cure)
	return false
}

// expanded returns n, which must be a string, with its references replaced. Inputs and the
// keyring may wait for the approval, or not.
func (e *entry) expanded(n *jsonc.Node, at jsonc.Path, mayWait bool) (string, bool) {
	if !e.check(n, at, jsonc.String) || e.tooMany() {
		return "", false
	}
	x := &expander{entry: e, mayWait: mayWait}
	text, err := x.expand(n.Text)
	e.refer(at, x.seen)
	if err != nil {
		e.fail(n.Offset, at, "%w", err)
		return "", false
	}
	if text != n.Text {
		e.templates["text "+text] = n.Text
	}
	return text, true
}

// refer notes the references of the value at a path.
func (e *entry) refer(at jsonc.Path, seen []string) {
	key := strings.TrimPrefix(strings.TrimPrefix(string(at), string(e.at)), ".")
	slices.Sort(seen)
	for _, reference := range slices.Compact(seen) {
		e.references = append(e.references, key+": "+reference)
	}
}

// texts returns the strings of the array n as written.
func (e *entry) texts(n *jsonc.Node, at jsonc.Path) []string {
	list := e.list(n, at, e.textOf)
	if slices.ContainsFunc(n.Elems, func(n jsonc.Node) bool { return n.Kind != jsonc.String }) {
		return nil // which is a fault
	}
	return list
}

// own reads a value of a key of ours, if it is there.
func own[T any](e *entry, key string, read func(n *jsonc.Node, at jsonc.Path) T) (value T) {
	if f := e.field(key); f != nil {
		value = read(f.Value, f.At)
	}
	return value
}

func (e *entry) boolean(key string) bool { return own(e, key, e.boolOf) }

func (e *entry) switches(s *Server) {
	on, off := e.field("enabled"), e.field("disabled")
	enabled, disabled := e.boolean("enabled") || on == nil || on.Value.Kind != jsonc.Bool, e.boolean("disabled")
	s.Disabled = disabled || !enabled
	if on != nil && off != nil && on.Value.Kind == jsonc.Bool && off.Value.Kind == jsonc.Bool && enabled == disabled {
		e.fail(off.Offset, off.At, "says the opposite of %q: remove one of them", on.Written)
	}
	s.Trust = e.boolean("trust") && e.mine("trust", "")
	s.Builtin = e.boolean("builtin") && e.mine("builtin", "")
	s.Proposed = e.boolean("proposed")
	s.Quarantined = e.boolean("quarantined")
	mode := own(e, "ledger", e.choice("mode", ledgerTrust, ledgerPin, ledgerReview))
	if mode == "" || mode == ledgerReview || e.mine("ledger", ", which can say review only") {
		s.Ledger = mode // a project's file can only make it stricter
	}
	s.Lazy = e.boolean("lazy")
	s.Required = e.boolean("required")
	s.Description = own(e, "description", e.textOf)
}

// mine reports whether what the entry says under a key counts, which a file of others must
// not say.
func (e *entry) mine(key, but string) bool {
	if !e.scope.NeedsApproval() || e.opts.AsWritten {
		return true
	}
	f := e.field(key)
	e.warn(f.Offset, f.At, "is ignored in a file of a project%s: only the user's own files can say it", but)
	return false
}

// extra keeps the keys that nothing else reads and warns of likely mistakes.
func (e *entry) extra(s *Server) {
	known := entryKeys()
	own := dialect.KnownKeys(e.dialect)
	hints, left := append(known, own...), 100 // a hint takes time: thousands of keys are no slips
	for i := range e.fields {
		f := &e.fields[i]
		unread := f.Key == "envFile" && e.opts.AsWritten // what the file holds is not written here
		if f.Value.Kind == jsonc.Null || !e.isForeign(f) && !unread && slices.Contains(known, f.Key) {
			continue
		}
		if s.Extra == nil {
			s.Extra = make(map[string]json.RawMessage)
		}
		s.Extra[f.Written] = f.Value.JSON()
		if left == 0 || unread || e.isForeign(f) || slices.Contains(own, f.Written) {
			continue
		}
		left--
		switch text := hint(f.Written, hints); {
		case text == "":
		case e.missing && slices.ContainsFunc([]string{"command", "url", "httpUrl", "serverUrl"}, func(key string) bool { return text == didYouMean(key) }):
			e.missing = false
			e.fail(f.Offset, f.At, "%s", text)
		default:
			e.warn(f.Offset, f.At, "%s", text)
		}
	}
	if e.missing {
		e.fail(e.offset, e.at, "has neither %[1]q nor %[2]q: add %[1]q for a local server or %[2]q for a remote one",
			e.word("command"), e.word("url"))
	}
}

// isForeign reports whether a field is known to be for others.
func (e *entry) isForeign(f *dialect.Field) bool { return f.Foreign || f.Key == "oauth" }
