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

// render returns the file. Parts that were not edited stay as they were, byte for byte. It
// needs the turn.
func (s *ledgerState) render() []byte {
	size := 256
	for name, srv := range s.servers {
		size += 256 + len(name) + srv.size()
	}
	w := ledgerWriter{out: make([]byte, 0, size)}
	w.open()
	w.member("version", strconv.AppendInt(nil, ledgerVersion, 10))
	w.extras(s.extra)
	w.key("servers")
	w.list(slices.Sorted(maps.Keys(s.servers)), func(name string) { w.server(s.servers[name]) })
	w.close()
	return append(w.out, '\n')
}

// size is about how long a server is in the file.
func (srv *ledgerServer) size() int {
	if srv.text != nil {
		return len(srv.text)
	}
	n := 1024 + len(srv.head)
	if srv.instructions != nil {
		n += srv.instructions.size()
	}
	for name, t := range srv.tools {
		n += 64 + len(name) + t.size()
	}
	return n
}

func (t *ledgerTool) size() int {
	n := len(t.text)
	if t.text == nil {
		for _, m := range t.marks() {
			if m != nil {
				n += 256 + len(m.surface)
			}
		}
	}
	return n
}

// seal renders the tools that the edit has made, so that each stands in memory once, as it
// stands in the file.
func (e *ledgerEdit) seal() {
	var w ledgerWriter
	for srv := range e.own {
		for name, t := range srv.tools {
			if t.text == nil {
				srv.tools[name] = w.sealed(t)
			}
		}
	}
}

// sealed returns a tool of a list with its text, of which the surfaces of its marks are parts.
func (w *ledgerWriter) sealed(t *ledgerTool) *ledgerTool {
	w.out, w.depth, w.ends = w.out[:0], len(toolIndent), w.ends[:0]
	w.tool(t)
	sealed := t.with(t.approved, t.rejected, t.pending)
	sealed.text = bytes.Clone(w.out)
	sealed.change.Store(t.change.Load())
	for _, mark := range []**ledgerMark{&sealed.approved, &sealed.rejected, &sealed.pending} {
		if m := *mark; m != nil {
			own := *m
			own.surface = sealed.text[w.ends[0]-len(m.surface) : w.ends[0]]
			*mark, w.ends = &own, w.ends[1:]
		}
	}
	return sealed
}

// A ledgerWriter writes objects of one member per line.
type ledgerWriter struct {
	out   []byte
	depth int    // tabs before a member
	some  []bool // of each open object: it has a member
	ends  []int  // where in out surfaces end
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
	if from := len(w.out); srv.head == nil {
		w.members(srv)
		srv.head, srv.names = bytes.Clone(w.out[from:]), slices.Sorted(maps.Keys(srv.tools))
	} else {
		w.out = append(w.out, srv.head...)
	}
	w.list(srv.names, func(name string) { w.tool(srv.tools[name]) })
	w.close()
}

// members writes the members of a server, and of its tools the key.
func (w *ledgerWriter) members(srv *ledgerServer) {
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
		w.tool(srv.instructions)
	}
	w.extras(srv.extra)
	w.key("tools")
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

func (w *ledgerWriter) tool(t *ledgerTool) {
	if t.text != nil {
		w.out = append(w.out, t.text...)
		return
	}
	w.open()
	w.mark("approved", t.approved)
	w.mark("rejected", t.rejected)
	w.mark("pending", t.pending)
	w.extras(t.extra)
	w.close()
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
	w.ends = append(w.ends, len(w.out))
	w.close()
}

// unixLines returns data with line feeds only: git may have put others there.
func unixLines(data []byte) []byte {
	if bytes.IndexByte(data, '\r') < 0 {
		return data
	}
	return bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n"))
}
