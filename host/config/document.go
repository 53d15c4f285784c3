package config

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcpbelt/mcpbelt/internal/dialect"
	"github.com/mcpbelt/mcpbelt/internal/jsonc"
)

// ReadDocument reads data as [Parse] does, but for what the entries say. If data is nil
// there is no file yet, and it is an empty one. The error is an [*Error]. If the file is
// sound but has no place for servers, there is a Document all the same. It is for packages
// of this module that change files, such as host/config/edit.
func ReadDocument(filename string, data []byte, opts *Options) (*dialect.Document, error) {
	o := opts.orDefaults(filename)
	if data == nil {
		var err error
		if data, o.Format, err = emptyFile(filename, o); err != nil {
			return nil, &Error{File: filename, Err: err}
		}
	}
	p, sections, fault := open(filename, data, o)
	if p == nil {
		return nil, fault
	}
	d := &dialect.Document{
		Dialect: p.dialect, Tree: p.doc, Sections: sections, Folder: p.dir, Writing: p.write,
		ToldOff: p.client.off != "" || !slices.Contains(dialect.SharedFormats(), p.dialect.Name),
		Seconds: p.client.seconds,
		Fields: func(found *dialect.Entry) []dialect.Field {
			e := &entry{reading: &reading{parser: p}, at: found.At, offset: found.Offset}
			if found.Value.Kind == jsonc.Object {
				e.translate(found)
			}
			return e.fields
		},
	}
	for _, s := range p.skipped {
		d.Skipped = append(d.Skipped, s.Title)
	}
	if fault != nil {
		return d, fault
	}
	return d, nil
}

// emptyFile returns the text of a file that is not there yet, and the name of its format:
// that of the options, of the place, or of the file's extension.
func emptyFile(path string, o *Options) ([]byte, string, error) {
	format := cmp.Or(o.Format, clientOf(path).format)
	if format == "" && dialect.BaseName(path) == "mcp-servers.json" {
		format = "ironclaw"
	}
	for _, d := range append(Formats(), o.Formats...) {
		if format == d.Name || format == "" && fits(d.Syntax, strings.ToLower(filepath.Ext(path))) {
			empty := dialect.WritingOf(d, nil).Empty
			if d.Syntax.Parse == nil {
				empty = "{}\n"
			}
			return []byte(empty), d.Name, nil
		}
	}
	if format != "" {
		return nil, "", fmt.Errorf("no format is called %q: give it in Options.Formats", format)
	}
	return nil, "", errors.New("the format of the new file cannot be told: say it with Options.Format, and give Options.Formats those of other packages")
}
