package config

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcpbelt/mcpbelt/internal/dialect"
	"github.com/mcpbelt/mcpbelt/internal/jsonc"
)

// A Format is one kind of config file. [Formats] has those that this package reads
// itself; packages below this one have those that need a parser of their own. It is
// safe for concurrent use.
type Format interface {
	// Name is how [Options.Format] and [Source.Format] call the format.
	Name() string

	// Dialect is how files of the format are read, for this module's own packages.
	Dialect() *dialect.Dialect
}

// Formats returns the formats that are always read: mcpServers, vscode, zed, kode,
// ironclaw, opencode and crush, all of them JSON with comments.
func Formats() []Format {
	return []Format{
		format{mcpServers()}, format{vscode()}, format{zed()}, format{kode()}, format{ironclaw()},
		format{dialect.OpenCode()}, format{dialect.Crush()},
	}
}

type format struct{ d *dialect.Dialect }

func (f format) Name() string              { return f.d.Name }
func (f format) Dialect() *dialect.Dialect { return f.d }

// document parses a file and tells which dialect it is in.
func (p *parser) document(data []byte, opts *Options) *Error {
	formats := Formats()
	wanted, usual := "", ""
	if opts != nil {
		formats = append(formats, opts.Formats...)
		wanted, usual = opts.Format, opts.usual
	}
	client, place := programOf(p.file)
	if usual == "" {
		usual = place
	}
	extension := strings.ToLower(filepath.Ext(p.file))
	var candidates []*dialect.Dialect // that which the place has first
	for _, f := range formats {
		d := f.Dialect()
		switch {
		case wanted != "" && f.Name() != wanted || wanted == "" && !fits(d.Syntax, extension):
		case f.Name() == usual:
			candidates = slices.Insert(candidates, 0, d)
		default:
			candidates = append(candidates, d)
		}
	}
	if len(candidates) == 0 {
		return p.noFormat(formats, wanted, extension)
	}
	doc, err := candidates[0].Syntax.Parse(data)
	if err != nil && candidates[0].Name == "vscode" {
		doc, err = p.unclosed(data, err)
	}
	if err != nil {
		return p.syntax(err)
	}
	p.doc = doc
	var fault *Error
	p.dialect, fault = p.likeliest(candidates, wanted != "", usual)
	if fault == nil {
		p.recognize(client, place)
	}
	return fault
}

// unclosed reads a file whose last brace is missing, as VS Code does.
func (p *parser) unclosed(data []byte, err error) (*jsonc.Document, error) {
	doc, again := jsonc.Parse(append(slices.Clip(data), "\n}"...))
	if again != nil {
		return nil, err
	}
	p.doc = doc
	p.warn(len(data), "", "the last } is missing, which VS Code does not mind: add it, or others cannot read or change the file")
	return doc, nil
}

// fits reports whether a file with that extension is written in the syntax.
func fits(s dialect.Syntax, extension string) bool {
	if s.Extensions != nil {
		return slices.Contains(s.Extensions, extension)
	}
	return !slices.Contains([]string{".toml", ".yaml", ".yml"}, extension)
}

func (p *parser) noFormat(formats []Format, wanted, extension string) *Error {
	names := make([]string, len(formats))
	for i, f := range formats {
		names[i] = f.Name()
	}
	known := strings.Join(names, ", ")
	if client := unread(p.file); client != "" && wanted == "" {
		return p.whole("%s", notRead(client))
	}
	if wanted != "" {
		return p.whole("no format is called %q: Options.Format may be %s; codex, goose and continue are read if Options.Formats has codex.Format(), goose.Format() or goose.Continue()", wanted, known)
	}
	return p.whole("no format reads %s files: give Options.Formats codex.Format() for the config.toml of Codex, goose.Format() for the config.yaml of Goose, goose.Continue() for that of Continue; these are read: %s", extension, known)
}

// likeliest returns the one dialect that the file is in: that of its place, if no other
// is likelier.
func (p *parser) likeliest(candidates []*dialect.Dialect, named bool, usual string) (*dialect.Dialect, *Error) {
	if named {
		return candidates[0], nil
	}
	best := dialect.Foreign
	var found []*dialect.Dialect
	for _, d := range candidates {
		like := d.Like(p.file, &p.doc.Root)
		if like > best {
			best, found = like, nil
		}
		if like == best && like > dialect.Foreign {
			found = append(found, d)
		}
	}
	if i := slices.IndexFunc(found, func(d *dialect.Dialect) bool { return d.Name == usual }); i >= 0 {
		return found[i], nil
	}
	switch len(found) {
	case 0:
		return candidates[0], nil // which says what is missing
	case 1:
		return found[0], nil
	default:
		names := make([]string, len(found))
		for i, d := range found {
			names[i] = d.Name
		}
		return nil, p.fault(p.doc.Root.Offset, "", "the file may be of the formats %s: say which one with Options.Format",
			strings.Join(names, " and "))
	}
}

// isObject reports whether n has a member that is an object.
func isObject(n *jsonc.Node, key string) bool {
	m := n.Member(key)
	return m != nil && m.Value.Kind == jsonc.Object
}
