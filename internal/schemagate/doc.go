// Package schemagate compiles the JSON Schemas of untrusted servers, and checks values
// against them.
//
// # What a schema can do to its reader
//
// A schema is a program. Twelve bytes of it can refer to themselves without
// end, a few hundred can ask for 2 to the 40 checks, and a reference can name a
// file or an address that its reader then opens. So a gate stands before the
// validator. It reads the schema itself, follows every reference, and refuses
// what is too large, leaves the document, or comes back to where it was without
// having gone deeper into the value. It rewrites the schemas that it lets through: each
// reference is then a pointer into the same document, and no identifier, anchor or
// dialect is left that would have to be resolved.
//
// [Check] is that gate alone, for callers that list many schemas and use few: it costs a
// tenth of [Compile].
//
// # What a value can do
//
// A schema that passes can still be costly for a value made for it. Before a
// value is checked, its cost is counted along the schema's graph, never less
// than what the validator will spend, and a value beyond the budget is refused.
// Time and memory are bounded that way, without a clock.
//
// # The verdict
//
// Whether a value fits is decided by github.com/santhosh-tekuri/jsonschema, for
// 2020-12, 2019-09, draft-07 and draft-06.
package schemagate
