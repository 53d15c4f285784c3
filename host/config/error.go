package config

import (
	"cmp"
	"fmt"
	"slices"
)

// An Error is one thing wrong with a config file.
//
//cure:correct the place that it names: file, line and key
type Error struct {
	File string // as given to [Load] or [Parse]

	// Line and Column count from 1, Column in bytes. Both are 0 if the file
	// could not be read at all.
	Line, Column int

	// Key is the path of the value, such as mcpServers.github.env.TOKEN, or
	// empty for the whole file.
	Key string

	// Err says what is wrong and how to cure it. It never holds a value from
	// the file.
	Err error
}

// Error returns "file:line:column: key: what is wrong".
func (e *Error) Error() string {
	text := e.File
	if e.Line > 0 {
		text += fmt.Sprintf(":%d:%d", e.Line, e.Column)
	}
	if e.Key != "" {
		text += ": " + e.Key
	}
	return text + ": " + e.Err.Error()
}

// Unwrap returns e.Err.
func (e *Error) Unwrap() error { return e.Err }

// sortErrors puts errs, all of one file, in file order.
func sortErrors(errs []*Error) {
	slices.SortStableFunc(errs, func(a, b *Error) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
}

// An UnsetVariableError says that a value uses an environment variable that is
// not set.
//
//cure:set the variable, or give it a default as in ${NAME:-default}
type UnsetVariableError struct {
	Name string // of the variable
}

func (e *UnsetVariableError) Error() string {
	return fmt.Sprintf("the variable %s is not set: set it or write ${%[1]s:-default}", e.Name)
}

// A NoServersError says that a file has no place for servers at all: it may be the
// settings of a program, and nothing be wrong with it.
//
//cure:name the file that has the servers
type NoServersError struct{ cure string }

func (e *NoServersError) Error() string { return e.cure }
