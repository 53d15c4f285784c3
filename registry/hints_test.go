package registry_test

import (
	"encoding/json"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/mcp/mcptest"
	"github.com/mcpbelt/mcpbelt/registry"
)

// hintsText writes hints as one letter each: Annotated, ReadOnly, Destructive,
// Idempotent, OpenWorld, SideEffects, and the execution time.
func hintsText(h registry.Hints) string {
	text := ""
	for _, hint := range []struct {
		is     bool
		letter string
	}{{h.Annotated, "A"}, {h.ReadOnly, "R"}, {h.Destructive, "D"}, {h.Idempotent, "I"}, {h.OpenWorld, "O"}, {h.SideEffects, "S"}} {
		if hint.is {
			text += hint.letter
		} else {
			text += "-"
		}
	}
	return text + string(h.ExecutionTime)
}

const silent = "--D-OS" // what a tool is that says nothing

func TestHintsOfRawAnnotations(t *testing.T) {
	for raw, want := range map[string]string{
		``:                                 silent,
		`{}`:                               silent,
		`null`:                             silent,
		`[]`:                               silent,
		`"x"`:                              silent,
		`{"title":"T"}`:                    silent,
		`{"readOnlyHint":true`:             silent,
		`{"readOnlyHint"`:                  silent, // no JSON
		`{} {"readOnlyHint":true}`:         silent,
		" \n{ \"readOnlyHint\" :\ttrue } ": "AR-IO-",

		`{"readOnlyHint":true}`:      "AR-IO-",
		`{"read_only_hint":true}`:    "AR-IO-",
		`{"readOnlyHint":false}`:     "A-D-OS",
		`{"destructiveHint":false}`:  "A---OS",
		`{"destructive_hint":false}`: "A---OS",
		`{"destructiveHint":true}`:   "A-D-OS",
		`{"idempotentHint":true}`:    "A-DIOS",
		`{"idempotent_hint":true}`:   "A-DIOS",
		`{"openWorldHint":false}`:    "A-D--S",
		`{"open_world_hint":false}`:  "A-D--S",
		`{"sideEffectsHint":false}`:  "A-D-O-",
		`{"side_effects_hint":true}`: "A-D-OS",

		`{"executionTimeHint":"fast"}`:      "A-D-OSfast",
		`{"execution_time_hint":"MEDIUM"}`:  "A-D-OSmedium",
		`{"executionTimeHint":"Slow"}`:      "A-D-OSslow",
		`{"executionTimeHint":"\u0066ast"}`: "A-D-OSfast",
		`{"executionTimeHint":"ſlow"}`:      "A-D-OSslow", // folds to an s; it is no looser
		`{"executionTimeHint":"quick"}`:     silent,
		`{"executionTimeHint":""}`:          silent,
		`{"executionTimeHint":1}`:           silent,

		// Only exact keys count.
		`{"READONLYHINT":true}`:       silent,
		`{"readOnly":true}`:           silent,
		`{"read_onlyHint":true}`:      silent,
		`{"readOnlyHint ":true}`:      silent,
		`{"x":{"readOnlyHint":true}}`: silent,
		`{"readOnly\u0048int":true}`:  "AR-IO-", // the same key

		// Another type says nothing.
		`{"readOnlyHint":"true"}`:     silent,
		`{"readOnlyHint":1}`:          silent,
		`{"readOnlyHint":null}`:       silent,
		`{"readOnlyHint":[true]}`:     silent,
		`{"destructiveHint":"false"}`: silent,

		// Of two spellings the stricter one counts, in any order.
		`{"readOnlyHint":true,"read_only_hint":false}`:                "A-D-OS",
		`{"readOnlyHint":false,"read_only_hint":true}`:                "A-D-OS",
		`{"destructiveHint":false,"destructive_hint":true}`:           "A-D-OS",
		`{"destructiveHint":true,"destructive_hint":false}`:           "A-D-OS",
		`{"idempotentHint":true,"idempotent_hint":false}`:             "A-D-OS",
		`{"openWorldHint":false,"open_world_hint":true}`:              "A-D-OS",
		`{"sideEffectsHint":false,"side_effects_hint":true}`:          "A-D-OS",
		`{"executionTimeHint":"fast","execution_time_hint":"slow"}`:   "A-D-OSslow",
		`{"executionTimeHint":"slow","execution_time_hint":"fast"}`:   "A-D-OSslow",
		`{"executionTimeHint":"medium","execution_time_hint":"fast"}`: "A-D-OSmedium",
		`{"readOnlyHint":true,"readOnlyHint":false}`:                  "A-D-OS",
		`{"readOnlyHint":false,"readOnlyHint":true}`:                  "A-D-OS",

		// Who destroys or has effects does not only read.
		`{"readOnlyHint":true,"destructiveHint":true}`:                                                   "A-D-OS",
		`{"readOnlyHint":true,"sideEffectsHint":true}`:                                                   "A-D-OS",
		`{"readOnlyHint":true,"destructiveHint":false}`:                                                  "AR-IO-",
		`{"readOnlyHint":true,"idempotentHint":false}`:                                                   "AR--O-",
		`{"sideEffectsHint":false,"destructiveHint":true}`:                                               "A-D-OS",
		`{"sideEffectsHint":false,"destructiveHint":false}`:                                              "A---O-",
		`{"readOnlyHint":true,"openWorldHint":false,"sideEffectsHint":false,"executionTimeHint":"fast"}`: "AR-I--fast",
	} {
		d := &registry.Definition{RawAnnotations: json.RawMessage(raw)}
		if raw == "" {
			d.RawAnnotations = nil
		}
		assert.Equal(t, hintsText(d.Hints()), want, "%s", raw)
	}
}

func TestHintsOfAnnotations(t *testing.T) {
	for _, tt := range []struct {
		annotations *mcp.ToolAnnotations
		want        string
	}{
		{nil, silent},
		{&mcp.ToolAnnotations{}, silent},
		{&mcp.ToolAnnotations{Title: "T"}, silent},
		{&mcp.ToolAnnotations{ReadOnlyHint: true}, "AR-IO-"},
		{&mcp.ToolAnnotations{IdempotentHint: true}, "A-DIOS"},
		{&mcp.ToolAnnotations{DestructiveHint: ptr(false)}, "A---OS"},
		{&mcp.ToolAnnotations{DestructiveHint: ptr(true)}, "A-D-OS"},
		{&mcp.ToolAnnotations{OpenWorldHint: ptr(false)}, "A-D--S"},
		{&mcp.ToolAnnotations{ReadOnlyHint: true, DestructiveHint: ptr(true)}, "A-D-OS"},
	} {
		assert.Equal(t, hintsText((&registry.Definition{Annotations: tt.annotations}).Hints()), tt.want, "%+v", tt.annotations)
	}
	both := &registry.Definition{Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}, RawAnnotations: json.RawMessage(`{"READONLYHINT":true}`)}
	assert.Equal(t, hintsText(both.Hints()), silent, "the raw annotations do not count")
}

// Remote keeps the annotations that the protocol does not know, and an edit of
// the annotations by With counts in spite of them.
func TestHintsOfAServersTool(t *testing.T) {
	const raw = `{"read_only_hint":true,"executionTimeHint":"fast"}`
	server := mcptest.NewServer(t, mcptest.Handshake(mcp.Revision20251125, ""), mcptest.Script{
		"tools/list": mcptest.Result(`{"tools":[{"name":"a","inputSchema":{},"annotations":` + raw + `}]}`),
	})
	tool := assert.Only(t, remotes(t, "s", newClient(t, "s", server)))
	assert.Equal(t, string(tool.Definition().RawAnnotations), raw, "raw annotations")
	assert.Equal(t, hintsText(tool.Definition().Hints()), "AR-IO-fast", "hints")
	renamed := describe(t, tool, func(d *registry.Definition) { d.Title = "A" })
	assert.Equal(t, hintsText(renamed.Definition().Hints()), "AR-IO-fast", "with another title the hints")
	marked := describe(t, tool, func(d *registry.Definition) { d.Annotations = &mcp.ToolAnnotations{DestructiveHint: ptr(true)} })
	assert.Equal(t, hintsText(marked.Definition().Hints()), "A-D-OS", "marked as destructive the hints")
}
