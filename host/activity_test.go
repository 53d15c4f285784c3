package host_test

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/activity"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/session"
)

// A host writes down what its servers and their callers do, in a file that tells
// nothing secret, and nothing after its end.
func TestActivity(t *testing.T) {
	ctx := watchdog(t)
	path := filepath.Join(t.TempDir(), "activity.jsonl")
	file := assert.Value(activity.OpenFile(path, nil))(t)
	log := activity.New(nil, file)
	reg := registry.New(nil)
	const secret = "correct horse"
	h := assert.Value(host.Open(ctx, write(t,
		"good", child(t, "echo"),
		"bad", `{"command": "/no/such/program", "args": ["`+secret+`"], "env": {"PASSWORD": "`+secret+`"}}`,
	), patient(&host.Options{Registry: reg, Activity: log, StateDir: host.NoState})))(t)
	ctx = session.WithUser(ctx, "ann")
	call := func(name, args string) {
		_, _ = reg.Call(registry.WithCallID(ctx, "call "+name), name, json.RawMessage(args))
	}
	call("good__echo", `{"text":"hidden text"}`)
	call("bad__nothing", `{}`)
	call("good__nothing", `{}`)
	call("good__echo", `{"text":1}`)
	if err := h.Disable(ctx, "good"); err != nil {
		t.Error(err)
	}
	if err := h.Close(); err != nil {
		t.Error(err)
	}
	call("after", `{}`)
	if err := log.Close(context.WithoutCancel(ctx)); err != nil {
		t.Error(err)
	}
	var seen []string
	for e, err := range file.Events(nil) {
		assert.OK(t, err)
		if text, _ := json.Marshal(e); strings.Contains(string(text), secret) || strings.Contains(string(text), "hidden text") {
			t.Errorf("the log tells %s", text)
		}
		if e.Kind == activity.KindState || e.Kind == activity.KindStop {
			continue // how many there are depends on what is first
		}
		seen = append(seen, fmt.Sprintf("%s %s/%s: %s by %q, id %t", e.Kind, e.Server, e.Tool, e.Outcome, e.User, strings.HasPrefix(e.ID, "call ")))
	}
	slices.Sort(seen)
	want := []string{
		`call /good__nothing: unknown_tool by "ann", id true`,
		`call bad/bad__nothing: not_sent by "ann", id true`,
		`call good/echo: bad_arguments by "ann", id true`,
		`call good/echo: ok by "ann", id true`,
		`config /: ok by "", id false`,
		`config good/: ok by "ann", id false`,
		`start bad/: error by "", id false`,
		`start good/: ok by "", id false`,
	}
	if !slices.Equal(seen, want) {
		t.Errorf("recorded\n%s\nwant\n%s", strings.Join(seen, "\n"), strings.Join(want, "\n"))
	}
}
