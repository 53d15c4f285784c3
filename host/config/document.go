package config

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcpbelt/mcpbelt/internal/dialect"
	"github.com/mcpbelt/mcpbelt/internal/jsonc"
)

// A Document is a config file as a tree, with the places of its entries. It is for packages
// of this module that change files, such as host/config/edit.
type Document struct {
	Dialect  *dialect.Dialect  // of the file's program
	Tree     *jsonc.Document   // all of the file
	Sections []dialect.Section // strongest first; nil if the file has no place for servers
	Skipped  []Skipped         // entries that are no servers
	Folder   string            // of the file, absolute
	Writing  *dialect.Writing  // how entries are written; nil if they are not

	ToldOff bool // it is known in which words the file's program is told that a server is off
	Seconds bool // its key "timeout" counts seconds

	parser *parser
}

// ReadDocument reads data as [Parse] does, but for what the entries say. The error is an
// [*Error]. If the file is sound but has no place for servers, there is a Document all the
// same.
func ReadDocument(filename string, data []byte, opts *Options) (*Document, error) {
	p, sections, fault := open(filename, data, opts)
	if p == nil {
		return nil, fault
	}
	d := &Document{
		Dialect: p.dialect, Tree: p.doc, Sections: sections, Skipped: p.skipped, Folder: p.dir, Writing: p.write,
		ToldOff: p.program.off != "" || !slices.Contains(dialect.SharedFormats(), p.dialect.Name),
		Seconds: p.program.seconds,
		parser:  p,
	}
	if fault != nil {
		return d, fault
	}
	return d, nil
}

// Fields returns what an entry of the document says, in our words.
func (d *Document) Fields(found *dialect.Entry) []dialect.Field {
	e := &entry{parser: d.parser, at: found.At, offset: found.Offset}
	if found.Value.Kind == jsonc.Object {
		e.translate(found)
	}
	return e.fields
}

// NewFile returns the text of a file that is not there yet, and the name of its format:
// that of the options, of the place, or of the file's extension.
func (o *Options) NewFile(path string) (text, formatName string, err error) {
	var opts Options
	if o != nil {
		opts = *o
	}
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
				return w.Edit.Empty, opts.Format, nil
			}
			return "", "", fmt.Errorf("files of the format %s are not written: change it by hand", f.Name())
		}
	}
	return "", "", errors.New("the format of the new file cannot be told: say it with Options.Format, and give Options.Formats those of other packages")
}
