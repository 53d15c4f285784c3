package gate

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
	"github.com/mcpbelt/mcpbelt/internal/schemagate"
	"github.com/mcpbelt/mcpbelt/registry/ledger"
)

// What servers may say of their tools.
const (
	maxTools       = 5_000    // of one server
	maxBytes       = 32 << 20 // of names, texts and schemas of all tools of one server
	maxToolName    = 128      // bytes, as the protocol advises
	maxDescription = 16 << 10 // bytes of a description, and of each text in a schema
)

// Check returns what is to be said of one tool by itself, the severest first. It takes time
// in proportion to the tool.
func Check(tool *ledger.Tool) []Finding {
	if tool == nil {
		return nil
	}
	found := &findings{}
	found.name(tool.Name)
	t := texts{visit: func(path []byte, text string, _ bool) { found.text(path, text) }}
	t.outside(tool)
	for _, s := range schemasOf(tool) {
		raw, old, flaw := schemagate.Modern(s.raw)
		if old {
			found.add(tokenOldSchema, Note, s.field, "", 0, 0, "it has keywords of draft 4, and is listed with those of today")
		}
		if flaw != "" {
			found.add(tokenFlawedSchema, Note, s.field, "", 0, 0, flaw)
		}
		err := checkSchema(raw)
		if err != nil {
			severity, detail := Block, err.Detail
			if s.optional {
				severity, detail = Warn, detail+"; the tool is listed without it, and its results are not checked"
			}
			found.add(string(err.Token), severity, s.field+err.Path, "", 0, 0, detail)
		}
		if err == nil || jsonscan.Valid(s.raw) == nil {
			t.document(s.field, s.raw)
		}
	}
	return Merge(found.list)
}

// A schemaOf is a schema of a tool, and its name there.
type schemaOf struct {
	field    string
	raw      json.RawMessage
	optional bool // the tool can be used without
}

func schemasOf(t *ledger.Tool) []schemaOf {
	all := []schemaOf{{"/inputSchema", t.InputSchema, false}}
	if len(t.OutputSchema) > 0 {
		all = append(all, schemaOf{"/outputSchema", t.OutputSchema, true})
	}
	return all
}

// UsableOutput returns an output schema as it is to be listed, or nil if it can neither be sent
// to models nor be checked.
func UsableOutput(raw json.RawMessage) json.RawMessage {
	raw, _, _ = schemagate.Modern(raw)
	if checkSchema(raw) != nil {
		return nil
	}
	return raw
}

// checkSchema refuses what could not be compiled later.
func checkSchema(raw json.RawMessage) *schemagate.SchemaError {
	refused, ok := errors.AsType[*schemagate.SchemaError](schemagate.Check(raw))
	if !ok && !beginsObject(raw) {
		return &schemagate.SchemaError{Token: schemagate.Invalid, Detail: "it is not an object"}
	}
	return refused
}

// Admit holds all the tools of a server against the limits on their number and
// size together. It returns a finding for each one that is too much: in the order
// of tools, those that come when the others are enough. One that is too large by
// itself keeps out none that follow.
func Admit(tools []*ledger.Tool) map[*ledger.Tool]Finding { return admit(tools, maxTools, maxBytes) }

func admit(tools []*ledger.Tool, maxTools, maxBytes int) map[*ledger.Tool]Finding {
	surplus := map[*ledger.Tool]Finding{}
	count, total := 0, 0
	for _, tool := range tools {
		if tool == nil {
			continue
		}
		size := sizeOf(tool)
		switch {
		case count >= maxTools:
			surplus[tool] = Finding{tokenTooManyTools, Block, "", "", fmt.Sprintf("the server lists %d tools, %d are allowed", len(tools), maxTools)}
		case size > maxBytes-total:
			surplus[tool] = Finding{tokenCatalogTooLarge, Block, "", "", fmt.Sprintf("with it, the server's tools have %d bytes, %d are allowed", total+size, maxBytes)}
		default:
			count, total = count+1, total+size
		}
	}
	return surplus
}

// sizeOf returns the bytes of what the server says of the tool.
func sizeOf(t *ledger.Tool) int {
	return len(t.Name) + len(t.Title) + len(t.Description) + len(t.InputSchema) + len(t.OutputSchema) + len(t.Annotations)
}

// beginsObject reports whether JSON that may be anything begins like an object.
func beginsObject(raw json.RawMessage) bool {
	return bytes.HasPrefix(bytes.TrimLeft(raw, " \t\r\n"), []byte("{"))
}
