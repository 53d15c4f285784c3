package registry

import "encoding/json"

// A relay is the tool call_tool.
type relay struct{ Tool }

// target returns the tool that a call is for, and its arguments.
func (*relay) target(args json.RawMessage) (name string, inner json.RawMessage, err error) {
	return "", args, nil
}

// newSearchTools returns the tools for searching.
func newSearchTools(*Registry) []Tool { return nil }
