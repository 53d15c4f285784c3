package registry

import (
	"fmt"

	"github.com/mcpbelt/mcpbelt/internal/plain"
	"github.com/mcpbelt/mcpbelt/mcp"
)

// An UnknownToolError reports a call to a name that is not in the catalogue.
// Its text is made for the model that chose the name.
//
//cure:take a name of the catalogue; the text proposes the nearest
type UnknownToolError struct {
	Name        string   // the name that was called
	Suggestions []string // up to three names of the catalogue, the nearest first
}

func (e *UnknownToolError) Error() string {
	text, before := "unknown tool "+plain.Quote(e.Name), "; did you mean "
	for i, s := range e.Suggestions {
		text += before + plain.Quote(s)
		if before = ", "; i == len(e.Suggestions)-2 {
			before = " or "
		}
	}
	if len(e.Suggestions) > 0 {
		text += "?"
	}
	return text
}

// Outcome returns [mcp.NotSent]: nothing ran.
func (e *UnknownToolError) Outcome() mcp.Outcome { return mcp.NotSent }

// An ArgumentsError reports arguments that a tool does not accept. The tool did
// not run. The text names each wrong property and what is expected there, but
// no value; it is made for the model that wrote the arguments.
//
//cure:give the text to the model, which writes the arguments again
type ArgumentsError struct {
	Tool     string    // name of the tool
	Problems []Problem // what is wrong, by place, the first few; nil if Err has no places
	Err      error     // the same in words, and how to put it right
}

func (e *ArgumentsError) Error() string {
	return plain.Text(fmt.Sprintf("arguments of tool %s: %v", plain.Quote(e.Tool), e.Err))
}

func (e *ArgumentsError) Unwrap() error { return e.Err }

// Outcome returns [mcp.NotSent]: nothing ran.
func (e *ArgumentsError) Outcome() mcp.Outcome { return mcp.NotSent }

// A DefinitionError reports a tool that cannot be listed as it is defined.
//
//cure:correct the definition as it says
type DefinitionError struct {
	Tool  string // name of the tool; empty if it has none
	Field string // what is wrong, such as "Name" or "InputSchema"; may be empty
	Err   error  // what is wrong with it
}

func (e *DefinitionError) Error() string {
	text := "registry: "
	if e.Tool != "" {
		text += "tool " + plain.Quote(e.Tool) + ": "
	}
	if e.Field != "" {
		text += e.Field + " "
	}
	return text + plain.Text(e.Err.Error())
}

func (e *DefinitionError) Unwrap() error { return e.Err }

// Outcome returns [mcp.NotSent]: nothing ran.
func (e *DefinitionError) Outcome() mcp.Outcome { return mcp.NotSent }

// A ResultError reports a tool that ran but returned no usable result: nil, a
// value that JSON cannot hold, or one that does not match the tool's output
// schema. It is a defect of the tool.
//
//cure:correct the tool, or its output schema
type ResultError struct {
	Tool     string              // name of the tool
	Result   *mcp.CallToolResult // what the tool returned, if it can be had
	Problems []Problem           // what is wrong with the structured content, by place, the first few
	Err      error               // what is wrong with the result
}

func (e *ResultError) Error() string {
	return plain.Text(fmt.Sprintf("result of tool %s: %v", plain.Quote(e.Tool), e.Err))
}

func (e *ResultError) Unwrap() error { return e.Err }

// Outcome returns [mcp.Answered]: the tool ran.
func (e *ResultError) Outcome() mcp.Outcome { return mcp.Answered }

// A PanicError reports a native tool that panicked. Its effects before that are not
// known, so the outcome of the call is [mcp.Unknown].
//
//cure:correct the tool; the log has the stack
type PanicError struct {
	Tool  string // name of the tool
	Value any    // what the tool panicked with
	Stack []byte // the stack of the panic; not part of the error's text
}

func (e *PanicError) Error() string {
	return fmt.Sprintf("tool %s panicked: %v", plain.Quote(e.Tool), e.Value)
}

// Unwrap returns Value if it is an error, otherwise nil.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// Outcome returns [mcp.Unknown], whatever Value may know of another call.
func (e *PanicError) Outcome() mcp.Outcome { return mcp.Unknown }

// A Problem is one thing wrong with arguments or with a result. It never holds a
// value, for values can be secrets. Text of a schema, and names in a value, are shortened
// in it and safe at a terminal.
type Problem struct {
	// Path is the place, as in items[0].name or ['a b'].c, cut off if it is long;
	// empty for the whole.
	Path string
	// Want is what must be there, such as "an integer from 1 to 10"; empty if the
	// schema does not know the property.
	Want string
	// Got is what is there, such as "a string"; empty if the property is missing.
	Got string
	// Hint is what else helps, such as the names of the known properties; may be
	// empty.
	Hint string
}

// String returns the problem as a sentence without an end, for a person or a
// model: "limit" must be an integer, not a string.
func (p Problem) String() string {
	where := ""
	if p.Path != "" {
		where = `"` + p.Path + `" `
	}
	var text string
	switch {
	case p.Want == "":
		text = where + "is not known"
	case p.Got == "":
		text = where + "is missing; it must be " + p.Want
	default:
		text = where + "must be " + p.Want + ", not " + p.Got
	}
	if p.Hint != "" {
		text += "; " + p.Hint
	}
	return text
}
