package registry

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"runtime/debug"
	"sync"

	"github.com/mcpbelt/mcpbelt/internal/canonjson"
	"github.com/mcpbelt/mcpbelt/internal/plain"
	"github.com/mcpbelt/mcpbelt/internal/schemagate"
	"github.com/mcpbelt/mcpbelt/internal/toolname"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry/internal/infer"
	"github.com/mcpbelt/mcpbelt/registry/result"
)

// Func makes a native tool from a Go function.
//
// Name has 1 to 128 of the characters A-Z a-z 0-9 _ - and the dot. [With] adds a
// title and annotations.
//
// # Arguments
//
// In is a struct or a map with string keys, and its JSON form is the tool's
// input schema: a field without omitempty or omitzero is required, a property
// that no field has is refused, and a field's "jsonschema" tag is its
// description. Types with a JSON or text form of their own, and [time.Time],
// []byte (base64) and the numbers of math/big, are taken in that form. For
// optional fields with a default, give In an UnmarshalJSON that sets it first.
//
// Arguments are checked against the schema and then decoded as by
// [json.Unmarshal], integers exactly. A value that does not fit fails with an
// [*ArgumentsError] that says where and what is expected.
//
// # Results
//
// A string becomes one block of text. A [*mcp.CallToolResult] is the result as
// it is. Any other value becomes structured content and, as JSON, a block of
// text; if Out is a struct or map its schema is the tool's output schema. Use
// any as Out for types that have no schema, such as recursive ones.
//
// An error of fn becomes a result with IsError whose text is the error's, for the
// model to read. If ctx has ended and the error says so, it is returned as an
// error instead. A panic in fn is returned as a [*PanicError].
//
// # Errors
//
// Func itself fails with a [*DefinitionError] if fn is nil, name is not valid,
// or a schema cannot be had: In is neither struct nor map, a type is recursive
// or has no JSON form.
func Func[In, Out any](name, description string, fn func(context.Context, In) (Out, error)) (Tool, error) {
	if err := toolname.Check(name); err != nil {
		return nil, &DefinitionError{Tool: name, Field: "Name", Err: err}
	}
	if fn == nil {
		return nil, &DefinitionError{Tool: name, Err: errors.New("the function is nil")}
	}
	inputJSON, err := infer.Arguments(reflect.TypeFor[In]())
	if err != nil {
		return nil, &DefinitionError{Tool: name, Field: "InputSchema", Err: err}
	}
	outputJSON, err := infer.Result(reflect.TypeFor[Out]())
	if err != nil {
		return nil, &DefinitionError{Tool: name, Field: "OutputSchema", Err: err}
	}
	def := &Definition{Name: name, Description: description, InputSchema: inputJSON, OutputSchema: outputJSON}
	compiled := sync.OnceValues(func() (*schemagate.Schema, error) { return schemagate.Compile(inputJSON) })
	return &function[In, Out]{def, compiled, fn}, nil
}

// MustFunc is like [Func] and panics on an error. It is for tools that are fixed
// in the program.
func MustFunc[In, Out any](name, description string, fn func(context.Context, In) (Out, error)) Tool {
	t, err := Func(name, description, fn)
	if err != nil {
		panic(err)
	}
	return t
}

type function[In, Out any] struct {
	def   *Definition
	input func() (*schemagate.Schema, error)
	fn    func(context.Context, In) (Out, error)
}

func (f *function[In, Out]) Definition() *Definition { return f.def }

func (*function[In, Out]) checksItself() {}

func (f *function[In, Out]) redefine(def *Definition) Tool {
	return &function[In, Out]{def, f.input, f.fn}
}

func (f *function[In, Out]) Call(ctx context.Context, args json.RawMessage) (result *mcp.CallToolResult, err error) {
	if err := ctx.Err(); err != nil {
		return nil, mcp.WithOutcome(fmt.Errorf("tool %s: %w", plain.Quote(f.def.Name), err), mcp.NotSent)
	}
	// In and Out may have methods of their own that panic, so decoding and
	// encoding are covered as well as fn.
	defer func() {
		if v := recover(); v != nil {
			result, err = nil, &PanicError{Tool: f.def.Name, Value: v, Stack: debug.Stack()}
		}
	}()

	var in In
	if err := f.decode(args, &in); err != nil {
		return nil, newArgumentsError(f.def.Name, err)
	}
	out, err := f.fn(ctx, in)
	if err != nil {
		if ctx.Err() != nil && (errors.Is(err, ctx.Err()) || errors.Is(err, context.Cause(ctx))) { // it is not a failure of the tool
			return nil, fmt.Errorf("tool %s: %w", plain.Quote(f.def.Name), err)
		}
		return &mcp.CallToolResult{IsError: true, Content: text(err.Error())}, nil
	}
	if result, err = encode(out); err != nil {
		return nil, &ResultError{Tool: f.def.Name, Err: err}
	}
	return result, nil
}

func (f *function[In, Out]) decode(args json.RawMessage, in *In) error {
	args, err := objectArgs(args)
	if err != nil {
		return err
	}
	schema, err := f.input()
	if err != nil {
		return err
	}
	if found := schema.Problems(args); found != nil {
		return mistakesOf(found)
	}
	err = json.Unmarshal(args, in) // it still fails where a schema says less, such as the range of a Go type
	if mismatch, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		what := "a value" // its own text holds the value
		if mismatch.Field != "" {
			what = plain.Quote(mismatch.Field)
		}
		return fmt.Errorf("%s does not fit %v", what, mismatch.Type)
	}
	return err
}

func encode[Out any](out Out) (*mcp.CallToolResult, error) {
	switch v := any(out).(type) {
	case string:
		return &mcp.CallToolResult{Content: text(v)}, nil
	case mcp.CallToolResult:
		return &v, nil
	case *mcp.CallToolResult:
		if v == nil {
			return nil, errNoResult
		}
		return v, nil
	}
	// Text for a model reads better without \u003c for "<".
	data, err := canonjson.Marshal(out)
	if err != nil {
		return nil, err
	}
	if string(data) == "null" {
		if reflect.TypeFor[Out]().Kind() != reflect.Map {
			return &mcp.CallToolResult{Content: text("null")}, nil
		}
		data = []byte("{}") // the output schema of a map promises an object
	}
	return &mcp.CallToolResult{Content: text(string(data)), StructuredContent: json.RawMessage(data)}, nil
}

func text(s string) []mcp.Content {
	return []mcp.Content{&mcp.TextContent{Text: s}}
}

const readerDescription = "Read on in a result of another tool that was too large to be shown whole, " +
	"with the arguments that stand where something was left out."

// newReader returns the tool read_result.
func newReader(r *result.Shaper) Tool {
	read := func(ctx context.Context, args result.ReadArgs) (*mcp.CallToolResult, error) {
		return r.Read(ctx, args), nil
	}
	f, _ := With(MustFunc(result.ReaderName, readerDescription, read), func(d *Definition) { // all of it is fixed, and tested
		d.Title = "Read a kept result"
		d.Annotations = &mcp.ToolAnnotations{ReadOnlyHint: true, IdempotentHint: true, OpenWorldHint: new(false)}
	})
	return f
}

// isReader reports whether a tool is read_result, under whatever name.
func isReader(t Tool) bool {
	_, ok := t.(*function[result.ReadArgs, *mcp.CallToolResult])
	return ok
}
