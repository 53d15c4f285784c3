package config

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/mcpbelt/mcpbelt/internal/dialect"
	"github.com/mcpbelt/mcpbelt/internal/jsonc"
)

// A Config is one file that lists servers.
type Config struct {
	Path    string    // as given to [Load] or [Parse]
	Format  string    // the name of its [Format]
	Servers []*Server // in file order; no two have the same Name

	// Shadowed are the entries that do not count because a stronger one has their
	// name, in file order: see [Merge], and sections of one file for single projects.
	Shadowed []Shadow

	// Skipped are the entries that are no MCP servers, in file order.
	Skipped []Skipped

	// inputs are what the user is asked for before a server starts, in file order:
	// ${input:id} stands for the answer. Only some formats have them.
	inputs []Input

	// Warnings are things that are allowed but look like mistakes, in file
	// order, at most 100 and one that says that there are more. They put no server out
	// of use.
	Warnings []*Error
}

// A Skipped is an entry that is no MCP server but a part of the file's program, such as
// a built-in extension of Goose. It takes no name from a server.
type Skipped struct {
	Title  string // the name as written
	Source Source // where it stands
	Reason string // why it is none
}

// Options are settings of [Load] and [Parse].
type Options struct {
	// Lookup returns the value of an environment variable and whether it is
	// set. Default: [os.LookupEnv].
	Lookup func(name string) (value string, ok bool)

	// File returns why ${file:path} must not read the file at an absolute path, such as one with a key of
	// the program. Default: it may read all.
	File func(path string) error

	// Format is the name of the file's [Format]. Default: told from the file's name,
	// the place where it lies and its content; if they leave a doubt, that is an error.
	Format string

	// Formats are read besides those of this package, such as codex.Format() of the
	// package host/config/codex.
	Formats []*Format

	// Transports are words for transports of the program's own, such as "frame". An entry may have
	// one as its type, or as the scheme of its url, which is not looked at further; it is then
	// its [Server].Transport, and Transport of host.Options makes it. Default: none.
	Transports []string

	// Project is the folder of the project that the servers are for: ${workspaceFolder}
	// is it, and of a file with sections for single projects its own is read. Default:
	// the folder of the file, or the one around it if that is .vscode or the like; of a
	// file of ScopeUser none.
	Project string

	// Input asks the user what ${input:id} stands for. It is asked once for each input
	// of a file, when an enabled server needs it and Secrets remembers no answer, or for
	// a server that needs approval when [Server.Answered] is called, and
	// must end with its context. The form that shows the question hides what is typed if it is a
	// Password; what is asked comes from the file, and so may not be true. Default:
	// no user is asked, and a server that needs an answer cannot be used.
	Input func(context.Context, Input) (Secret, error)

	// Secrets answers ${keyring:name} and remembers the answers to inputs. It is read
	// for enabled servers only. Default: no secrets, and nothing is remembered.
	Secrets SecretStore

	// AsWritten leaves references in values as they are, and neither asks the user nor
	// looks up secrets. Default: they are replaced.
	AsWritten bool

	// usual is the format that files of the place have, if the content does not say
	// otherwise. Empty: as the path says.
	usual string

	// Only is the Title of the one entry for which the user and Secrets are asked; the
	// others cannot be used if they need that. Default: all.
	Only string

	// Scope is whose file it is. Default: for a file with the name of a project's file,
	// such as .mcp.json, .vscode/mcp.json or .mcprc (all that [Find] looks for in a
	// project), the scope of that, unless it is the user's own file of the name; for any
	// other ScopeProgram, which needs no approval.
	Scope Scope
}

// Load reads the file at path, of at most 16 MiB. The error, if any, is an
// [*Error]; if there is no such file, it wraps [fs.ErrNotExist]. A nil opts
// means the defaults.
//
// When ctx ends, Load waits no longer for the user who is asked and the keyring: the
// servers that need these have errors that wrap its error.
func Load(ctx context.Context, path string, opts *Options) (*Config, error) {
	o := opts.orDefaults(path)
	// A file that the program names may be a pipe. What only lies in a usual place may be
	// there to block what opens it.
	data, err := read(path, o.Scope != ScopeProgram, jsonc.MaxSize)
	if err != nil {
		return nil, &Error{File: path, Err: fmt.Errorf("cannot read the config file: %w", err)}
	}
	return parse(ctx, path, data, o)
}

var errNotRegular = errors.New("it is not a regular file")

// read returns the content of a file, a regular one if so wanted, cut one byte above a limit.
// Its error does not have the path.
func read(path string, regular bool, limit int64) (data []byte, err error) {
	info, err := os.Stat(path)
	if err == nil && regular && !info.Mode().IsRegular() {
		err = errNotRegular // such as a pipe, which could block
	}
	var f *os.File
	if err == nil {
		f, err = os.Open(path)
	}
	if err == nil {
		defer f.Close()
		data, err = io.ReadAll(io.LimitReader(f, limit+1))
	}
	if pathErr, ok := errors.AsType[*fs.PathError](err); ok {
		err = pathErr.Err
	}
	return data, err
}

// orDefaults returns the options with their defaults for a file.
func (o *Options) orDefaults(file string) *Options {
	full := *cmp.Or(o, new(Options))
	full.Scope = cmp.Or(full.Scope, scopeOfFile(file))
	if full.Lookup == nil {
		full.Lookup = os.LookupEnv
	}
	return &full
}

// Parse reads data as the content of the file filename, which is used in
// errors and whose folder is where relative paths start; the file itself is
// not opened. Parse may keep parts of data. The error, if any, is an [*Error]
// and concerns the whole file; entries have their own, see [Server.Err]. A nil opts
// means the defaults. The context is as for [Load].
func Parse(ctx context.Context, filename string, data []byte, opts *Options) (*Config, error) {
	return parse(ctx, filename, data, opts.orDefaults(filename))
}

func parse(ctx context.Context, filename string, data []byte, opts *Options) (*Config, error) {
	p, sections, fault := open(filename, data, opts)
	if fault != nil {
		return nil, fault
	}
	source := p.reading(ctx)
	source.inputs = source.readInputs()
	c := &Config{Path: filename, Format: p.dialect.Name, inputs: source.inputs, Skipped: p.skipped}
	found, hidden := layers(sections)
	names, isOpen := claimNames(found), p.gate()
	byTitle := make(map[string]*Server, len(found))
	for i := range found {
		e := &found[i]
		r := source.entry(e, !isOpen(e.Title) || opts.Only != "" && opts.Only != e.Title)
		r.later = r.scope.NeedsApproval() && !opts.AsWritten
		s := r.read(e, names[i])
		s.Disabled = s.Disabled || !isOpen(s.Title)
		if r.waits {
			s.unanswered = &unanswered{turn: make(chan struct{}, 1), first: source, found: e, name: names[i], answers: map[string]resolved{}}
		}
		c.Servers = append(c.Servers, s)
		byTitle[s.Title] = cmp.Or(byTitle[s.Title], s)
	}
	for i := range hidden {
		by := byTitle[hidden[i].Title]
		s := source.entry(&hidden[i], true).read(&hidden[i], claim{name: by.Name})
		c.Shadowed = append(c.Shadowed, Shadow{Server: s, By: by})
	}
	maps.DeleteFunc(source.known, func(reference string, _ resolved) bool { return asksUser(reference) })
	sortErrors(source.warnings)
	c.Warnings = source.warnings
	return c, nil
}

// open parses a file, tells its dialect and finds its servers. If it has no place for them
// there is a parser beside the error.
func open(filename string, data []byte, opts *Options) (*parser, []dialect.Section, *Error) {
	dir, err := filepath.Abs(filepath.Dir(filename))
	if err != nil {
		return nil, nil, &Error{File: filename, Line: 1, Column: 1, Err: fmt.Errorf("cannot tell the folder of the config file: %w", err)}
	}
	p := &parser{file: filename, dir: dir, opts: opts, scope: opts.Scope, project: opts.Project}
	if p.scope == ScopeLocal { // a part of the user's file
		p.scope = ScopeUser
	}
	if p.project == "" && p.scope != ScopeUser { // a user's file is in no project
		p.project = projectOf(dir)
	}
	if fault := p.document(data, opts); fault != nil {
		if len(bytes.TrimSpace(data)) == 0 { // as some programs make it, or as it is while it is written
			fault.Err = &NoServersError{"the file is empty"}
		}
		return nil, nil, fault
	}
	if err := checkLocal(opts, p.dialect.Name); err != nil {
		return nil, nil, p.fault(p.doc.Root.Offset, "", "%w", err)
	}
	p.write = p.client.writing(p.dialect, dialect.WritingOf(p.dialect, &p.doc.Root))
	sections, fault := dialect.SectionsOf(p.dialect, &p.doc.Root)
	if fault != nil {
		var why error = errors.New(fault.Text)
		if fault.Absent {
			why = &NoServersError{fault.Text}
		}
		return p, nil, p.fault(fault.Offset, fault.At, "%w", why)
	}
	for i := range sections {
		sections[i].Entries = slices.DeleteFunc(sections[i].Entries, func(e dialect.Entry) bool {
			if e.Skip != "" {
				p.skipped = append(p.skipped, Skipped{e.Title, p.place(&e, p.scope), e.Skip})
			}
			return e.Skip != ""
		})
	}
	return p, p.localSections(sections, opts.Scope == ScopeLocal), nil
}

// A parser reads one file.
type parser struct {
	file    string
	dir     string // absolute, of the file
	opts    *Options
	scope   Scope  // of the file
	project string // the folder of the project
	doc     *jsonc.Document
	dialect *dialect.Dialect
	client  client // whose file it is
	skipped []Skipped
	write   *dialect.Writing
}

func (p *parser) fault(offset int, at jsonc.Path, format string, args ...any) *Error {
	where := p.doc.Position(offset)
	return &Error{p.file, where.Line, where.Column, string(at), fmt.Errorf(format, args...)}
}

// abs returns a path that may start at the folder of the file.
func (p *parser) abs(path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(p.dir, path)
}

func (r *reading) warn(offset int, at jsonc.Path, format string, args ...any) {
	switch {
	case len(r.warnings) < maxFaults:
		r.warnings = append(r.warnings, r.fault(offset, at, format, args...))
	case len(r.warnings) == maxFaults:
		r.warnings = append(r.warnings, r.fault(offset, "", "there are more warnings than these %d: the others are not told", maxFaults))
	}
}

// whole is a fault of the file that no place in it is to blame for.
func (p *parser) whole(format string, args ...any) *Error {
	return &Error{File: p.file, Line: 1, Column: 1, Err: fmt.Errorf(format, args...)}
}

// syntax is the fault of a file that cannot be parsed.
func (p *parser) syntax(err error) *Error {
	if syntax, ok := errors.AsType[*jsonc.SyntaxError](err); ok {
		return &Error{p.file, syntax.Line, syntax.Column, string(syntax.Path), errors.New(syntax.Message)}
	}
	return p.whole("%w", err)
}
