package registry

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mcpbelt/mcpbelt/internal/plain"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry/ledger"
	"github.com/mcpbelt/mcpbelt/registry/names"
)

// definitionOf asks t for its definition. It fails for tools that have none.
func definitionOf(t Tool) (*Definition, error) {
	if v := reflect.ValueOf(t); !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil() {
		return nil, &DefinitionError{Err: errors.New("the tool is nil")}
	}
	def := t.Definition()
	if def == nil {
		return nil, &DefinitionError{Err: fmt.Errorf("a %T has no definition", t)}
	}
	return def, nil
}

// Surface returns what a server says of the tool, as a [ledger.Ledger] compares it, by [ledger.Compare]. The names
// that the tool is called by here do not count.
func (d *Definition) Surface() *ledger.Surface { return ledger.NewSurface(d.said()) }

// said returns what a server says of a tool.
func (d *Definition) said() *ledger.Tool {
	return &ledger.Tool{Name: d.called(), Title: d.Title, Description: d.Description,
		InputSchema: d.InputSchema, OutputSchema: d.OutputSchema, Annotations: annotationsOf(d)}
}

// annotationsOf returns the annotations as the server sent them, as far as that
// is known; nil if there are none.
func annotationsOf(def *Definition) json.RawMessage {
	raw := def.RawAnnotations
	if len(raw) == 0 && def.Annotations != nil {
		raw = annotationsJSON(def.Annotations)
	}
	return raw
}

// annotationsJSON leaves out what a server need not have said, so that it is the
// same whether raw annotations were kept or not.
func annotationsJSON(a *mcp.ToolAnnotations) json.RawMessage {
	raw, _ := json.Marshal(struct { // there are only texts and booleans
		Destructive *bool  `json:"destructiveHint,omitempty"`
		Idempotent  bool   `json:"idempotentHint,omitempty"`
		OpenWorld   *bool  `json:"openWorldHint,omitempty"`
		ReadOnly    bool   `json:"readOnlyHint,omitempty"`
		Title       string `json:"title,omitempty"`
	}{a.DestructiveHint, a.IdempotentHint, a.OpenWorldHint, a.ReadOnlyHint, a.Title})
	return raw
}

// A Tool is something that a model can call by name.
//
// Both methods are safe for concurrent use.
type Tool interface {
	// Definition describes the tool. It returns the same value each time, and
	// that value never changes: share it, never mutate it.
	Definition() *Definition

	// Call runs the tool. Args is a JSON object; empty or null means {}.
	//
	// A failure of the tool itself, which the model should read, is a result
	// with IsError set. An error means that there is no result, and
	// [mcp.OutcomeOf] tells whether the tool may have run.
	Call(ctx context.Context, args json.RawMessage) (*mcp.CallToolResult, error)
}

// A Definition describes a tool to models, to people and to policies.
type Definition struct {
	// Name is what the tool is called by, unique in its registry. The tool of a
	// server may have none of its own; the registry then names it by its [names.Scheme].
	Name string `json:"name"`
	// Alias takes the place of Origin.Tool in such a name; empty: it does not.
	Alias string `json:"alias,omitempty"`
	// Title is a name for people; empty if there is none.
	Title string `json:"title,omitempty"`
	// Description tells the model what the tool does and when to use it.
	Description string `json:"description,omitempty"`
	// InputSchema is the JSON Schema of the arguments, always a JSON object.
	// A server's schema is kept byte for byte.
	InputSchema json.RawMessage `json:"inputSchema"`
	// OutputSchema is the JSON Schema of the structured content; nil if none.
	OutputSchema json.RawMessage `json:"outputSchema,omitempty"`
	// Annotations are hints about the tool; nil if there are none. Those of a
	// server are claims of an untrusted party unless the server is trusted.
	Annotations *mcp.ToolAnnotations `json:"annotations,omitempty"`
	// RawAnnotations are the annotations as the server sent them, with what
	// Annotations has no field for; nil if there are none or they were not kept.
	RawAnnotations json.RawMessage `json:"rawAnnotations,omitempty"`
	// Raw is the whole definition as the server sent it, byte for byte, with the members
	// that the other fields have no place for, and with the server's own name of the tool
	// (Origin.Tool). It is nil for a native tool, and if the title, the description, a
	// schema or the annotations are not those that the server sent, or if anything in it
	// would have to be hidden from models. Definitions that differ in Raw alone count as
	// equal. In memory the schemas are parts of it.
	Raw json.RawMessage `json:"-"`
	// ReturnDirect says that the result is the answer to the user: an agent shows it to
	// them as it is, and gives the model [result.Withheld] in its place.
	ReturnDirect bool `json:"returnDirect,omitempty"`
	// Origin tells where the tool comes from.
	Origin Origin `json:"origin,omitzero"`

	page      string      // the URI of its app at its server; empty: it has none
	appOnly   bool        // its server has it for its apps (MCP Apps), not for models
	modelOnly bool        // its server does not have it for its apps
	derived   bool        // Name follows from Alias and Origin, by some scheme
	served    *Definition // the server's own words, where others took their place; nil: these are
}

// An Origin is where a tool comes from.
type Origin struct {
	Server string `json:"server"` // configured name of the server; empty for a native tool
	Tool   string `json:"tool"`   // name of the tool there; empty for a native tool
}

// String returns `tool "create" of server "notes"`, or "a native tool".
func (o Origin) String() string {
	if o.Server == "" {
		return "a native tool"
	}
	return fmt.Sprintf("tool %q of server %q", o.Tool, o.Server)
}

// With returns a tool that calls t and is described by an edited copy of t's
// definition. Edit may change any field, the name included.
//
// With changes what is listed: a tool made by [Func] goes on checking arguments
// against the schema of its Go type, a tool made by [Remote] goes on calling the
// server's tool of the original name, and a [ledger.Ledger] goes on comparing what the
// server says of it. A new Name is kept as it is; a new Alias makes a registry
// name the tool by it. An edit of Annotations takes RawAnnotations away, unless it
// changes them too; one of the annotations, the title, the description or a schema takes
// Raw away.
//
// The error is a [*DefinitionError], also if t is nil.
func With(t Tool, edit func(*Definition)) (Tool, error) {
	before, err := definitionOf(t)
	if err != nil {
		return nil, err
	}
	def := before.clone()
	if edit != nil {
		edit(def)
		if !reflect.DeepEqual(def.Annotations, before.Annotations) && bytes.Equal(def.RawAnnotations, before.RawAnnotations) {
			def.RawAnnotations = nil // what was said of the tool does not count any more
		}
		if !def.saysAs(before) {
			def.Raw = nil
		}
	}
	if def.derived = before.derived && def.Name == before.Name && def.Origin == before.Origin; def.derived {
		def.Name = names.ServerTool.Name(def.Origin.Server, def.localName())
	}
	if err := def.validate(); err != nil {
		return nil, err
	}
	return redefine(t, def), nil
}

// redefine returns a tool that calls t and is described by def.
func redefine(t Tool, def *Definition) Tool {
	if r, ok := t.(redefiner); ok {
		return r.redefine(def)
	}
	return &redefined{t, def}
}

// A redefiner is a tool that can be described anew without a wrapper, so that
// its own errors carry the new name.
type redefiner interface{ redefine(*Definition) Tool }

type redefined struct {
	Tool
	def *Definition
}

func (t *redefined) Definition() *Definition { return t.def }

func (t *redefined) redefine(def *Definition) Tool { return &redefined{t.Tool, def} }

// called returns what the tool is called at its server, as far as is known.
func (d *Definition) called() string {
	return cmp.Or(d.Origin.Tool, d.Name)
}

// localName returns what the tool is called among those of its server.
func (d *Definition) localName() string {
	return cmp.Or(d.Alias, d.Origin.Tool)
}

// asServed returns the definition in the server's own words.
func (d *Definition) asServed() *Definition {
	return cmp.Or(d.served, d)
}

// DisplayName returns what the tool is called before people: "github:create_issue
// (MCP)" for a server's, the title or else the name for a native one. It is one
// line; characters that could deceive a reader are shown as their numbers.
func (d *Definition) DisplayName() string {
	if d.Origin.Server != "" {
		return plain.Line(d.Origin.Server+":"+d.Origin.Tool) + " (MCP)"
	}
	return plain.Line(cmp.Or(strings.TrimSpace(d.Title), d.Name))
}

// saysAs reports whether models are told the same by both definitions, but for the name.
func (d *Definition) saysAs(o *Definition) bool {
	return d.Title == o.Title && d.Description == o.Description &&
		bytes.Equal(d.InputSchema, o.InputSchema) && bytes.Equal(d.OutputSchema, o.OutputSchema) &&
		bytes.Equal(d.RawAnnotations, o.RawAnnotations) && reflect.DeepEqual(d.Annotations, o.Annotations)
}

// clone returns a copy that may be edited.
func (d *Definition) clone() *Definition {
	c := *d
	if c.Origin.Server != "" {
		c.served = d.asServed()
	}
	c.InputSchema = bytes.Clone(d.InputSchema)
	c.OutputSchema = bytes.Clone(d.OutputSchema)
	c.Annotations = cloneAnnotations(d.Annotations)
	c.RawAnnotations = bytes.Clone(d.RawAnnotations)
	c.Raw = bytes.Clone(d.Raw)
	return &c
}

func cloneAnnotations(a *mcp.ToolAnnotations) *mcp.ToolAnnotations {
	if a == nil {
		return nil
	}
	c := *a
	if a.DestructiveHint != nil {
		c.DestructiveHint = new(*a.DestructiveHint)
	}
	if a.OpenWorldHint != nil {
		c.OpenWorldHint = new(*a.OpenWorldHint)
	}
	return &c
}

func (d *Definition) equal(o *Definition) bool {
	return d.Name == o.Name && d.Origin == o.Origin && d.ReturnDirect == o.ReturnDirect && d.page == o.page && d.appOnly == o.appOnly && d.modelOnly == o.modelOnly && d.Alias == o.Alias && d.saysAs(o)
}

// maxName bounds names in the catalogue, in bytes. The protocol allows a tool's
// name 128; as much again is left for the name of its server.
const maxName = 256

// validate refuses what would harm the other tools of a listing: one schema
// that is no JSON makes the whole list impossible to encode.
func (d *Definition) validate() error {
	switch {
	case d.Name == "":
		return &DefinitionError{Field: "Name", Err: errors.New("is empty")}
	case len(d.Name) > maxName:
		return &DefinitionError{Tool: d.Name, Field: "Name", Err: fmt.Errorf("has %d bytes, at most %d are allowed", len(d.Name), maxName)}
	case !utf8.ValidString(d.Name) || strings.ContainsFunc(d.Name, unicode.IsControl):
		return &DefinitionError{Tool: d.Name, Field: "Name", Err: errors.New("contains control characters or invalid UTF-8")}
	case !isObject(d.InputSchema):
		return &DefinitionError{Tool: d.Name, Field: "InputSchema", Err: errors.New("is not a JSON object")}
	case len(d.OutputSchema) > 0 && !isObject(d.OutputSchema):
		return &DefinitionError{Tool: d.Name, Field: "OutputSchema", Err: errors.New("is not a JSON object")}
	}
	return nil
}

func isObject(data json.RawMessage) bool {
	return firstByte(data) == '{' && json.Valid(data)
}

// firstByte returns the first byte of data that is not JSON white space, or 0.
func firstByte(data []byte) byte {
	for _, c := range data {
		if c != ' ' && c != '\t' && c != '\r' && c != '\n' {
			return c
		}
	}
	return 0
}

// App returns the URI, at the tool's server, of the page on which results of the tool are shown (MCP Apps), such as
// "ui://clock/view.html"; empty if the tool has none. Package host/apps shows it.
func (d *Definition) App() string { return d.page }

// ForModels reports whether models are told of the tool and may call it (MCP Apps, Visibility).
func (d *Definition) ForModels() bool { return !d.appOnly }

// ForApps reports whether the tool may be called by the apps of its server, and by no others (MCP Apps, Visibility).
func (d *Definition) ForApps() bool { return d.Origin.Server != "" && !d.modelOnly }
