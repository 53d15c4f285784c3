package ledger

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/canonjson"
	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
	"github.com/mcpbelt/mcpbelt/internal/plain"
)

const restoreCure = "restore it from version control, or remove the entry so that it is reviewed again"

// parseLedger reads a file.
func parseLedger(file string, data []byte) (*ledgerState, error) {
	p := &ledgerParser{file: file, data: bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n"))} // as git may write them
	if err := jsonscan.ValidHalves(p.data); err != nil {
		if line := conflictLine(p.data); line > 0 {
			return nil, &Error{file: file, line: line, err: errors.New("there are markers of a merge conflict: keep what both sides have added, decide where they disagree, and remove the lines with <<<<<<<, ======= and >>>>>>>")}
		}
		at := 0
		if bad := (*jsonscan.SyntaxError)(nil); errors.As(err, &bad) {
			at = bad.Offset
		}
		return nil, p.fail(at, "it is not sound JSON: %w; %s", err, restoreCure)
	}
	p.cursor = jsonscan.Walk(p.data)
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
	cursor       jsonscan.Cursor
	server, tool string // that is being read
}

// fail reports what is wrong with the value that begins at an offset.
func (p *ledgerParser) fail(at int, format string, args ...any) error {
	return &Error{
		file: p.file, line: 1 + bytes.Count(p.data[:min(at, len(p.data))], []byte("\n")),
		server: p.server, tool: p.tool, err: fmt.Errorf(format, args...),
	}
}

// members calls each for the members of the object at the cursor. Each reads the value at
// the cursor.
func (p *ledgerParser) members(what string, each func(key string, at int) error) error {
	if p.cursor.Kind() != '{' {
		return p.fail(p.cursor.Pos(), "%s must be an object; %s", what, restoreCure)
	}
	for key := range p.cursor.Members() {
		if err := each(string(key), p.cursor.Pos()); err != nil {
			return err
		}
	}
	return nil
}

// unknown reports a member that only a later version can have written.
func (p *ledgerParser) unknown(key string, at int) error {
	return p.fail(at, "%s is not known: update the program, or remove it if it was written by hand", plain.Quote(key))
}

func (p *ledgerParser) text(key string, at int) (string, error) {
	text, ok := jsonscan.String(p.cursor.Value())
	if !ok {
		return "", p.fail(at, "%s must be a string; %s", plain.Quote(key), restoreCure)
	}
	return text, nil
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
			return nil
		case "servers":
			s.servers = map[string]*ledgerServer{}
			return p.list(`"servers"`, func(name string) (err error) {
				p.server = name
				s.servers[name], err = p.readServer()
				p.server = ""
				return err
			})
		}
		return p.unknown(key, at)
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
func (p *ledgerParser) list(what string, each func(name string) error) error {
	return p.members(what, func(name string, at int) error {
		if name == "" {
			_, err := p.text("", at)
			return err
		}
		return each(name)
	})
}

func (p *ledgerParser) readServer() (*ledgerServer, error) {
	srv := &ledgerServer{tools: map[string]marks{}}
	start := p.cursor.Pos()
	err := p.members("a server", func(key string, at int) (err error) {
		switch key {
		case "mode":
			var mode string
			if mode, err = p.text(key, at); err == nil && !Mode(mode).known() {
				err = p.fail(at, "the mode %s is not known: it is trust, pin or review", plain.Quote(mode))
			}
			srv.mode = Mode(mode)
		case "quarantined":
			srv.quarantine, err = p.mark(false, true)
		case "quarantineEnded":
			srv.quarantine, err = p.mark(true, true)
		case instructionsKey:
			srv.tools[""], err = p.marks(`"instructions"`)
		case "tools":
			err = p.list(`"tools"`, func(name string) (err error) {
				p.tool = name
				srv.tools[name], err = p.marks("a tool")
				p.tool = ""
				return err
			})
		default:
			err = p.markOf(&srv.self, key, at, true)
		}
		return err
	})
	if err == nil && srv.mode == "" {
		err = p.fail(start, `"mode" is missing; %s`, restoreCure)
	}
	return srv, err
}

// marks reads what is known of a tool, or of the instructions of a server.
func (p *ledgerParser) marks(what string) (marks, error) {
	var m marks
	start := p.cursor.Pos()
	err := p.members(what, func(key string, at int) error { return p.markOf(&m, key, at, false) })
	if err == nil && m == (marks{}) {
		err = p.fail(start, "nothing is said of it; %s", restoreCure)
	}
	return m, err
}

// markOf reads the member of marks that key names: those of a server are about its fingerprint, all others about a surface.
func (p *ledgerParser) markOf(m *marks, key string, at int, ofServer bool) (err error) {
	switch key {
	case "approved":
		m.approved, err = p.mark(true, ofServer)
	case "rejected":
		m.rejected, err = p.mark(true, ofServer)
	case "pending":
		m.pending, err = p.mark(false, ofServer)
	default:
		err = p.unknown(key, at)
	}
	return err
}

// mark reads a mark of a fingerprint or of a surface.
func (p *ledgerParser) mark(decided, ofServer bool) (*mark, error) {
	m := &mark{}
	start := p.cursor.Pos()
	hashAt := start
	err := p.members("it", func(key string, at int) (err error) {
		switch {
		case key == "by":
			m.by, err = p.text(key, at)
		case key == "at" || key == "since":
			var text string
			if text, err = p.text(key, at); err != nil {
				return err
			}
			if m.at, err = time.Parse(time.RFC3339, text); err != nil {
				err = p.fail(at, "%s is not a time such as 2026-01-31T12:00:00Z; %s", plain.Quote(text), restoreCure)
			}
		case ofServer && key == "fingerprint":
			m.fingerprint, err = p.text(key, at)
			m.hash = fingerprintHash(m.fingerprint)
		case !ofServer && key == "hash":
			hashAt = at
			m.hash, err = p.text(key, at)
		case !ofServer && key == "surface":
			m.surface = canonjson.AppendChecked(nil, p.cursor.Value())
		default:
			err = p.unknown(key, at)
		}
		return err
	})
	name, _ := jsonscan.String(jsonscan.Member(m.surface, "name"))
	switch {
	case err != nil:
		return nil, err
	case decided && m.by == "":
		return nil, p.fail(start, `"by" is missing; %s`, restoreCure)
	case !decided && m.by != "":
		return nil, p.fail(start, `"by" stands with what is not decided; %s`, restoreCure)
	case m.at.IsZero():
		return nil, p.fail(start, `"at" or "since" is missing; %s`, restoreCure)
	case ofServer && m.fingerprint == "":
		return nil, p.fail(start, `"fingerprint" is missing; %s`, restoreCure)
	case ofServer:
		return m, nil
	case m.hash == "" || m.surface == nil:
		return nil, p.fail(start, `"hash" or "surface" is missing; %s`, restoreCure)
	case hashOf(m.surface) != m.hash:
		return nil, p.fail(hashAt, "the hash is not that of the surface: one of them was edited by hand; %s", restoreCure)
	case p.tool != "" && name != p.tool:
		return nil, p.fail(start, "the surface is that of another tool; %s", restoreCure)
	}
	return m, nil
}
