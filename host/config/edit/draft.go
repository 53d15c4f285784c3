package edit

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/record"
	"github.com/mcpbelt/mcpbelt/internal/dialect"
	"github.com/mcpbelt/mcpbelt/internal/jsonc"
	"github.com/mcpbelt/mcpbelt/internal/jsonedit"
)

// An editError says why a config file is not changed as asked. The file is as it was.
type editError struct {
	file  string // as given to [Change]
	title string // of the server, or empty for the whole file
	key   string // of its entry in our words, such as "env", or empty
	err   error  // what is wrong and how to cure it; holds no value of the file
}

// Error returns the file, the server, the key, and what is wrong.
func (e *editError) Error() string {
	parts := make([]string, 0, 4)
	if e.file != "" {
		parts = append(parts, e.file)
	}
	at := jsonc.Path("")
	if e.title != "" {
		at = at.Key(e.title)
	}
	if e.key != "" {
		at = at.Key(e.key)
	}
	if at != "" {
		parts = append(parts, string(at))
	}
	return strings.Join(append(parts, e.err.Error()), ": ")
}

// Unwrap returns the cause.
func (e *editError) Unwrap() error { return e.err }

// A draft is the text of a config file that is being changed.
type draft struct {
	path string
	opts config.Options // values are read as written
	data []byte

	doc   *dialect.Document
	write *dialect.Writing
	edit  *dialect.Edit
	said  *content // nil: not read yet
}

// newDraft returns a draft of data, or of a new file if data is nil.
func newDraft(path string, data []byte, opts *config.Options) (*draft, error) {
	d := &draft{path: path, opts: *cmp.Or(opts, new(config.Options))}
	d.opts.AsWritten = true
	return d, d.take(data)
}

// take makes data the text of the draft, if it can be read.
func (d *draft) take(data []byte) error {
	if len(bytes.TrimSpace(data)) == 0 {
		data = nil // as if there was no file
	}
	doc, err := config.ReadDocument(d.path, data, &d.opts)
	if err != nil && doc == nil {
		return err
	}
	if data == nil {
		data, d.opts.Format = doc.Tree.Data, doc.Dialect.Name
	}
	if err != nil && !d.hasRoom(doc) {
		return err
	}
	d.data, d.doc, d.write, d.edit, d.said = data, doc, doc.Writing, jsonedit.Of(doc.Dialect.Syntax), nil
	return nil
}

// hasRoom reports whether a file without servers has a place for them, and its format is
// known.
func (d *draft) hasRoom(doc *dialect.Document) bool {
	n := &doc.Tree.Root
	if d.opts.Format == "" || n.Kind != jsonc.Object {
		return false
	}
	for _, key := range d.container(doc.Writing) {
		m := n.Member(key)
		if m == nil {
			return true
		}
		n = &m.Value
	}
	return n.Kind == jsonc.Null
}

// container returns the path of what holds the servers that a draft is about.
func (d *draft) container(w *dialect.Writing) []string {
	if d.opts.Scope != config.ScopeLocal {
		return w.Container
	}
	return []string{"projects", filepath.Clean(d.opts.Project), "mcpServers"}
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
	for _, section := range d.doc.Sections {
		for i := range section.Entries {
			found := &section.Entries[i]
			if found.Title != title || found.Fault != nil {
				continue
			}
			path, ok := pathTo(&d.doc.Tree.Root, found.Value)
			if !ok {
				return nil
			}
			return &spot{path: path, named: !found.Listed, fields: d.doc.Fields(found), value: found.Value}
		}
	}
	return nil
}

// fresh returns the place of a new entry.
func (d *draft) fresh(title string) *spot {
	for _, section := range slices.Backward(d.doc.Sections) { // that for all projects comes last
		path, ok := pathTo(&d.doc.Tree.Root, section.Container)
		switch {
		case !ok || section.Project != "" && d.opts.Scope != config.ScopeLocal:
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

// content is what the text of a draft says of its servers.
type content struct {
	servers []*config.Server
	entries map[string]json.RawMessage // in our words, by name
	faults  map[string]error           // of those that cannot be used
}

// content returns what the text says. It is read once.
func (d *draft) content() (*content, error) {
	if d.said != nil {
		return d.said, nil
	}
	said := &content{entries: map[string]json.RawMessage{}, faults: map[string]error{}}
	if len(d.doc.Sections) > 0 {
		c, err := config.Parse(context.Background(), d.path, d.data, &d.opts)
		if err != nil {
			return nil, err
		}
		said.servers = c.Servers
		for _, s := range c.Servers {
			if _, twice := said.entries[s.Title]; twice {
				continue
			}
			if said.entries[s.Title], err = s.Entry(); err != nil {
				return nil, &editError{file: d.path, title: s.Title, err: err}
			}
			if s.Err != nil {
				said.faults[s.Title] = s.Err
			}
		}
	}
	d.said = said
	return said, nil
}

// records returns the servers as new records, which are not shared.
func (c *content) records() []*config.Server {
	list := make([]*config.Server, len(c.servers))
	for i, s := range c.servers {
		list[i] = record.Of(s)
	}
	return list
}
