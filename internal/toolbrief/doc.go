// Package toolbrief tells the parameters of a tool in one short line, made from its
// JSON Schema.
package toolbrief
