package ledger

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/canonjson"
)

// The file is JSON with sorted names. A small array or object stands on one line, of others
// each value does. Lists of servers and of tools end with a member that never changes: so a
// line is never touched because another one came behind it, and git merges what two branches
// have added.
const ledgerVersion = 1

// render returns the file.
func (s *ledgerState) render() []byte {
	var w ledgerWriter
	w.open()
	w.key("version")
	w.out = strconv.AppendInt(w.out, ledgerVersion, 10)
	w.key("servers")
	w.open()
	for _, name := range slices.Sorted(maps.Keys(s.servers)) {
		w.key(name)
		w.server(s.servers[name])
	}
	w.end()
	w.close()
	return append(w.out, '\n')
}

// A ledgerWriter writes objects of one member per line.
type ledgerWriter struct {
	out   []byte
	depth int  // tabs before a member
	some  bool // the object that is open has a member
}

func (w *ledgerWriter) open() {
	w.out = append(w.out, '{')
	w.depth++
	w.some = false
}

func (w *ledgerWriter) close() {
	w.depth--
	w.newLine()
	w.out = append(w.out, '}')
	w.some = true
}

// end writes what ends a list of names, and closes it.
func (w *ledgerWriter) end() {
	w.textMember("", "end")
	w.close()
}

func (w *ledgerWriter) newLine() {
	w.out = append(w.out, '\n')
	for range w.depth {
		w.out = append(w.out, '\t')
	}
}

// key begins a member.
func (w *ledgerWriter) key(key string) {
	if w.some {
		w.out = append(w.out, ',')
	}
	w.some = true
	w.newLine()
	w.text(key)
	w.out = append(w.out, ": "...)
}

// text writes text as JSON, with all invisible characters escaped.
func (w *ledgerWriter) text(text string) {
	w.out = canonjson.AppendVisible(w.out, canonjson.AppendString(nil, text))
}

func (w *ledgerWriter) textMember(key, text string) {
	w.key(key)
	w.text(text)
}

func (w *ledgerWriter) server(srv *ledgerServer) {
	w.open()
	w.textMember("mode", string(srv.mode))
	w.marks(srv.self)
	if q := srv.quarantine; q != nil && q.by == "" {
		w.mark("quarantined", q)
	} else {
		w.mark("quarantineEnded", q)
	}
	if m, known := srv.tools[""]; known {
		w.marksOf(instructionsKey, m)
	}
	w.key("tools")
	w.open()
	for _, name := range slices.Sorted(maps.Keys(srv.tools)) {
		if name != "" {
			w.marksOf(name, srv.tools[name])
		}
	}
	w.end()
	w.close()
}

// marksOf writes what is known of a tool, or of the instructions.
func (w *ledgerWriter) marksOf(key string, m marks) {
	w.key(key)
	w.open()
	w.marks(m)
	w.close()
}

func (w *ledgerWriter) marks(m marks) {
	w.mark("approved", m.approved)
	w.mark("rejected", m.rejected)
	w.mark("pending", m.pending)
}

func (w *ledgerWriter) mark(key string, m *mark) {
	if m == nil {
		return
	}
	w.key(key)
	w.open()
	if m.surface == nil {
		w.textMember("fingerprint", m.fingerprint)
	} else {
		w.textMember("hash", m.hash)
	}
	when := "since"
	if m.by != "" {
		w.textMember("by", m.by)
		when = "at"
	}
	w.textMember(when, m.at.UTC().Format(time.RFC3339))
	if m.surface != nil {
		w.key("surface")
		w.out = canonjson.AppendIndented(w.out, m.surface, strings.Repeat("\t", w.depth))
	}
	w.close()
}
