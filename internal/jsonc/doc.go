// Package jsonc reads JSON with comments and trailing commas into a small tree
// that remembers where in the source everything stood.
//
// It is made for configuration files that people write by hand: // and /* */
// comments and a comma before a closing bracket are allowed, a byte order mark
// at the start is skipped, and every error says line, column and key path. In
// all else it is stricter than encoding/json: a duplicate key, invalid UTF-8, a
// control character, nesting deeper than [MaxDepth] or anything after the value
// is an error.
//
// No error text repeats the value of a string or number of the document:
// configuration files hold secrets.
package jsonc
