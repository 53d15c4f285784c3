// Package jsonedit changes JSON with comments and trailing commas in place: what a change does
// not touch keeps its bytes, and what is new looks like what stands around it. Package
// [jsonc] reads it.
package jsonedit
