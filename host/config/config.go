package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/mcpbelt/mcpbelt/internal/jsonc"
)

// A Config is one file that lists servers.
type Config struct {
	Path    string    // as given to [Load] or [Parse]
	Servers []*Server // in file order; no two have the same Name

	// Warnings are things that are allowed but look like mistakes, in file
	// order. They put no server out of use.
	Warnings []*Error
}

// Options are settings of [Load] and [Parse].
type Options struct {
	// Lookup returns the value of an environment variable and whether it is
	// set. Default: [os.LookupEnv].
	Lookup func(name string) (value string, ok bool)
}

// Load reads the file at path, of at most 16 MiB. The error, if any, is an
// [*Error]; if there is no such file, it wraps [fs.ErrNotExist]. A nil opts
// means the defaults.
func Load(path string, opts *Options) (*Config, error) {
	data, err := read(path)
	if err != nil {
		var pathErr *fs.PathError
		if errors.As(err, &pathErr) {
			err = pathErr.Err // Error.File says the path already
		}
		return nil, &Error{File: path, Err: fmt.Errorf("cannot read the config file: %w", err)}
	}
	return Parse(path, data, opts)
}

// read returns the content of a file, cut one byte above the limit that the
// parser enforces.
func read(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, jsonc.MaxSize+1))
}

// Parse reads data as the content of the file filename, which is used in
// errors and whose folder is where relative paths start; the file itself is
// not opened. Parse may keep parts of data. The error, if any, is an [*Error]
// and concerns the whole file; entries have their own, see [Server.Err]. A nil
// opts means the defaults.
func Parse(filename string, data []byte, opts *Options) (*Config, error) {
	lookup := os.LookupEnv
	if opts != nil && opts.Lookup != nil {
		lookup = opts.Lookup
	}
	doc, err := jsonc.Parse(data)
	if err != nil {
		var syntax *jsonc.SyntaxError
		if errors.As(err, &syntax) {
			return nil, &Error{filename, syntax.Line, syntax.Column, string(syntax.Path), errors.New(syntax.Message)}
		}
		return nil, &Error{File: filename, Line: 1, Column: 1, Err: err}
	}
	dir, err := filepath.Abs(filepath.Dir(filename))
	if err != nil {
		return nil, &Error{File: filename, Line: 1, Column: 1, Err: fmt.Errorf("cannot tell the folder of the config file: %w", err)}
	}
	p := &parser{
		file:   filename,
		dir:    dir,
		doc:    doc,
		expand: &expander{lookup: lookup, dir: dir, left: maxExpanded},
	}
	list, fault := p.find()
	if fault != nil {
		return nil, fault
	}
	c := &Config{Path: filename}
	names, gate := claimNames(list.Members), p.gate()
	for i := range list.Members {
		e := &entry{parser: p, at: jsonc.Path(serversKey).Key(list.Members[i].Key)}
		s := e.read(&list.Members[i], names[i])
		s.Enabled = s.Enabled && gate.open(s.Title)
		c.Servers = append(c.Servers, s)
	}
	sortErrors(p.warnings)
	c.Warnings = p.warnings
	return c, nil
}

// A parser reads one file.
type parser struct {
	file     string
	dir      string // absolute, of the file
	doc      *jsonc.Document
	expand   *expander
	warnings []*Error
}

const serversKey = "mcpServers"

// find returns the object that holds the servers.
func (p *parser) find() (*jsonc.Node, *Error) {
	root := &p.doc.Root
	if root.Kind != jsonc.Object {
		return nil, p.fault(root.Offset, "", "the file must hold an object such as {\"mcpServers\": {}}, not %s", root.Kind)
	}
	if m := root.Member(serversKey); m != nil {
		if m.Value.Kind != jsonc.Object {
			return nil, p.fault(m.Value.Offset, serversKey,
				"must be an object with one member per server, such as {\"files\": {\"command\": \"npx\"}}, not %s", m.Value.Kind)
		}
		return &m.Value, nil
	}
	for i := range root.Members {
		m := &root.Members[i]
		at := jsonc.Path("").Key(m.Key)
		switch {
		case m.Key == "servers" || m.Key == "context_servers":
			return nil, p.fault(m.Offset, at,
				"this is the format of another program, which is not read yet: put the servers under \"mcpServers\"")
		case strings.EqualFold(m.Key, "mcp_servers") || distance(m.Key, serversKey) <= 2:
			return nil, p.fault(m.Offset, at, "the file has no \"mcpServers\": rename this key to it")
		}
	}
	return nil, p.fault(root.Offset, "", "the file has no \"mcpServers\" object: put the servers in {\"mcpServers\": {}}")
}

func (p *parser) fault(offset int, at jsonc.Path, format string, args ...any) *Error {
	where := p.doc.Position(offset)
	return &Error{p.file, where.Line, where.Column, string(at), fmt.Errorf(format, args...)}
}
