package dialect

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/mcpbelt/mcpbelt/internal/jsonc"
)

// A Likeness says how sure a dialect is that a file is its own.
type Likeness int

// The degrees of likeness. If two dialects share the highest, neither is chosen.
const (
	Foreign  Likeness = iota // nothing speaks for it
	Possible                 // the content fits
	Certain                  // the content fits, and the file's name or other content decides
)

// CertainIf returns [Certain] or [Foreign].
func CertainIf(ok bool) Likeness {
	if ok {
		return Certain
	}
	return Foreign
}

// A Syntax is how the text of a file becomes a tree, and how it is changed. The zero Syntax
// is JSON with comments and trailing commas.
type Syntax struct {
	// Extensions are the ends of the names of its files, in lower case with the
	// dot. Nil is JSON, which all other files are taken for.
	Extensions []string
	// Parse reads a whole file. Its error is a [*jsonc.SyntaxError]; it bounds size,
	// depth and the number of values as [jsonc.Parse] does.
	Parse func(data []byte) (*jsonc.Document, error)
	// Edit changes a text; nil for JSON, which package jsonedit changes.
	Edit *Edit
}

// Read is Parse, or that of JSON for the zero Syntax.
func (s Syntax) Read(data []byte) (*jsonc.Document, error) {
	if s.Parse == nil {
		return jsonc.Parse(data)
	}
	return s.Parse(data)
}

// A Dialect is one kind of config file: all that is known of the format stands in it. It is
// not changed once made.
type Dialect struct {
	Name   string
	Syntax Syntax

	// Key is that of the servers at the top of a file: an object with one member for each
	// server or, if these kinds are allowed too, a list of servers with names, or null.
	Key   string
	Kinds []jsonc.Kind
	// Absent is what to say of a file without Key. Default: to put the servers into an object.
	Absent string
	// Like says whether a file is of this kind. The filename is as given to Load. Default: if it
	// has Key.
	Like func(filename string, root *jsonc.Node) Likeness
	// Sections returns the parts that hold servers, strongest first: of two entries
	// of one title, the first counts. Default: what stands at Key.
	Sections func(root *jsonc.Node) ([]Section, *Fault)
	// Skip says why an entry that stands at Key is no MCP server, or "". Default: all are.
	Skip func(n *jsonc.Node) string

	// Words are the keys of package config that the program itself knows, with its words where
	// they differ, such as "args env=envs". A key that is not among them is written under the
	// key of package config, which the program does not heed. "tools.allow" and "tools.deny" are
	// the lists of tools of a program that has them in keys of their own. "enabled" is "disabled"
	// in a program that has the opposite of it. A "/" leads into an object.
	Words string
	// Renames are other keys of the program with what they are in package config; one that is ""
	// says nothing. Foreign are those that mean nothing here, and Keys those that Translate
	// reads, for the hints on misspelled ones.
	Renames       map[string]string
	Foreign, Keys []string
	// Translate returns what an entry says in the vocabulary of package config; the fields are
	// those of the entry, under the keys of Words and Renames. The value of the entry is an
	// object. Default: these fields.
	Translate func(e *Entry, fields []Field) ([]Field, []Fault)

	// Inputs returns the node that lists what the user is asked for, and its path; nil
	// if the file has none. A nil function: the dialect has no inputs.
	Inputs func(root *jsonc.Node) (*jsonc.Node, jsonc.Path)
	// Literal says that $VAR without braces stays as it is, as in that program.
	Literal bool
	// Scalars says that a variable may be a number, or null, which sets none.
	Scalars bool
	// InProject says that a relative "cwd" starts at the folder of the project, and not at
	// that of the file.
	InProject bool
	// Snake says that the file's program writes keys in snake_case, so that ours may
	// be written in it too.
	Snake bool

	// Writes says how entries are written. Default of its Container: Key; its Keys are those of
	// Words. Form changes it for the file with that root, which is nil for a new one.
	Writes Writing
	Form   func(root *jsonc.Node, w *Writing)
}

// LikenessOf says how sure it is that a file is of a kind.
func LikenessOf(d *Dialect, filename string, root *jsonc.Node) Likeness {
	if d.Like != nil {
		return d.Like(filename, root)
	}
	return CertainIf(root.Member(d.Key) != nil)
}

// SectionsOf returns the parts of a file that hold servers, strongest first.
func SectionsOf(d *Dialect, root *jsonc.Node) ([]Section, *Fault) {
	if d.Sections != nil {
		return d.Sections(root)
	}
	list, fault := Under(root, "", d.Key, d.Absent, d.Kinds...)
	for _, section := range list {
		for i := range section.Entries {
			if e := &section.Entries[i]; d.Skip != nil {
				e.Skip = d.Skip(e.Value)
			}
		}
	}
	return list, fault
}

// renames returns what the keys of the program are in package config, if that reads them otherwise.
func renames(d *Dialect) map[string]string {
	keys := map[string]string{}
	for key, word := range Spelled(d.Words) {
		switch {
		case key == word || strings.Contains(word, "/") || word == "type" || word == "disabled" || key == "args" && d.Writes.CommandLine:
		case key == "connectTimeoutSeconds" && d.Writes.Milliseconds:
			keys[word] = ConnectMilliseconds
		default:
			keys[word] = cmp.Or(map[string]string{"tools.allow": "includeTools", "tools.deny": "disabledTools"}[key], key)
		}
	}
	maps.Copy(keys, d.Renames)
	return keys
}

// KnownKeys are the keys of an entry that are the program's own.
func KnownKeys(d *Dialect) []string {
	return slices.Concat(d.Keys, d.Foreign, slices.Collect(maps.Keys(renames(d))))
}

// FieldsOf returns what an entry says, in the vocabulary of package config.
func FieldsOf(d *Dialect, e *Entry) ([]Field, []Fault) {
	fields := Fields(e, renames(d))
	for i := range fields {
		fields[i].Foreign = slices.Contains(d.Foreign, fields[i].Written)
	}
	if d.Translate == nil {
		return fields, nil
	}
	return d.Translate(e, fields)
}

// WritingOf says how entries are written in the file with that root, which is nil for a new file.
func WritingOf(d *Dialect, root *jsonc.Node) *Writing {
	w := d.Writes
	w.Keys, w.Notes = Spelled(d.Words), map[string]string{}
	maps.Copy(w.Notes, d.Writes.Notes)
	if d.Key != "" {
		w.Container = []string{d.Key}
	}
	if d.Form != nil {
		d.Form(root, &w)
	}
	return &w
}

// A Document is a config file as a tree, with the places of its entries.
type Document struct {
	Dialect  *Dialect        // of the file's program
	Tree     *jsonc.Document // all of the file
	Sections []Section       // strongest first; nil if the file has no place for servers
	Skipped  []string        // titles of entries that are no servers
	Folder   string          // of the file, absolute
	Writing  *Writing        // how entries are written

	ToldOff bool // it is known in which words the file's program is told that a server is off
	Seconds bool // its key "timeout" counts seconds

	// Fields returns what an entry says, in our words.
	Fields func(e *Entry) []Field
}

// A Section is a part of a file that holds servers.
type Section struct {
	// Container is the object or array that holds them; At is its path.
	Container *jsonc.Node
	At        jsonc.Path
	// Project is the folder that the section is for, "" for all.
	Project string
	// Entries are the servers in file order.
	Entries []Entry
}

// An Entry is one server, as found in the file.
type Entry struct {
	Title  string      // the name as written
	At     jsonc.Path  // of the entry
	Offset int         // of its name, or of the entry if the name stands inside
	Value  *jsonc.Node // what describes it
	Fault  *Fault      // why it has no usable name, or nil
	Listed bool        // it stands in a list, its name inside of it
	Local  bool        // it stands in a section for one project
	Skip   string      // why it is no MCP server, or ""
}

// Keys of fields that stand in no file: a command with its arguments in one list,
// timeouts in the other unit, and scopes outside of "auth".
const (
	CommandLine         = "(command and arguments)"
	Scopes              = "(scopes)"
	ConnectMilliseconds = "(connect timeout in milliseconds)"
	ReadMilliseconds    = "(read timeout in milliseconds)"
)

// A Field is one thing that an entry says.
type Field struct {
	Key     string      // in the vocabulary of package config, such as "command"
	Written string      // the key as written, "" if it stands deeper than in the entry
	At      jsonc.Path  // of the value, as written
	Offset  int         // of the key as written
	Value   *jsonc.Node // as written, or made from it at the same offset

	// Foreign says that the key is the other program's, whatever it means here: it is
	// kept, and nothing is said of it.
	Foreign bool

	// Name, if set, makes the field one member of the object Key: the variable or
	// header of that name.
	Name string
	// Optional says that the field is as good as absent if it refers to a variable
	// that is not set.
	Optional bool
	// Fallback is used in place of the text of Value if that refers to a variable
	// that is not set.
	Fallback string
}

// A Fault is something wrong at a place of the file.
type Fault struct {
	Offset  int
	At      jsonc.Path
	Text    string // what is wrong and how to cure it
	Warning bool   // it puts the entry not out of use
	Absent  bool   // the file has no place for servers at all
}
