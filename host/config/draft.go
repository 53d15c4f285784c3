package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpbelt/mcpbelt/internal/dialect"
	"github.com/mcpbelt/mcpbelt/internal/jsonc"
)

// An EditError says why a config file is not changed as asked. The file is as it was.
type EditError struct {
	File  string // as given to [Edit]
	Title string // of the server, or empty for the whole file
	Key   string // of its entry in our words, such as "env", or empty
	Err   error  // what is wrong and how to cure it; holds no value of the file
}

// Error returns the file, the server, the key, and what is wrong.
func (e *EditError) Error() string {
	parts := make([]string, 0, 4)
	if e.File != "" {
		parts = append(parts, e.File)
	}
	at := jsonc.Path("")
	if e.Title != "" {
		at = at.Key(e.Title)
	}
	if e.Key != "" {
		at = at.Key(e.Key)
	}
	if at != "" {
		parts = append(parts, string(at))
	}
	return strings.Join(append(parts, e.Err.Error()), ": ")
}

// Unwrap returns e.Err.
func (e *EditError) Unwrap() error { return e.Err }

// A draft is the text of a config file that is being changed.
type draft struct {
	path string
	opts Options // values are read as written
	data []byte
	made bool // there was no file

	p        *parser
	sections []dialect.Section
	write    *dialect.Writing
	remarks  []Remark // on what was changed
}

// newDraft returns a draft of data, or of a new file if data is nil.
func newDraft(path string, data []byte, opts *Options) (*draft, error) {
	d := &draft{path: path}
	if opts != nil {
		d.opts = *opts
	}
	d.opts.AsWritten = true
	if data == nil {
		made, err := newFileOf(path, &d.opts)
		if err != nil {
			return nil, &EditError{File: path, Err: err}
		}
		data = []byte(made)
		d.made = true
	}
	return d, d.take(data)
}

// newFileOf tells the format of a file that is not there yet, which it notes in opts,
// and returns its text.
func newFileOf(path string, opts *Options) (string, error) {
	extension := strings.ToLower(filepath.Ext(path))
	if opts.Format == "" {
		_, opts.Format = programOf(path)
	}
	if opts.Format == "" && dialect.BaseName(path) == "mcp-servers.json" {
		opts.Format = "ironclaw"
	}
	for _, f := range append(Formats(), opts.Formats...) {
		d := f.Dialect()
		if opts.Format == f.Name() || opts.Format == "" && fits(d.Syntax, extension) {
			opts.Format = f.Name()
			if w := (program{}).writingOf(d, nil); w != nil {
				return w.Edit.Empty, nil
			}
			return "", fmt.Errorf("files of the format %s are not written: change it by hand", f.Name())
		}
	}
	return "", errors.New("the format of the new file cannot be told: say it with Options.Format, and give Options.Formats those of other packages")
}

// take makes data the text of the draft, if it can be read.
func (d *draft) take(data []byte) error {
	p, sections, fault := open(d.path, data, &d.opts)
	if fault != nil {
		if p = d.withoutServers(data); p == nil {
			return fault
		}
	}
	w := p.program.writingOf(p.dialect, &p.doc.Root)
	if w == nil {
		return &EditError{File: d.path, Err: fmt.Errorf("files of the format %s are not written: change it by hand", p.dialect.Name)}
	}
	d.data, d.p, d.sections, d.write = data, p, sections, w
	return nil
}

// withoutServers returns a parser of a file that is sound but has no place for servers
// yet, and whose format is known. Else it returns nil.
func (d *draft) withoutServers(data []byte) *parser {
	p := &parser{file: d.path, dir: filepath.Dir(d.path)}
	if d.opts.Format == "" || p.document(data, &d.opts) != nil || checkLocal(&d.opts, p.dialect.Name) != nil {
		return nil
	}
	w := p.program.writingOf(p.dialect, &p.doc.Root)
	if w == nil || p.doc.Root.Kind != jsonc.Object {
		return nil
	}
	n := &p.doc.Root
	for _, key := range d.container(w) {
		m := n.Member(key)
		if m == nil {
			return p
		}
		n = &m.Value
	}
	if n.Kind == jsonc.Null {
		return p
	}
	return nil
}

// A spot is where an entry stands, or is to stand.
type spot struct {
	path   []string        // of the entry
	named  bool            // the last of path is its name
	fields []dialect.Field // what it says; nil for a new one
	value  *jsonc.Node     // nil for a new one
}

// find returns the place of the entry of that name, nil if there is none.
func (d *draft) find(title string) *spot {
	for _, section := range d.sections {
		for i := range section.Entries {
			found := &section.Entries[i]
			if found.Title != title || found.Fault != nil {
				continue
			}
			path, ok := pathTo(&d.p.doc.Root, found.Value)
			if !ok {
				return nil
			}
			e := &entry{parser: d.p, at: found.At, offset: found.Offset}
			if found.Value.Kind == jsonc.Object {
				e.translate(found)
			}
			return &spot{path: path, named: !found.Listed, fields: e.fields, value: found.Value}
		}
	}
	return nil
}

// skips reports whether the file has an entry of that name that is no server.
func (d *draft) skips(title string) bool {
	return slices.ContainsFunc(d.p.skipped, func(s Skipped) bool { return s.Title == title })
}

// fresh returns the place of a new entry.
func (d *draft) fresh(title string) *spot {
	for _, section := range slices.Backward(d.sections) { // that for all projects comes last
		path, ok := pathTo(&d.p.doc.Root, section.Container)
		switch {
		case !ok || section.Project != "" && d.opts.Scope != ScopeLocal:
		case section.Container.Kind == jsonc.Array:
			return &spot{path: append(path, "-")}
		default:
			return &spot{path: append(path, title), named: true}
		}
	}
	return &spot{path: append(slices.Clone(d.container(d.write)), title), named: true}
}

// pathTo returns the path of a node of the tree below root.
func pathTo(root, target *jsonc.Node) ([]string, bool) {
	if root == target {
		return []string{}, true
	}
	for i := range root.Members {
		if path, ok := pathTo(&root.Members[i].Value, target); ok {
			return append([]string{root.Members[i].Key}, path...), true
		}
	}
	for i := range root.Elems {
		if path, ok := pathTo(&root.Elems[i], target); ok {
			return append([]string{strconv.Itoa(i)}, path...), true
		}
	}
	return nil, false
}

// entries returns what the text says of each server, in our words, by name, and the
// faults of those that cannot be used.
func (d *draft) entries(data []byte) (map[string]json.RawMessage, map[string]error, error) {
	if len(d.sections) == 0 {
		return nil, nil, nil
	}
	c, err := Parse(d.path, data, &d.opts)
	if err != nil {
		return nil, nil, err
	}
	entries := make(map[string]json.RawMessage, len(c.Servers))
	faults := make(map[string]error)
	for _, s := range c.Servers {
		text, err := Of(s).Entry()
		if err != nil {
			return nil, nil, &EditError{File: d.path, Title: s.Title, Err: err}
		}
		if _, twice := entries[s.Title]; !twice {
			entries[s.Title] = text
			if s.Err != nil {
				faults[s.Title] = s.Err
			}
		}
	}
	return entries, faults, nil
}
