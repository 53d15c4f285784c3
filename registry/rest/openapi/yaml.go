package openapi

import (
	"bytes"
	"encoding/json"
	"errors"

	"github.com/mcpbelt/mcpbelt/internal/jsonc"
	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
	"github.com/mcpbelt/mcpbelt/internal/yamljson"
)

// asJSON returns a document as JSON that has been checked.
func asJSON(text []byte) ([]byte, error) {
	trimmed := bytes.TrimLeft(bytes.TrimPrefix(text, []byte("\xef\xbb\xbf")), " \t\r\n")
	if len(trimmed) == 0 {
		return nil, &documentError{reason: "is empty"}
	}
	err := jsonscan.Valid(trimmed)
	if err == nil {
		return trimmed, nil
	}
	// A document that is JSON for others, but can be read in more than one way, is not
	// YAML.
	if trimmed[0] != '{' || !json.Valid(trimmed) {
		doc, bad := yamljson.Parse(text)
		if bad == nil {
			text = doc.Root.JSON()
			if bad = jsonscan.Valid(text); bad == nil {
				return text, nil
			}
		}
		if trimmed[0] != '{' {
			err = bad
		}
	}
	return nil, scanError(text, len(text)-len(trimmed), err)
}

// scanError tells of an error of the JSON scanner, which has skipped so many bytes, or of
// the YAML parser.
func scanError(text []byte, skipped int, err error) error {
	var inJSON *jsonscan.SyntaxError
	var inYAML *jsonc.SyntaxError
	switch {
	case errors.As(err, &inYAML):
		reason := inYAML.Message
		if inYAML.Path != "" {
			reason = string(inYAML.Path) + ": " + reason
		}
		return &documentError{line: inYAML.Line, column: inYAML.Column, reason: reason, err: err}
	case errors.As(err, &inJSON):
		before := text[:min(len(text), skipped+inJSON.Offset)]
		line := bytes.Count(before, []byte("\n"))
		return &documentError{line: line + 1, column: len(before) - bytes.LastIndexByte(before, '\n'), reason: inJSON.Reason, err: err}
	}
	return &documentError{reason: "is not JSON", err: err}
}
