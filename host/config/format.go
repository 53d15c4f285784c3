package config

import (
	"cmp"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcpbelt/mcpbelt/internal/dialect"
	"github.com/mcpbelt/mcpbelt/internal/jsonc"
)

// A Format is one kind of config file. This package reads those with JSON itself;
// packages below this one have those that need a parser of their own, and [NewFormat] makes
// those of other programs. It is safe for concurrent use.
type Format = dialect.Dialect

// NewFormat returns a format for [Options].Formats: that of the JSON files of a program which has
// its servers under a key, as an object with one member for each or a list with names. The words
// are those that the program has for keys of this package, such as "cmd" for "command"; all others
// are as they are here. It replaces no references when it writes an entry.
func NewFormat(name, servers string, words map[string]string) *Format {
	keys := dialect.OwnKeys()
	for i, key := range keys {
		keys[i] = key + "=" + cmp.Or(words[key], key)
	}
	return &Format{
		Name: name, Key: servers, Kinds: []jsonc.Kind{jsonc.Array}, Words: strings.Join(keys, " "), Renames: map[string]string{"name": ""},
		Writes: dialect.Writing{Transports: map[string]string{TransportStdio: TransportStdio, TransportHTTP: TransportHTTP, TransportSSE: TransportSSE, TransportAuto: ""}},
	}
}

// document parses a file and tells which dialect it is in.
func (p *parser) document(data []byte, opts *Options) *Error {
	p.client = clientOf(p.file)
	usual := cmp.Or(opts.usual, p.client.format)
	extension := strings.ToLower(filepath.Ext(p.file))
	var candidates []*dialect.Dialect // that which the place has first
	all := append(Formats(), opts.Formats...)
	for _, d := range all {
		switch {
		case opts.Format != "" && d.Name != opts.Format || opts.Format == "" && !fits(d.Syntax, extension):
		case d.Name == usual:
			candidates = slices.Insert(candidates, 0, d)
		default:
			candidates = append(candidates, d)
		}
	}
	if len(candidates) == 0 {
		return p.noFormat(all, opts.Format, extension)
	}
	doc, err := candidates[0].Syntax.Read(data)
	if err != nil {
		return p.syntax(err)
	}
	p.doc = doc
	var fault *Error
	if p.dialect, fault = p.likeliest(candidates, opts.Format != "", usual); fault != nil {
		return fault
	}
	if !p.isOfClient() {
		p.client = client{}
		if p.dialect.Name == "mcpServers" && usual == "" && (dialect.BaseName(p.file) == "settings.json" || dialect.ListsServers(&doc.Root)) {
			p.client = clientOf(".gemini/settings.json")
		}
	}
	d := *p.dialect
	d.Literal = d.Literal && !p.client.bare
	p.dialect = &d
	return nil
}

// isOfClient reports whether a file that lies in the place of a program's is in its format.
func (p *parser) isOfClient() bool {
	name, shared := p.dialect.Name, dialect.SharedFormats()
	return name == p.client.format || slices.Contains(shared, name) && slices.Contains(shared, p.client.format) ||
		name == "mcpServers" && p.client.file == dialect.BaseName(p.file)
}

// fits reports whether a file with that extension is written in the syntax.
func fits(s dialect.Syntax, extension string) bool {
	if s.Extensions != nil {
		return slices.Contains(s.Extensions, extension)
	}
	return !slices.Contains([]string{".toml", ".yaml", ".yml"}, extension)
}

func (p *parser) noFormat(formats []*Format, wanted, extension string) *Error {
	known := strings.Join(formatNames(formats), ", ")
	const others = "codex.Format() of the package host/config/codex, or goose.Format() or goose.Continue() of host/config/goose"
	if wanted != "" {
		return p.whole("no format is called %q: Options.Format may be %s; Options.Formats may add %s", wanted, known, others)
	}
	return p.whole("no format reads %s files, these are read: %s; Options.Formats may add %s", extension, known, others)
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
		like := dialect.LikenessOf(d, p.file, &p.doc.Root)
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
	}
	return nil, p.fault(p.doc.Root.Offset, "", "the file may be of the formats %s: say which one with Options.Format",
		strings.Join(formatNames(found), " and "))
}

func formatNames(formats []*Format) (names []string) {
	for _, f := range formats {
		names = append(names, f.Name)
	}
	return names
}
