package edit

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/consent"
	"github.com/mcpbelt/mcpbelt/host/record"
	"github.com/mcpbelt/mcpbelt/internal/atomicfile"
	"github.com/mcpbelt/mcpbelt/internal/dialect"
	"github.com/mcpbelt/mcpbelt/internal/jsonc"
	"github.com/mcpbelt/mcpbelt/internal/plain"
)

// ImportOptions are settings of [PlanImport].
type ImportOptions struct {
	From *config.Options // how the source is read: Format, Formats, Scope and Project count
	To   *config.Options // likewise for the target, which may be a new file

	// Names are the servers to take, as written in the source. Nil means all.
	Names []string

	// Replace puts servers in the place of those of their name. Default: they are left
	// out.
	Replace bool

	// Variable returns the variable of the environment that stands for ${input:ID} in the target. Nil: the
	// reference stays, and the plan says that the target needs that input, too.
	Variable func(id string) string

	// OwnKeys writes what the target's program does not know under the keys of this
	// package, which reads them there. Default: it is lost, which the plan says.
	OwnKeys bool
}

// An Import is what would become of the servers of one file in another one: nothing is
// written before [Import.Apply].
type Import struct {
	Source, Target string // as given to [PlanImport]

	// Servers are those that were asked for, in the order of the source.
	Servers []Imported

	before, after []byte // the text of the target; before is nil if there is no file
}

// Imported is what would become of one server.
type Imported struct {
	Name    string   // as written in the source
	Skipped error    // why it is left out, nil if it is not; holds no value of the file
	Remarks []Remark // on its keys, in their order

	// Launch is what the server is in the target, for the person who decides: its String
	// is the whole command, as for an approval, with nothing of it masked that could be
	// run. References are as written. It may hold secrets. Nil if it is left out.
	Launch *consent.Launch
}

// A Remark says what becomes of one key of a server.
type Remark struct {
	Key  string // in our words, or as written if it is of another program
	Lost bool   // what it says does not arrive
	Text string // what becomes of it and what to do; holds no value of the file
}

// String returns "key: text".
func (r Remark) String() string { return plain.Line(r.Key) + ": " + r.Text }

// PlanImport reads the source and the target and finds out what importing would do. To
// export, the program's own file is the source. Some facts hold only in a server's own
// file and do not come along: that it is trusted or builtin, and what a relative path
// starts at. The error, if any, concerns one of
// the files as a whole. A nil opts means the defaults. A program that shows the plan
// shows the Launch of each server.
func PlanImport(source, target string, opts *ImportOptions) (*Import, error) {
	o := *cmp.Or(opts, new(ImportOptions))
	data, err := readSource(source)
	if err != nil {
		return nil, &config.Error{File: source, Err: fmt.Errorf("cannot read the config file: %w", plainPathError(err))}
	}
	var readAs config.Options
	if o.From != nil {
		readAs = config.Options{Format: o.From.Format, Formats: o.From.Formats, Scope: o.From.Scope, Project: o.From.Project}
	}
	readAs.AsWritten = true
	from, err := config.Parse(context.Background(), source, data, &readAs)
	if err != nil {
		return nil, err
	}
	readAs.Format = from.Format
	doc, err := config.ReadDocument(source, data, &readAs)
	if err != nil {
		return nil, err
	}
	resolved, err := atomicfile.Resolve(target)
	if err != nil {
		return nil, &editError{file: target, err: fmt.Errorf("cannot tell which file this is: %w", plainPathError(err))}
	}
	before, err := readForEdit(resolved)
	if err != nil {
		return nil, &editError{file: target, err: fmt.Errorf("cannot read the file: %w", plainPathError(err))}
	}
	d, err := newDraft(target, before, o.To)
	if err != nil {
		return nil, err
	}
	i := &importer{
		opts: o, source: doc, target: d, same: from.Format == d.doc.Dialect.Name,
		entries: entriesByTitle(doc.Sections), plan: &Import{Source: source, Target: target, before: before},
	}
	for _, s := range from.Servers {
		if o.Names == nil || slices.Contains(o.Names, s.Title) {
			i.server(s)
		}
	}
	for _, name := range o.Names {
		if !slices.ContainsFunc(i.plan.Servers, func(s Imported) bool { return s.Name == name }) {
			i.plan.Servers = append(i.plan.Servers, Imported{Name: name, Skipped: &record.Error{Code: record.CodeNotFound, Name: name}})
		}
	}
	i.plan.after = i.target.data
	if i.moved == 0 {
		i.plan.after = before
		return i.plan, nil
	}
	return i.plan, i.launches()
}

// readSource returns the content of a file, which may be a pipe, cut one byte above the limit
// that the parser enforces.
func readSource(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, jsonc.MaxSize+1))
}

// launches tells what the servers are that would be in the target.
func (i *importer) launches() error {
	c, err := config.Parse(context.Background(), i.plan.Target, i.plan.after, &i.target.opts)
	if err != nil {
		return err
	}
	for j := range i.plan.Servers {
		out := &i.plan.Servers[j]
		at := slices.IndexFunc(c.Servers, func(s *config.Server) bool { return s.Title == out.Name })
		if out.Skipped == nil && at >= 0 {
			out.Launch = c.Servers[at].Launch()
		}
	}
	return nil
}

func entriesByTitle(sections []dialect.Section) map[string]*dialect.Entry {
	entries := make(map[string]*dialect.Entry)
	for _, section := range sections {
		for i := range section.Entries {
			if e := &section.Entries[i]; entries[e.Title] == nil && e.Fault == nil {
				entries[e.Title] = e
			}
		}
	}
	return entries
}

// Changes reports whether Apply would change the target.
func (i *Import) Changes() bool { return !bytes.Equal(i.before, i.after) }

// Texts returns the text of the target before and after [Import.Apply], with its secrets; before
// is nil if there is no file. The caller must not change them.
func (i *Import) Texts() (before, after []byte) { return i.before, i.after }

// Apply writes the target as the plan says. If the target is not what it was when the
// plan was made, nothing is written and there is an error: plan again. The
// source need not be there any more.
func (i *Import) Apply(ctx context.Context) error {
	if !i.Changes() {
		return ctx.Err()
	}
	resolved, err := atomicfile.Resolve(i.Target)
	if err != nil {
		return &editError{file: i.Target, err: fmt.Errorf("cannot tell which file this is: %w", plainPathError(err))}
	}
	done, err := replaceSame(ctx, resolved, i.before, i.after, nil)
	if err == nil && !done {
		err = errors.New("the file has changed since the import was planned: plan it again")
	}
	if err != nil {
		return &editError{file: i.Target, err: plainPathError(err)}
	}
	return nil
}

// An importer makes a plan.
type importer struct {
	opts    ImportOptions
	source  *dialect.Document
	target  *draft
	entries map[string]*dialect.Entry // of the source
	same    bool                      // both files are of one format
	moved   int
	plan    *Import
}

func (i *importer) server(s *config.Server) {
	out := &Imported{Name: s.Title}
	defer func() { i.plan.Servers = append(i.plan.Servers, *out) }()
	if s.Err != nil {
		out.Skipped = fmt.Errorf("it cannot be used in its own file either: %w", s.Err)
		return
	}
	if s.Source.Scope == config.ScopeLocal && i.target.opts.Scope != config.ScopeLocal {
		out.Skipped = errors.New("it is for this folder alone: import it with the scope local")
		return
	}
	title := ""
	if i.target.find(s.Title) != nil {
		if !i.opts.Replace {
			out.Skipped = &record.Error{Code: record.CodeNameTaken, Name: s.Title}
			return
		}
		title = s.Title
	}
	r := record.Of(s)
	i.own(out, r)
	i.carry(out, r)
	if out.Skipped != nil {
		return
	}
	entry, err := r.Entry()
	if err == nil {
		err = record.Validate(r)
	}
	if err == nil {
		err = i.target.put(title, r.Title, entry)
	}
	if err != nil {
		out.Skipped = err
		return
	}
	i.moved++
}

func (out *Imported) lost(key, text string) {
	out.Remarks = append(out.Remarks, Remark{Key: key, Lost: true, Text: text})
}

// own drops what is true in the source only.
func (i *importer) own(out *Imported, r *config.Server) {
	if r.Trust {
		r.Trust = false
		out.lost("trust", "is not taken over: set it there yourself if you trust the server")
	}
	if r.Ledger == "trust" || r.Ledger == "pin" {
		r.Ledger = ""
		out.lost("ledger", "is not taken over: set it there yourself if you trust the server")
	}
	if r.Builtin {
		r.Builtin = false
		out.lost("builtin", "is not taken over: the server is not the target's own")
	}
	if r.TLS != nil && r.TLS.Insecure {
		r.TLS.Insecure = false
		out.lost("tls.insecure", "is not taken over: name the server's authority in \"caFile\"")
	}
	dir := i.source.Folder
	if r.Cwd != "" && !filepath.IsAbs(r.Cwd) && !strings.HasPrefix(r.Cwd, "$") && dir != i.target.folder() {
		r.Cwd = filepath.Join(dir, r.Cwd)
		out.Remarks = append(out.Remarks, Remark{Key: "cwd", Text: "becomes absolute: it started at the folder of the source"})
	}
	path := "" // of a file of variables
	delete(r.Extra, "envFile")
	if e := i.entries[r.Title]; e != nil {
		for j := range e.Value.Members {
			switch key := e.Value.Members[j].Key; {
			case e.Value.Members[j].Value.Kind == jsonc.Null:
			case key == "alwaysAllow" || key == "autoApprove":
				out.lost(key, "is not taken over: approve tools in the target's program")
			case key == "envFile" && (i.same || slices.Contains(dialect.SharedFormats(), i.target.doc.Dialect.Name)):
				if path = e.Value.Members[j].Value.Text; !filepath.IsAbs(path) && !strings.HasPrefix(path, "$") && dir != i.target.folder() {
					path = filepath.Join(dir, path)
					out.Remarks = append(out.Remarks, Remark{Key: key, Text: "becomes absolute: it was at the folder of the source"})
				}
			case key == "envFile":
				out.lost(key, "names a file of variables, which is not taken over: put them into \"env\", as ${file:path} or ${VAR}")
			}
		}
	}
	if !i.same {
		for _, key := range dialect.InOrder(r.Extra) {
			out.lost(key, "belongs to the program of the source")
		}
		r.Extra = nil
	}
	if path != "" && r.Extra == nil {
		r.Extra = map[string]json.RawMessage{}
	}
	if path != "" {
		r.Extra["envFile"] = marshalJSON(path)
	}
}

// folder returns the absolute folder of the draft's file.
func (d *draft) folder() string {
	if dir, err := filepath.Abs(filepath.Dir(d.path)); err == nil {
		return dir
	}
	return filepath.Dir(d.path)
}

// carry makes r what the target's program can be told.
func (i *importer) carry(out *Imported, r *config.Server) {
	write := i.target.write
	name := i.target.doc.Dialect.Name
	if write.Always && write.Transports[config.TransportAuto] == "" && r.Kind() == config.TransportAuto {
		r.Transport = config.TransportHTTP
		out.Remarks = append(out.Remarks, Remark{Key: "transport", Text: "becomes http: the program needs to be told, and knows no auto"})
	}
	switch word, known := write.Transports[r.Kind()]; {
	case !known && r.Kind() != config.TransportAuto:
		out.Skipped = fmt.Errorf("the transport %s has no place in a file of the format %s", r.Kind(), name)
		return
	case word == "" && r.URL != "" && r.Transport != "" && r.Transport != config.TransportAuto:
		r.Transport = ""
		out.Remarks = append(out.Remarks, Remark{Key: "transport", Text: cmp.Or(write.Notes["transport"], "is told by the other keys there")})
	}
	replaced := dialect.NoReferences
	if w := i.source.Writing; w != nil {
		replaced = w.References
	}
	x := &translation{
		fromLiteral: i.source.Dialect.Literal, toLiteral: i.target.doc.Dialect.Literal,
		forms: write.References, from: replaced, dir: i.source.Folder, variable: i.opts.Variable,
	}
	entry, err := r.Entry()
	if err != nil {
		out.Skipped = err
		return
	}
	members := membersOf(entry)
	x.carry(members, func(key, reference string) {
		text := fmt.Sprintf("holds %s, which the program of the format %s does not replace: it would take the text as it is", reference, name)
		if strings.HasPrefix(reference, "${input:") {
			text = fmt.Sprintf("holds %s, which asks a question of the source: the target needs that input too", reference)
		}
		out.Remarks = append(out.Remarks, Remark{Key: key, Lost: true, Text: text})
	})
	for _, name := range x.variables {
		out.Remarks = append(out.Remarks, Remark{Key: "inputs", Text: "the answer is the value of the environment variable " + name})
	}
	for _, key := range dialect.InOrder(members) {
		_, known := write.Keys[key]
		note := write.Notes[key]
		switch {
		case r.Extra[key] != nil || key == "transport":
		case known && note == "":
		case known:
			out.Remarks = append(out.Remarks, Remark{Key: key, Text: note})
		case i.opts.OwnKeys && !write.Strict:
			out.Remarks = append(out.Remarks, Remark{Key: key, Text: "only this package reads it there"})
		case key == "enabled":
			out.Skipped = fmt.Errorf("it is switched off, which a file of the format %s cannot say: its program would start it", name)
			return
		default:
			out.lost(key, cmp.Or(note, fmt.Sprintf("has no place in a file of the format %s", name)))
			delete(members, key)
		}
	}
	if write.Keys["tools.allow"] != "" && len(r.Tools.Rename) > 0 && !i.opts.OwnKeys {
		out.lost("tools.rename", fmt.Sprintf("has no place in a file of the format %s", name))
		tools := membersOf(members["tools"])
		delete(tools, "rename")
		members["tools"] = marshalJSON(tools)
	}
	clear, err := json.Marshal(members)
	if err != nil {
		out.Skipped = err
		return
	}
	next, err := record.Decode(clear)
	if err != nil {
		out.Skipped = err
		return
	}
	next.Title, next.Name = r.Title, r.Name
	*r = *next
}
