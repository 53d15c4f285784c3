package cassette

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpbelt/mcpbelt/internal/jsonc"
	"github.com/mcpbelt/mcpbelt/mcp"
)

// An Error reports a file that cannot be replayed.
type Error struct {
	File   string // as given to [Replay]
	Line   int    // counted from 1; zero if the whole file is meant
	Column int    // in bytes, counted from 1; zero if the whole file is meant
	Path   string // of the value, such as "connections[0].turns[3].params"; may be empty
	Err    error  // what is wrong
}

func (e *Error) Error() string {
	where := e.File
	if e.Line > 0 {
		where = fmt.Sprintf("%s:%d:%d", e.File, e.Line, e.Column)
	}
	if e.Path != "" {
		where += ": " + e.Path
	}
	return fmt.Sprintf("cassette: %s: %v", where, e.Err)
}

func (e *Error) Unwrap() error { return e.Err }

// readFile reads a file. The error, if any, is an [*Error].
func readFile(file string) (*recording, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, &Error{File: file, Err: err}
	}
	return parse(file, data)
}

func parse(file string, data []byte) (*recording, error) {
	doc, err := jsonc.Parse(data)
	var syntax *jsonc.SyntaxError
	if errors.As(err, &syntax) {
		return nil, &Error{file, syntax.Line, syntax.Column, string(syntax.Path), errors.New(syntax.Message)}
	}
	if err != nil {
		return nil, &Error{File: file, Err: err}
	}
	p := &parser{file: file, doc: doc}
	c := p.recording(place{node: &doc.Root})
	if p.err != nil {
		return nil, p.err
	}
	return c, nil
}

// A parser turns a document into a recording, and keeps the first error.
type parser struct {
	file string
	doc  *jsonc.Document
	err  error
}

// A place is a value of the document.
type place struct {
	node *jsonc.Node
	path jsonc.Path
}

func (p *parser) fail(at place, format string, args ...any) {
	if p.err == nil {
		where := p.doc.Position(at.node.Offset)
		p.err = &Error{p.file, where.Line, where.Column, string(at.path), fmt.Errorf(format, args...)}
	}
}

// object checks that a value is an object with no other than the known keys.
func (p *parser) object(at place, known ...string) bool {
	if at.node.Kind != jsonc.Object {
		p.fail(at, "must be an object, not %v", at.node.Kind)
		return false
	}
	for i := range at.node.Members {
		m := &at.node.Members[i]
		if !slices.Contains(known, m.Key) {
			p.fail(place{&m.Value, at.path.Key(m.Key)}, "unknown key; known are %s", strings.Join(known, ", "))
			return false
		}
	}
	return true
}

// member returns a member of an object, if it has it.
func (p *parser) member(at place, key string) (place, bool) {
	m := at.node.Member(key)
	if m == nil {
		return place{}, false
	}
	return place{&m.Value, at.path.Key(key)}, true
}

// elements calls f with the elements of a list, if there is one.
func (p *parser) elements(at place, key string, f func(place)) {
	list, ok := p.member(at, key)
	if !ok {
		return
	}
	if list.node.Kind != jsonc.Array {
		p.fail(list, "must be an array, not %v", list.node.Kind)
		return
	}
	for i := range list.node.Elems {
		f(place{&list.node.Elems[i], list.path.Index(i)})
	}
}

// text returns a member that is a string, or nothing if there is none.
func (p *parser) text(at place, key string) string {
	m, ok := p.member(at, key)
	if ok && m.node.Kind != jsonc.String {
		p.fail(m, "must be a string, not %v", m.node.Kind)
	}
	if !ok {
		return ""
	}
	return m.node.Text
}

func (p *parser) raw(at place, key string) json.RawMessage {
	m, ok := p.member(at, key)
	if !ok {
		return nil
	}
	return m.node.JSON()
}

// one fails unless at most one of the keys is there, or exactly one if it must.
func (p *parser) one(at place, must bool, keys ...string) string {
	found := ""
	for _, key := range keys {
		m, ok := p.member(at, key)
		if ok && found != "" {
			p.fail(m, "stands beside %q; only one of %s may be there", found, strings.Join(keys, ", "))
		}
		if ok {
			found = key
		}
	}
	if must && found == "" {
		p.fail(at, "needs one of the keys %s", strings.Join(keys, ", "))
	}
	return found
}

func (p *parser) recording(at place) *recording {
	c := &recording{}
	if at.node.Kind == jsonc.Object {
		p.version(at) // before keys that only another version knows
	}
	if p.err != nil || !p.object(at, "version", "connections") {
		return c
	}
	p.elements(at, "connections", func(at place) { c.tracks = append(c.tracks, p.track(at)) })
	return c
}

func (p *parser) version(at place) {
	m, ok := p.member(at, "version")
	switch {
	case !ok:
		p.fail(at, "has no version: this is not a recording")
	case m.node.Kind != jsonc.Number || m.node.Text != strconv.Itoa(version):
		p.fail(m, "is not %d, the only version that can be read: record the file again", version)
	}
}

func (p *parser) track(at place) *track {
	t := &track{}
	if !p.object(at, "refused", "opening", "turns") {
		return t
	}
	t.refused = p.failure(at, "refused")
	t.opening = p.asides(at, "opening")
	p.elements(at, "turns", func(at place) { t.turns = append(t.turns, p.turn(at)) })
	return t
}

func (p *parser) turn(at place) *turn {
	t := &turn{}
	if !p.object(at, asideAsk, asideNote, "params", "during", "result", "error", "failure", "after") {
		return t
	}
	kind := p.one(at, true, asideAsk, asideNote)
	t.request = kind == asideAsk
	t.method = p.text(at, kind)
	t.params = p.raw(at, "params")
	t.during = p.asides(at, "during")
	t.after = p.asides(at, "after")
	t.failure = p.failure(at, "failure")
	ending := p.one(at, false, "result", "error", "failure")
	if ending != "" && !t.request {
		p.fail(at, "is a notification, which has no %s", ending)
	}
	t.result = p.raw(at, "result")
	t.refusal = p.refusal(at)
	return t
}

func (p *parser) asides(at place, key string) (all []*aside) {
	p.elements(at, key, func(at place) {
		if !p.object(at, asideProgress, asideNote, asideAsk, asideEnd, "params", "result", "error") {
			return
		}
		a := &aside{kind: p.one(at, true, asideProgress, asideNote, asideAsk, asideEnd)}
		switch a.kind {
		case asideProgress:
			a.params = p.raw(at, asideProgress)
		case asideEnd:
			a.reason = p.text(at, asideEnd)
		default:
			a.method = p.text(at, a.kind)
			a.params = p.raw(at, "params")
		}
		p.one(at, false, "result", "error")
		if a.kind == asideAsk {
			a.result, a.refusal = p.raw(at, "result"), p.refusal(at)
		}
		all = append(all, a)
	})
	return all
}

// refusal returns the member "error", a JSON-RPC error.
func (p *parser) refusal(at place) json.RawMessage {
	m, ok := p.member(at, "error")
	if !ok {
		return nil
	}
	raw := m.node.JSON()
	var refused mcp.JSONRPCError
	if err := json.Unmarshal(raw, &refused); m.node.Kind != jsonc.Object || err != nil {
		p.fail(m, "must be a JSON-RPC error with code and message")
	}
	return raw
}

func (p *parser) failure(at place, key string) *failure {
	m, ok := p.member(at, key)
	if !ok || !p.object(m, "outcome", "kind", "path", "message", "limit") {
		return nil
	}
	f := &failure{
		outcome: p.text(m, "outcome"),
		kind:    p.text(m, "kind"),
		path:    p.text(m, "path"),
		message: p.text(m, "message"),
	}
	known := []string{mcp.Unknown.String(), mcp.NotSent.String(), mcp.Answered.String()}
	if !slices.Contains(known, f.outcome) {
		p.fail(m, "outcome must be one of %s", strings.Join(known, ", "))
	}
	kinds := []string{"", failureProtocol, failureLimit, failureSession}
	if !slices.Contains(kinds, f.kind) {
		p.fail(m, "kind must be one of %s", strings.Join(kinds[1:], ", "))
	}
	if limit, ok := p.member(m, "limit"); ok {
		n, err := strconv.ParseInt(limit.node.Text, 10, 64)
		if limit.node.Kind != jsonc.Number || err != nil {
			p.fail(limit, "must be an integer")
		}
		f.limit = n
	}
	return f
}
