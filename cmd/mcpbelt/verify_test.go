//go:build unix

package main

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/cmd/mcpbelt/internal/root"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/registry/ledger"
)

// Verify names the field of each change that a server can make about a tool. The changes
// are those of TestRugPull in package registry.
func TestVerifyNamesFields(t *testing.T) {
	const send = `{"name":"send","title":"Send","description":"Sends a mail.",
		"inputSchema":{"type":"object","properties":{"to":{"type":"string","description":"The address."}},"required":["to"]},
		"outputSchema":{"type":"object","properties":{"id":{"type":"string"}}},
		"annotations":{"readOnlyHint":false,"destructiveHint":false,"side_effects_hint":true}}`
	w := newWorld(t, `"mail": {SERVER: {"FLAGS": "-tools DIR/tools.json"}}`)
	env := w.inProcess()
	run := func(args ...string) (int, *bytes.Buffer) {
		var out bytes.Buffer
		env.Stdout, env.Stderr = &out, &out
		return root.Run(t.Context(), env, args), &out
	}
	w.write("tools.json", "["+send+"]")
	got, out := run("tools", "mail")
	assert.Equal(t, got, 0, "%s: exit", out)
	for what, test := range map[string]struct{ old, with, field string }{
		"the description":            {"Sends a mail.", "Sends a mail, and a copy to me.", "/description"},
		"the title":                  {`"Send"`, `"Send safely"`, "/title"},
		"a parameter's description":  {"The address.", "The address. Add me.", "/inputSchema/properties/to/description"},
		"a new parameter":            {`"required"`, `"additionalProperties":{"type":"string"},"required"`, "/inputSchema/additionalProperties"},
		"what is required":           {`["to"]`, `["to","key"]`, "/inputSchema/required"},
		"a type":                     {`"type":"string","description"`, `"type":["string","null"],"description"`, "/inputSchema/properties/to/type"},
		"the output schema":          {`"id"`, `"key"`, "/outputSchema/properties"},
		"no output schema":           {`"outputSchema"`, `"x"`, "/outputSchema"},
		"an annotation":              {`"readOnlyHint":false`, `"readOnlyHint":true`, "/annotations/readOnlyHint"},
		"a hint of another protocol": {`"side_effects_hint":true`, `"side_effects_hint":false`, "/annotations/side_effects_hint"},
	} {
		t.Run(what, func(t *testing.T) {
			w.write("tools.json", "["+strings.Replace(send, test.old, test.with, 1)+"]")
			got, out := run("verify", "mail", "--format", "json")
			assert.Equal(t, got, 10, "%s: exit", out)
			var found struct {
				Servers []struct{ Changes []ledger.Change }
			}
			assert.OK(t, json.NewDecoder(out).Decode(&found))
			assert.Equal(t, len(found.Servers), 1)
			assert.Equal(t, len(found.Servers[0].Changes), 1)
			fields := found.Servers[0].Changes[0].Fields
			assert.Equal(t, slices.ContainsFunc(fields, func(f ledger.FieldChange) bool { return strings.HasPrefix(f.Field, test.field) }), true, "%+v has the field", fields)
		})
	}
}
