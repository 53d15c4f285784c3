package gate

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"

	"github.com/mcpbelt/mcpbelt/internal/schemagate"
	"github.com/mcpbelt/mcpbelt/internal/textguard"
)

// Options are the options of a [Gate], which all tools of servers pass
// before they are listed. Zero means the default, and a negative limit that there is none,
// but for what is said to be the most. Native tools do not pass it.
type Options struct {
	// MaxTools is how many tools of one server are listed. Default: 5,000.
	MaxTools int
	// MaxBytes is how large all tools of one server are together, in bytes of
	// names, texts and schemas. Default: 32 MiB.
	MaxBytes int
	// MaxName is the length of a tool's name at its server, in bytes.
	// Default: 128.
	MaxName int
	// MaxDescription is the length of a tool's description, and of each text in
	// its schemas, in bytes. Default: 16 KiB.
	MaxDescription int
	// MaxSchemaBytes is the length of each schema. Default, and most: 256 KiB.
	MaxSchemaBytes int
	// MaxSchemaDepth is how deep objects and arrays are nested in a schema.
	// Default, and most: 64.
	MaxSchemaDepth int
	// MaxSchemaNodes is how many JSON values are in a schema. Default, and most:
	// 8,192.
	MaxSchemaNodes int
	// Severity, if set, replaces the severity of each finding. It must be a pure
	// function, safe for concurrent use. A tool with a finding that makes it
	// unusable, such as a schema that cannot be read, is blocked all the same.
	Severity func(server, tool string, f Finding) Severity
}

func (o Options) withDefaults() Options {
	for _, limit := range []struct {
		value *int
		usual int
	}{
		{&o.MaxTools, 5_000},
		{&o.MaxBytes, 32 << 20},
		{&o.MaxName, 128},
		{&o.MaxDescription, 16 << 10},
	} {
		switch {
		case *limit.value == 0:
			*limit.value = limit.usual
		case *limit.value < 0:
			*limit.value = math.MaxInt
		}
	}
	return o
}

// A Tool is what a server says of one of its tools.
type Tool struct {
	Server       string          // configured name of the server
	Name         string          // of the tool there
	Title        string          // may be empty
	Description  string          // may be empty
	InputSchema  json.RawMessage // of the arguments
	OutputSchema json.RawMessage // of structured results; nil if there is none
	Annotations  json.RawMessage // a JSON object; nil if there are none
}

// A Gate judges tools by what their servers say of them. It is safe for concurrent
// use, and never changed.
type Gate struct {
	opts  Options
	guard *textguard.Guard
}

// New returns a gate with these options.
func New(opts Options) *Gate {
	return &Gate{opts.withDefaults(), textguard.NewGuard()}
}

// made returns a gate without options for a nil or zero one.
func (g *Gate) made() *Gate {
	if g == nil || g.guard == nil {
		return New(Options{})
	}
	return g
}

// Check returns what is to be said of one tool by itself, the severest first. It
// is a pure function of its arguments. It takes time in proportion to the tool.
func (g *Gate) Check(tool *Tool) []Finding {
	if tool == nil {
		return nil
	}
	g = g.made()
	found := g.findings(tool)
	g.checkName(found, tool.Name)
	t := texts{visit: func(path []byte, text string, _ bool) { g.checkText(found, path, text) }}
	t.outside(tool)
	for _, s := range tool.schemas() {
		raw, old := schemagate.Modern(s.raw)
		if old {
			found.add(TokenOldSchema, Note, s.field, "", 0, 0, "it has keywords of draft 4, and is listed with those of today")
		}
		if err := g.checkSchema(raw); err != nil {
			found.add(tokenOf(err), Block, s.field+err.Path, "", 0, 0, err.Detail)
			continue
		}
		t.document(s.field, s.raw)
	}
	return found.sorted()
}

// A schemaOf is a schema of a tool, and its name there.
type schemaOf struct {
	field string
	raw   json.RawMessage
}

func (t *Tool) schemas() []schemaOf {
	all := []schemaOf{{"/inputSchema", t.InputSchema}}
	if len(t.OutputSchema) > 0 {
		all = append(all, schemaOf{"/outputSchema", t.OutputSchema})
	}
	return all
}

// checkSchema refuses what could not be compiled later.
func (g *Gate) checkSchema(raw json.RawMessage) *schemagate.SchemaError {
	err := schemagate.Check(raw, schemagate.Limits{Bytes: g.opts.MaxSchemaBytes, Depth: g.opts.MaxSchemaDepth, Nodes: g.opts.MaxSchemaNodes})
	var refused *schemagate.SchemaError
	switch {
	case errors.As(err, &refused):
		return refused
	case !beginsObject(raw):
		return &schemagate.SchemaError{Token: schemagate.Invalid, Detail: "it is not an object"}
	}
	return nil
}

// tokenOf returns the gate's token for a schema that was refused.
func tokenOf(err *schemagate.SchemaError) Token {
	if err.Token == schemagate.Invalid {
		return TokenInvalidSchema
	}
	return Token(err.Token)
}

// unusable reports whether a tool cannot be used, whatever is thought of it.
func (f *Finding) unusable() bool {
	switch f.Token {
	case TokenInvalidSchema, TokenSchemaCycle, TokenRemoteRef, TokenDynamicRef, TokenUnresolvedRef, TokenDialect, TokenPattern,
		TokenTooLarge, TokenTooDeep, TokenTooManyNodes, TokenTooComplex:
		return true
	case TokenInvalidName:
		return f.Severity == Block
	}
	return false
}

// Admit holds all the tools of a server against the limits on their number and
// size together. It returns a finding for each one that is too much: in the order
// of tools, those that come when the others are enough. One that is too large by
// itself keeps out none that follow.
func (g *Gate) Admit(tools []*Tool) map[*Tool]Finding {
	g = g.made()
	surplus := map[*Tool]Finding{}
	count, total := 0, 0
	for _, tool := range tools {
		if tool == nil {
			continue
		}
		found := g.findings(tool)
		size := tool.size()
		switch {
		case count >= g.opts.MaxTools:
			found.add(TokenTooManyTools, Block, "", "", 0, 0, fmt.Sprintf("the server lists %d tools, %d are allowed", len(tools), g.opts.MaxTools))
		case size > g.opts.MaxBytes-total:
			found.add(TokenCatalogTooLarge, Block, "", "", 0, 0, fmt.Sprintf("with it, the server's tools have %d bytes, %d are allowed", total+size, g.opts.MaxBytes))
		default:
			count, total = count+1, total+size
			continue
		}
		surplus[tool] = found.list[0]
		if found.list[0].Severity < Block {
			count, total = count+1, total+size
		}
	}
	return surplus
}

// size returns the bytes of what the server says of the tool.
func (t *Tool) size() int {
	return len(t.Name) + len(t.Title) + len(t.Description) + len(t.InputSchema) + len(t.OutputSchema) + len(t.Annotations)
}

// beginsObject reports whether JSON that may be anything begins like an object.
func beginsObject(raw json.RawMessage) bool {
	return bytes.HasPrefix(bytes.TrimLeft(raw, " \t\r\n"), []byte("{"))
}
