package registry

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
	"github.com/mcpbelt/mcpbelt/internal/plain"
)

// givenArgs returns args, and {} for empty or null.
func givenArgs(args json.RawMessage) json.RawMessage {
	if first := firstByte(args); first == 0 && bytes.IndexByte(args, 0) < 0 || first == 'n' && isNull(args) {
		return json.RawMessage("{}")
	}
	return args
}

// objectArgs returns args if they are a JSON object, and {} for empty or null.
func objectArgs(args json.RawMessage) (json.RawMessage, error) {
	args = givenArgs(args)
	first := firstByte(args)
	if !json.Valid(args) {
		err := json.Unmarshal(args, new(json.RawMessage))
		if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
			err = fmt.Errorf("%w (after byte %d)", err, syntax.Offset)
		}
		return nil, fmt.Errorf("must be a JSON object, but are not valid JSON: %w", err)
	}
	if first != '{' {
		return nil, &notObjectError{plain.Article(jsonscan.TypeOf(first))}
	}
	return args, nil
}

func isNull(data json.RawMessage) bool {
	return string(bytes.Trim(data, " \t\r\n")) == "null"
}

// A notObjectError reports arguments that are JSON, but no object.
type notObjectError struct{ got string }

func (e *notObjectError) Error() string { return "must be a JSON object, not " + e.got }
