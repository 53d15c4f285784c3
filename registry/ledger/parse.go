package ledger

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/canonjson"
	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
	"github.com/mcpbelt/mcpbelt/internal/plain"
)

const restoreCure = "restore it from version control, or remove the entry so that it is reviewed again"

// parseLedger reads a file. Parts that are the same as in before are not parsed again, nor
// are servers that are not among only, unless that is empty.
func parseLedger(file string, data []byte, before *ledgerState, only ...string) (*ledgerState, error) {
	data = unixLines(data)
	p := &ledgerParser{file: file, data: data, before: before, only: only}
	if err := jsonscan.ValidHalves(data); err != nil {
		if line := conflictLine(data); line > 0 {
			return nil, &Error{File: file, Line: line, Err: errors.New("there are markers of a merge conflict: keep what both sides have added, decide where they disagree, and remove the lines with <<<<<<<, ======= and >>>>>>>")}
		}
		return nil, p.syntax(err)
	}
	p.cursor = jsonscan.Walk(data)
	return p.root()
}

// conflictLine returns the line on which git has put a marker, or 0. In JSON no
// line begins so.
func conflictLine(data []byte) int {
	for _, marker := range []string{"<<<<<<< ", "||||||| ", "=======\n", ">>>>>>> "} {
		if bytes.HasPrefix(data, []byte(marker)) {
			return 1
		}
		if at := bytes.Index(data, []byte("\n"+marker)); at >= 0 {
			return 2 + bytes.Count(data[:at], []byte("\n"))
		}
	}
	return 0
}

type ledgerParser struct {
	file         string
	data         []byte
	before       *ledgerState
	only         []string // the servers that are read; empty: all
	cursor       jsonscan.Cursor
	base         int    // where in data that begins which the cursor walks
	server, tool string // that is being read
	room         []byte // for canonical JSON, used again and again
}

// enter makes the cursor walk a value of its own that begins at an offset, and
// returns what makes it go on behind the value.
func (p *ledgerParser) enter(value []byte, at int) (leave func()) {
	behind, base := p.cursor, p.base
	p.cursor, p.base = jsonscan.Walk(value), base+at
	return func() { p.cursor, p.base = behind, base }
}

// fail reports what is wrong with the value that begins at an offset.
func (p *ledgerParser) fail(at int, format string, args ...any) error {
	at += p.base
	return &Error{
		File: p.file, Line: 1 + bytes.Count(p.data[:min(at, len(p.data))], []byte("\n")),
		Server: p.server, Tool: p.tool, Err: fmt.Errorf(format, args...),
	}
}

// syntax reports a file that is no JSON. Server and tool are those of the lines
// before, as the ledger indents them.
func (p *ledgerParser) syntax(err error) error {
	at := 0
	var bad *jsonscan.SyntaxError
	if errors.As(err, &bad) {
		at = min(bad.Offset, len(p.data))
	}
	lines := p.data[:at]
	if end := bytes.IndexByte(p.data[at:], '\n'); end >= 0 {
		lines = p.data[:at+end]
	}
	for p.server == "" && len(lines) > 0 {
		start := bytes.LastIndexByte(lines, '\n') + 1
		line := string(lines[start:])
		lines = lines[:max(0, start-1)]
		if strings.HasPrefix(line, "}") || strings.HasPrefix(line, "  }") {
			break // of no server
		}
		key, isServer := nameAt(line, serverIndent)
		if isServer {
			p.server = key
		} else if key, isTool := nameAt(line, toolIndent); isTool && p.tool == "" {
			p.tool = key
		}
	}
	return p.fail(at, "it is not sound JSON: %w; %s", err, restoreCure)
}

// nameAt returns the key on a line, if the line is indented so.
func nameAt(line, indent string) (string, bool) {
	rest, ok := strings.CutPrefix(line, indent+`"`)
	if !ok {
		return "", false
	}
	quoted, err := strconv.QuotedPrefix(`"` + rest)
	if err != nil {
		return "", false
	}
	key, err := strconv.Unquote(quoted)
	return key, err == nil
}

// members calls each for the members of the object at the cursor. Each reads the
// value at the cursor, or leaves it to be passed over.
func (p *ledgerParser) members(what string, each func(key string, at int) error) error {
	at := p.cursor.Pos()
	if p.cursor.Kind() != '{' {
		return p.fail(at, "%s must be an object; %s", what, restoreCure)
	}
	for key := range p.cursor.Members() {
		if err := each(string(key), p.cursor.Pos()); err != nil {
			return err
		}
	}
	return nil
}

func (p *ledgerParser) text(key string, at int) (string, error) {
	text, ok := jsonscan.String(p.cursor.Value())
	if !ok {
		return "", p.fail(at, "%s must be a string; %s", plain.Quote(key), restoreCure)
	}
	return text, nil
}

func (p *ledgerParser) extra(key string) ledgerExtra {
	return ledgerExtra{key, bytes.Clone(p.cursor.Value())}
}

func (p *ledgerParser) root() (*ledgerState, error) {
	s := &ledgerState{}
	version := false
	err := p.members("the file", func(key string, at int) error {
		switch key {
		case "version":
			version = true
			if got := p.cursor.Value(); string(got) != strconv.Itoa(ledgerVersion) {
				return p.fail(at, "version %s is not known, only %d is: update the program, or remove the file to begin again", plain.Quote(string(got)), ledgerVersion)
			}
		case "servers":
			return p.servers(s)
		default:
			s.extra = append(s.extra, p.extra(key))
		}
		return nil
	})
	switch {
	case err != nil:
		return nil, err
	case !version || s.servers == nil:
		return nil, p.fail(0, `"version" or "servers" is missing: this is not a ledger; %s`, "use another path, or restore the file from version control")
	}
	return s, nil
}

// list reads an object of names. The empty name ends it.
func (p *ledgerParser) list(what string, each func(name string, at int) error) error {
	return p.members(what, func(name string, at int) error {
		if name == "" {
			_, err := p.text("", at)
			return err
		}
		return each(name, at)
	})
}

// isFor reports whether a ledger that is for some servers, or for all, is for this one.
func isFor(only []string, server string) bool {
	return len(only) == 0 || slices.Contains(only, server)
}

func (p *ledgerParser) servers(s *ledgerState) error {
	s.servers, s.others = map[string]*ledgerServer{}, map[string]*ledgerServer{}
	return p.list(`"servers"`, func(name string, at int) error {
		p.server = name
		defer func() { p.server = "" }()
		var before *ledgerServer
		if p.before != nil {
			before = p.before.servers[name]
		}
		text := p.cursor.Value()
		if !isFor(p.only, name) {
			s.others[name] = &ledgerServer{text: text}
			return nil
		}
		if before != nil && before.text != nil && bytes.Equal(before.text, text) {
			s.servers[name] = before
			return nil
		}
		// It is kept for longer than the rest of the file, which would stay with it.
		text = bytes.Clone(text)
		defer p.enter(text, at)()
		srv, err := p.readServer()
		if err != nil {
			return err
		}
		srv.text = text
		s.servers[name] = srv
		return nil
	})
}

func (p *ledgerParser) readServer() (*ledgerServer, error) {
	srv := &ledgerServer{tools: map[string]*ledgerTool{}}
	start := p.cursor.Pos()
	err := p.members("a server", func(key string, at int) (err error) {
		switch key {
		case "mode":
			var mode string
			if mode, err = p.text(key, at); err == nil && !Mode(mode).known() {
				err = p.fail(at, "the mode %s is not known: it is trust, pin or review", plain.Quote(mode))
			}
			srv.mode = Mode(mode)
		case "approved":
			srv.approved, err = p.serverMark(true)
		case "rejected":
			srv.rejected, err = p.serverMark(true)
		case "pending":
			srv.pending, err = p.serverMark(false)
		case instructionsKey:
			srv.instructions, err = p.marks(p.cursor.Value(), at)
		case "quarantined":
			srv.quarantine, err = p.serverMark(false)
		case "quarantineEnded":
			srv.quarantine, err = p.serverMark(true)
		case "tools":
			err = p.list(`"tools"`, func(name string, at int) error { return p.toolOf(srv, name, at) })
		default:
			srv.extra = append(srv.extra, p.extra(key))
		}
		return err
	})
	if err == nil && srv.mode == "" {
		err = p.fail(start, `"mode" is missing; %s`, restoreCure)
	}
	return srv, err
}

func (p *ledgerParser) toolOf(srv *ledgerServer, name string, at int) (err error) {
	p.tool = name
	defer func() { p.tool = "" }()
	srv.tools[name], err = p.marks(p.cursor.Value(), at)
	return err
}

// marks reads what is known of a tool, or of the instructions of a server.
func (p *ledgerParser) marks(text []byte, at int) (*ledgerTool, error) {
	defer p.enter(text, at)()
	what, it := "a tool", "the tool"
	if p.tool == "" {
		what, it = `"instructions"`, "the instructions"
	}
	t := &ledgerTool{text: text}
	err := p.members(what, func(key string, _ int) (err error) {
		switch key {
		case "approved":
			t.approved, err = p.mark(true)
		case "rejected":
			t.rejected, err = p.mark(true)
		case "pending":
			t.pending, err = p.mark(false)
		default:
			t.extra = append(t.extra, p.extra(key))
		}
		return err
	})
	if err == nil && t.approved == nil && t.rejected == nil && t.pending == nil && t.extra == nil {
		err = p.fail(0, "nothing is said of %s; %s", it, restoreCure)
	}
	return t, err
}

// said reads who said it, and when; false if key is something else.
func (p *ledgerParser) said(key string, offset int, by *string, at *time.Time) (bool, error) {
	switch key {
	case "by", "at", "since":
	default:
		return false, nil
	}
	text, err := p.text(key, offset)
	if err != nil || key == "by" {
		*by = text
		return true, err
	}
	if *at, err = time.Parse(time.RFC3339, text); err != nil {
		err = p.fail(offset, "%s is not a time such as 2026-01-31T12:00:00Z; %s", plain.Quote(text), restoreCure)
	}
	return true, err
}

func (p *ledgerParser) serverMark(decided bool) (*ledgerServerMark, error) {
	m := &ledgerServerMark{}
	start := p.cursor.Pos()
	err := p.members("it", func(key string, at int) error {
		if said, err := p.said(key, at, &m.by, &m.at); said {
			return err
		}
		var err error
		switch key {
		case "fingerprint":
			m.fingerprint, err = p.text(key, at)
		default:
			m.extra = append(m.extra, p.extra(key))
		}
		return err
	})
	if err == nil && m.fingerprint == "" {
		err = p.fail(start, `"fingerprint" is missing; %s`, restoreCure)
	}
	if err == nil {
		err = p.checkSaid(start, decided, m.by, m.at)
	}
	return m, err
}

func (p *ledgerParser) mark(decided bool) (*ledgerMark, error) {
	m := &ledgerMark{}
	start := p.cursor.Pos()
	hashAt := start
	err := p.members("it", func(key string, at int) error {
		if said, err := p.said(key, at, &m.by, &m.at); said {
			return err
		}
		var err error
		switch key {
		case "hash":
			hashAt = at
			m.hash, err = p.text(key, at)
		case "surface":
			m.surface = p.cursor.Value()
		default:
			m.extra = append(m.extra, p.extra(key))
		}
		return err
	})
	if err == nil {
		err = p.checkSaid(start, decided, m.by, m.at)
	}
	if err != nil {
		return nil, err
	}
	return m, p.checkMark(m, start, hashAt)
}

// checkSaid checks that "by" and the time of the decision are there, or the time when it
// was seen.
func (p *ledgerParser) checkSaid(start int, decided bool, by string, at time.Time) error {
	switch {
	case decided && by == "":
		return p.fail(start, `"by" is missing; %s`, restoreCure)
	case !decided && by != "":
		return p.fail(start, `"by" stands with what is not decided; %s`, restoreCure)
	case at.IsZero():
		return p.fail(start, `"at" or "since" is missing; %s`, restoreCure)
	}
	return nil
}

// checkMark refuses a surface that was edited by hand, or copied from another tool.
func (p *ledgerParser) checkMark(m *ledgerMark, start, hashAt int) error {
	if m.hash == "" || m.surface == nil {
		return p.fail(start, `"hash" or "surface" is missing; %s`, restoreCure)
	}
	canonical := canonjson.AppendChecked(p.room[:0], m.surface)
	p.room = canonical
	if hashOf(canonical) != m.hash {
		return p.fail(hashAt, "the hash is not that of the surface: one of them was edited by hand; %s", restoreCure)
	}
	if p.tool == "" {
		return nil // of instructions
	}
	for key, value := range jsonscan.Fields(canonical) {
		if string(key) != "name" {
			continue
		}
		if name, _ := jsonscan.String(value); name == p.tool {
			return nil
		}
	}
	return p.fail(start, "the surface is that of another tool; %s", restoreCure)
}
