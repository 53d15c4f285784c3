package ledger

import (
	"bytes"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/canonjson"
)

// The file is JSON with sorted names. A small array or object stands on one line, of others
// each value does. Lists of servers and of tools end with a member that never changes: so a
// line is never touched because another one came behind it, and git merges what two branches
// have added.
const (
	ledgerVersion = 1
	listEnd       = `"": "end"`

	serverIndent  = "\t\t"
	toolIndent    = serverIndent + "\t\t"
	surfaceIndent = toolIndent + "\t\t"
)

// render returns the file. Parts that were not edited stay as they were, byte for byte.
func (s *ledgerState) render() []byte {
	all := s.servers
	if len(s.others) > 0 {
		all = maps.Clone(s.others)
		maps.Copy(all, s.servers)
	}
	size := 256
	for name, srv := range all {
		size += 64 + len(name) + len(srv.text)
	}
	w := ledgerWriter{out: make([]byte, 0, size)}
	w.open()
	w.member("version", strconv.AppendInt(nil, ledgerVersion, 10))
	w.extras(s.extra)
	w.key("servers")
	w.list(slices.Sorted(maps.Keys(all)), func(name string) { w.server(all[name]) })
	w.close()
	return append(w.out, '\n')
}

// seal renders the servers that the edit has made, so that each stands in memory once, as it
// stands in the file: the texts of its tools, and their surfaces, are parts of its text.
func (e *ledgerEdit) seal() {
	var w ledgerWriter
	for srv := range e.own {
		w.out, w.depth, w.spans = w.out[:0], len(serverIndent), w.spans[:0]
		w.server(srv)
		srv.text = bytes.Clone(w.out)
		for _, s := range w.spans {
			text := srv.text[s.from:s.to]
			if s.tool == "" {
				srv.instructions = srv.instructions.in(text)
			} else {
				srv.tools[s.tool] = srv.tools[s.tool].in(text)
			}
		}
	}
}

// in returns the tool with a text that it was rendered to.
func (t *ledgerTool) in(text []byte) *ledgerTool {
	c := t.with(t.approved.in(text), t.rejected.in(text), t.pending.in(text))
	c.text = text
	c.change.Store(t.change.Load())
	return c
}

func (m *ledgerMark) in(text []byte) *ledgerMark {
	if m == nil {
		return nil
	}
	c := *m
	at := bytes.Index(text, m.surface)
	c.surface = text[at : at+len(m.surface)]
	return &c
}

// A toolSpan is where a tool, or with an empty name the instructions, was written.
type toolSpan struct {
	tool     string
	from, to int
}

// A ledgerWriter writes objects of one member per line.
type ledgerWriter struct {
	out   []byte
	depth int        // tabs before a member
	some  []bool     // of each open object: it has a member
	spans []toolSpan // of all tools that were written
}

func (w *ledgerWriter) open() {
	w.out = append(w.out, '{')
	w.depth++
	w.some = append(w.some, false)
}

func (w *ledgerWriter) close() {
	w.some = w.some[:len(w.some)-1]
	w.depth--
	w.newLine()
	w.out = append(w.out, '}')
}

func (w *ledgerWriter) newLine() {
	w.out = append(w.out, '\n')
	for range w.depth {
		w.out = append(w.out, '\t')
	}
}

// line begins a member.
func (w *ledgerWriter) line() {
	last := len(w.some) - 1
	if w.some[last] {
		w.out = append(w.out, ',')
	}
	w.some[last] = true
	w.newLine()
}

func (w *ledgerWriter) key(key string) {
	w.line()
	w.text(key)
	w.out = append(w.out, ": "...)
}

// text writes text as JSON, with all invisible characters escaped.
func (w *ledgerWriter) text(text string) {
	from := len(w.out)
	w.out = canonjson.AppendString(w.out, text)
	if slices.ContainsFunc(w.out[from:], func(c byte) bool { return c >= 0x7f }) {
		w.out = canonjson.AppendVisible(w.out[:from], bytes.Clone(w.out[from:]))
	}
}

func (w *ledgerWriter) textMember(key, text string) {
	w.key(key)
	w.text(text)
}

func (w *ledgerWriter) member(key string, value []byte) {
	w.key(key)
	w.out = append(w.out, value...)
}

func (w *ledgerWriter) extras(extras []ledgerExtra) {
	for _, x := range extras {
		w.member(x.key, x.value)
	}
}

// list writes an object of names, and what ends it.
func (w *ledgerWriter) list(names []string, value func(name string)) {
	w.open()
	for _, name := range names {
		w.key(name)
		value(name)
	}
	w.line()
	w.out = append(w.out, listEnd...)
	w.close()
}

func (w *ledgerWriter) server(srv *ledgerServer) {
	if srv.text != nil {
		w.out = append(w.out, srv.text...)
		return
	}
	w.open()
	w.textMember("mode", string(srv.mode))
	w.serverMark("approved", srv.approved)
	w.serverMark("rejected", srv.rejected)
	w.serverMark("pending", srv.pending)
	if q := srv.quarantine; q != nil && q.by == "" {
		w.serverMark("quarantined", q)
	} else {
		w.serverMark("quarantineEnded", q)
	}
	if srv.instructions != nil {
		w.key(instructionsKey)
		w.tool("", srv.instructions)
	}
	w.extras(srv.extra)
	w.key("tools")
	w.list(slices.Sorted(maps.Keys(srv.tools)), func(name string) { w.tool(name, srv.tools[name]) })
	w.close()
}

func (w *ledgerWriter) serverMark(key string, m *ledgerServerMark) {
	if m == nil {
		return
	}
	w.key(key)
	w.open()
	w.textMember("fingerprint", m.fingerprint)
	w.said(m.by, m.at)
	w.extras(m.extra)
	w.close()
}

// said writes who said it, and when; or since when it was seen.
func (w *ledgerWriter) said(by string, at time.Time) {
	when := "since"
	if by != "" {
		w.textMember("by", by)
		when = "at"
	}
	w.key(when)
	w.out = append(w.out, '"')
	w.out = at.UTC().AppendFormat(w.out, time.RFC3339)
	w.out = append(w.out, '"')
}

func (w *ledgerWriter) tool(name string, t *ledgerTool) {
	from := len(w.out)
	if t.text != nil {
		w.out = append(w.out, t.text...)
	} else {
		w.open()
		w.mark("approved", t.approved)
		w.mark("rejected", t.rejected)
		w.mark("pending", t.pending)
		w.extras(t.extra)
		w.close()
	}
	w.spans = append(w.spans, toolSpan{name, from, len(w.out)})
}

func (w *ledgerWriter) mark(key string, m *ledgerMark) {
	if m == nil {
		return
	}
	w.key(key)
	w.open()
	w.textMember("hash", m.hash)
	w.said(m.by, m.at)
	w.extras(m.extra)
	w.member("surface", m.surface)
	w.close()
}

// unixLines returns data with line feeds only: git may have put others there.
func unixLines(data []byte) []byte {
	if bytes.IndexByte(data, '\r') < 0 {
		return data
	}
	return bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n"))
}
