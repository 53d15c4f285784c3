package record

import (
	"cmp"
	"strings"

	"github.com/mcpbelt/mcpbelt/internal/plain"
)

// A Code says what is wrong with a record, in a form that does not change.
type Code string

// The codes.
const (
	codeNameRequired         Code = "name_required"          // there is no name
	codeNameInvalid          Code = "name_invalid"           // it is not 1-128 of the letters that a name has
	CodeNameTaken            Code = "name_taken"             // another server has it
	codeTransportUnsupported Code = "transport_unsupported"  // none of the Transport constants
	codeCommandRequired      Code = "stdio_command_required" // a local server without command
	codeURLRequired          Code = "http_url_required"      // a remote server without URL
	CodeNotFound             Code = "not_found"              // there is no server of that name
	CodeBuiltinReadOnly      Code = "builtin_readonly"       // what belongs to the program cannot be removed
	CodeConflict             Code = "conflict"               // the record has changed meanwhile
	codeFieldUnknown         Code = "field_unknown"          // there is no such field
	CodeValueInvalid         Code = "value_invalid"          // a field cannot have that value
	codeMaskUnmatched        Code = "mask_unmatched"         // a masked value is not that of what is stored
	codeSecretMoved          Code = "secret_moved"           // a stored secret would go to another server or program
)

// An Error says why a record cannot be kept or changed.
//
// Two of them are the same to [errors.Is] if the one that is looked for has no more than the other one's Code:
//
//	errors.Is(err, &record.Error{Code: record.CodeNotFound})
//
//cure:see its code: the record is not there, was changed meanwhile, or is not right
type Error struct {
	Code  Code   // what is wrong
	Name  string // of the server, or empty
	Field string // path of the field, such as headers.Authorization, or empty
	Err   error  // what is wrong and how to cure it, or nil if the code says it; holds no value of the record
}

// Error returns the name, the field, and what is wrong.
func (e *Error) Error() string {
	var parts []string
	if e.Name != "" {
		parts = append(parts, "server "+plain.Line(e.Name))
	}
	if e.Field != "" {
		parts = append(parts, plain.Line(e.Field))
	}
	if e.Err != nil {
		parts = append(parts, e.Err.Error())
	} else {
		parts = append(parts, e.Code.text())
	}
	return strings.Join(parts, ": ")
}

// Unwrap returns e.Err.
func (e *Error) Unwrap() error { return e.Err }

// Is reports whether target is an Error of the same code that says no more.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.Code == e.Code && (t.Name == "" || t.Name == e.Name) && (t.Field == "" || t.Field == e.Field) && t.Err == nil
}

// text is what a code means and how to cure it.
func (c Code) text() string {
	return cmp.Or(map[Code]string{
		codeNameRequired:         "a server needs a name",
		codeNameInvalid:          "a name has 1 to 128 characters of A-Z, a-z, 0-9, _, -, . and blanks inside, at least one a letter or digit",
		CodeNameTaken:            "there is a server of that name: choose another name, or change that server",
		codeTransportUnsupported: "unknown transport: write stdio, http (streamable_http), sse, auto or unix",
		codeCommandRequired:      "a stdio server needs a command: write the program to run",
		codeURLRequired:          "a remote server needs a URL: write its https address",
		CodeNotFound:             "there is no such server",
		CodeBuiltinReadOnly:      "it belongs to the program and cannot be removed: disable it instead",
		CodeConflict:             "it has changed meanwhile: read it again and repeat the change",
		codeFieldUnknown:         "there is no such field",
		codeMaskUnmatched:        "is masked, and is not the mask of what is stored there: enter the value itself",
		codeSecretMoved:          "what is stored was entered for another address or program: enter it anew, or remove it",
	}[c], "is not a value that it can have")
}
