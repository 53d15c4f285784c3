package schemagate

import (
	"fmt"

	"github.com/mcpbelt/mcpbelt/internal/plain"
)

// A Token names the reason why a schema was refused. Tokens are stable: they may
// be stored and compared.
type Token string

// The reasons why a schema is refused.
const (
	// TooLarge: the schema is longer than [MaxBytes].
	TooLarge Token = "too_large"
	// TooDeep: it is nested deeper than [MaxDepth], or its references are
	// longer in a row than [MaxChain].
	TooDeep Token = "too_deep"
	// TooManyNodes: it holds more values than [MaxNodes].
	TooManyNodes Token = "too_many_nodes"
	// TooComplex: written out it is larger than [MaxExpansion].
	TooComplex Token = "too_complex"
	// RemoteRef: a reference leaves the document.
	RemoteRef Token = "remote_ref"
	// DynamicRef: it uses $dynamicRef or $recursiveRef.
	DynamicRef Token = "dynamic_ref"
	// UnresolvedRef: a reference leads to nothing, or to no schema.
	UnresolvedRef Token = "unresolved_ref"
	// SchemaCycle: a schema refers to itself for one and the same value.
	SchemaCycle Token = "schema_cycle"
	// Dialect: $schema names a dialect that is not supported.
	Dialect Token = "dialect"
	// Pattern: a regular expression is too large, or none of RE2 where it cannot be
	// overlooked.
	Pattern Token = "pattern"
	// Invalid: it is not JSON, or no schema of its dialect.
	Invalid Token = "invalid_schema"
)

// A SchemaError says why a schema was refused.
type SchemaError struct {
	Token  Token
	Path   string // JSON pointer into the schema, cut off if it is long; empty for the whole
	Detail string // in plain words; may quote the schema, shortened
}

func (e *SchemaError) Error() string {
	where := "the schema"
	if e.Path != "" {
		where += " at " + e.Path
	}
	return fmt.Sprintf("%s: %s (%s)", where, e.Detail, e.Token)
}

func refuse(token Token, path, format string, args ...any) *SchemaError {
	return &SchemaError{token, shorten(path), fmt.Sprintf(format, args...)}
}

// shorten returns a text of a server or a model on one line, cut, and with nothing in
// it that a terminal would obey.
func shorten(text string) string { return plain.Cut(plain.Line(plain.Cut(text, maxText)), maxText) }

func quote(text string) string { return plain.Quote(text) }
