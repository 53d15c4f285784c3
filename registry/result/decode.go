package result

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
	"github.com/mcpbelt/mcpbelt/internal/plain"
	"github.com/mcpbelt/mcpbelt/mcp"
)

// A ToolFailedError reports a result with IsError set where a value was wanted.
//
//cure:see the text of the tool in it
type ToolFailedError struct {
	Text string // what the tool says, as by [Text]; all of it, and not made safe
}

// Error returns the beginning of the text on one line that is safe to print.
func (e *ToolFailedError) Error() string { return "the tool failed: " + plain.Line(e.Text) }

// Outcome returns [mcp.Answered]: the tool ran.
func (e *ToolFailedError) Outcome() mcp.Outcome { return mcp.Answered }

// A DecodeError reports a result that does not hold the value that was wanted.
//
//cure:take a type that fits the result, or the text of the result
type DecodeError struct {
	typ string // the Go type that was wanted
	err error  // why there is none; it names fields but no values
}

// Error names the type and what is wrong.
func (e *DecodeError) Error() string {
	return fmt.Sprintf("the result holds no %s: %v", e.typ, e.err)
}

func (e *DecodeError) Unwrap() error { return e.err }

// Outcome returns [mcp.Answered]: the tool ran.
func (e *DecodeError) Outcome() mcp.Outcome { return mcp.Answered }

// Decode returns the value that a result holds: its structured content or, if it
// has none, the JSON in its only block of text.
//
// JSON is decoded as by [json.Unmarshal], but the numbers in an any become a
// [json.Number], so that integers stay exact. Fields that T does not have are
// passed over. JSON that can be read in two ways, such as an object with a key
// twice, is refused.
//
// A result with IsError fails with a [*ToolFailedError], any other without such a
// value with a [*DecodeError]. Structured content that [Options] replaced
// because it was too large is not there any more: decode the results of
// registry.Tool.Call, or set MaxBytes to -1.
func Decode[T any](res *mcp.CallToolResult) (T, error) {
	var value T
	if res != nil && res.IsError {
		return value, &ToolFailedError{Text: Text(res)}
	}
	raw, err := jsonIn(res)
	if err == nil {
		err = unmarshalExact(raw, &value)
	}
	if err != nil {
		var zero T
		return zero, &DecodeError{typ: reflect.TypeFor[T]().String(), err: err}
	}
	return value, nil
}

// jsonIn returns the JSON that a result holds.
func jsonIn(res *mcp.CallToolResult) ([]byte, error) {
	if res == nil {
		return nil, errNothing
	}
	if raw := structured(res); raw != nil {
		return raw, nil
	}
	var only *mcp.TextContent
	for _, c := range res.Content {
		block, ok := c.(*mcp.TextContent)
		if !ok || block == nil {
			continue
		}
		if only != nil {
			return nil, errManyTexts
		}
		only = block
	}
	if only == nil {
		return nil, errNoJSON
	}
	return []byte(only.Text), nil
}

var (
	errNothing   = errors.New("there is none, and no error either")
	errNoJSON    = errors.New("it has neither structured content nor text")
	errManyTexts = errors.New("it has no structured content, and more than one block of text")
)

// unmarshalExact decodes JSON that may come from anywhere.
func unmarshalExact(raw []byte, value any) error {
	if err := jsonscan.Valid(raw); err != nil {
		return fmt.Errorf("not acceptable JSON: %w", err)
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	err := dec.Decode(value)
	if mismatch, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		// Its own text may hold the value.
		if mismatch.Field == "" {
			return fmt.Errorf("the value does not fit %v", mismatch.Type)
		}
		return fmt.Errorf("%s does not fit %v", plain.Quote(mismatch.Field), mismatch.Type)
	}
	return err
}
