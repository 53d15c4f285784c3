package ledger

import (
	"bytes"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/canonjson"
)

// The file is JSON with one value per line and sorted names. Lists of servers and
// of tools end with a member that never changes: so a line is never touched because
// another one came behind it, and git merges what two branches have added.
const (
	ledgerVersion = 1
	listEnd       = `"": "end"`

	serverIndent  = "    "
	toolIndent    = serverIndent + "    "
	surfaceIndent = toolIndent + "    "
)

// render returns the file. Parts that were not edited stay as they were, byte for byte. It
// needs the turn.
func (s *ledgerState) render() []byte {
	size := 256
	for _, srv := range s.servers {
		size += srv.size()
	}
	w := ledgerWriter{out: make([]byte, 0, size)}
	w.open("")
	w.member("version", strconv.AppendInt(nil, ledgerVersion, 10))
	w.extras(s.extra)
	w.key("servers")
	w.list("  ", slices.Sorted(maps.Keys(s.servers)), func(name string) { w.server(s.servers[name]) })
	w.close()
	return append(w.out, '\n')
}

// size is about how long a server is in the file.
func (srv *ledgerServer) size() int {
	n := 1024 + len(srv.text)
	if srv.text == nil {
		if srv.instructions != nil {
			n += srv.instructions.size()
		}
		for name, t := range srv.tools {
			n += 64 + len(name) + t.size()
		}
	}
	return n
}

func (t *ledgerTool) size() int {
	n := len(t.text)
	if t.text == nil {
		for _, m := range []*ledgerMark{t.approved, t.rejected, t.pending} {
			if m != nil {
				n += 256 + len(m.surface)
			}
		}
	}
	return n
}

// A ledgerWriter writes objects of one member per line.
type ledgerWriter struct {
	out    []byte
	indent string
	some   []bool // of each open object: it has a member
}

func (w *ledgerWriter) open(indent string) {
	w.out = append(w.out, '{')
	w.indent = indent + "  "
	w.some = append(w.some, false)
}

func (w *ledgerWriter) close() {
	w.some = w.some[:len(w.some)-1]
	w.indent = w.indent[2:]
	w.out = append(w.out, '\n')
	w.out = append(w.out, w.indent...)
	w.out = append(w.out, '}')
}

// line begins a member.
func (w *ledgerWriter) line() {
	last := len(w.some) - 1
	if w.some[last] {
		w.out = append(w.out, ',')
	}
	w.some[last] = true
	w.out = append(w.out, '\n')
	w.out = append(w.out, w.indent...)
}

func (w *ledgerWriter) key(key string) {
	w.line()
	w.out = append(w.out, textJSON(key)...)
	w.out = append(w.out, ": "...)
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
func (w *ledgerWriter) list(indent string, names []string, value func(name string)) {
	w.open(indent)
	for _, name := range names {
		w.key(name)
		value(name)
	}
	w.line()
	w.out = append(w.out, listEnd...)
	w.close()
}

func (w *ledgerWriter) server(srv *ledgerServer) {
	if srv.text == nil {
		from := len(w.out)
		w.members(srv)
		srv.text = bytes.Clone(w.out[from:])
		return
	}
	w.out = append(w.out, srv.text...)
}

// members writes a server anew.
func (w *ledgerWriter) members(srv *ledgerServer) {
	w.open(serverIndent)
	w.member("mode", textJSON(string(srv.mode)))
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
	w.list(serverIndent+"  ", slices.Sorted(maps.Keys(srv.tools)), func(name string) { w.tool(srv.tools[name]) })
	w.close()
}

func (w *ledgerWriter) serverMark(key string, m *ledgerServerMark) {
	if m == nil {
		return
	}
	w.key(key)
	w.open(w.indent)
	w.member("fingerprint", textJSON(m.fingerprint))
	w.said(m.by, m.at)
	w.extras(m.extra)
	w.close()
}

// said writes who said it, and when; or since when it was seen.
func (w *ledgerWriter) said(by string, at time.Time) {
	stamp := textJSON(at.UTC().Format(time.RFC3339))
	if by == "" {
		w.member("since", stamp)
		return
	}
	w.member("by", textJSON(by))
	w.member("at", stamp)
}

func (w *ledgerWriter) tool(t *ledgerTool) {
	if t.text != nil {
		w.out = append(w.out, t.text...)
		return
	}
	w.open(w.indent)
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
	w.open(w.indent)
	w.member("hash", textJSON(m.hash))
	w.said(m.by, m.at)
	w.extras(m.extra)
	w.member("surface", m.surface)
	w.close()
}

// textJSON returns text as JSON, with all invisible characters escaped.
func textJSON(text string) []byte {
	return canonjson.AppendVisible(nil, canonjson.AppendString(nil, text))
}

// unixLines returns data with line feeds only: git may have put others there.
func unixLines(data []byte) []byte {
	if bytes.IndexByte(data, '\r') < 0 {
		return data
	}
	return bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n"))
}
