package events

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/mcpbelt/mcpbelt/auth"
	"github.com/mcpbelt/mcpbelt/host/activity"
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/approval"
	"github.com/mcpbelt/mcpbelt/registry/ledger"
	"github.com/mcpbelt/mcpbelt/registry/result"
	"github.com/mcpbelt/mcpbelt/registry/toolset"
	"github.com/mcpbelt/mcpbelt/session"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// unmasked leaves errors as they are.
func unmasked(_, text string) string { return text }

// recorded returns a registry and a recorder of its calls, whose events can be read.
func recorded(t *testing.T, o *registry.Options) (reg *registry.Registry, rec *Recorder, take func() []activity.Event) {
	t.Helper()
	m := activity.NewMemory(0)
	log := activity.New(nil, m)
	reg, rec = registry.New(o), NewRecorder(log, unmasked)
	detach := rec.Calls(reg)
	t.Cleanup(func() {
		detach()
		_ = log.Close(context.Background())
	})
	seen := 0
	return reg, rec, func() []activity.Event {
		t.Helper()
		assert.OK(t, log.Flush(t.Context()))
		all := m.Recent(nil, 0)
		slices.Reverse(all)
		defer func() { seen = len(all) }()
		return all[seen:]
	}
}

// line shows what matters of an event.
func line(e activity.Event) string {
	text := fmt.Sprintf("%s %s/%s: %s by %q", e.Kind, e.Server, e.Tool, e.Outcome, e.User)
	for _, key := range []string{"name", "via", "ran", "by", "redacted", "conversation"} {
		if v, ok := e.Detail[key]; ok {
			text += ", " + key + " " + v
		}
	}
	return text
}

func lines(events []activity.Event) string {
	var all []string
	for _, e := range events {
		all = append(all, line(e))
	}
	return strings.Join(all, "\n")
}

// A staticTool answers what it is made to.
type staticTool struct {
	def *registry.Definition
	res *mcp.CallToolResult
	err error
}

func (s *staticTool) Definition() *registry.Definition { return s.def }

func (s *staticTool) Call(context.Context, json.RawMessage) (*mcp.CallToolResult, error) {
	return s.res, s.err
}

func static(name string, err error) *staticTool {
	return &staticTool{
		def: &registry.Definition{Name: "s__" + name, InputSchema: json.RawMessage(`{"type":"object"}`), Origin: registry.Origin{Server: "s", Tool: name}},
		res: &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "done"}}},
		err: err,
	}
}

// Every outcome of a call has its own name in the log.
func TestRecordedCalls(t *testing.T) {
	reg, _, take := recorded(t, &registry.Options{
		Ledger: ledger.New(nil), RedactArguments: true, Results: &result.Options{Redact: true},
		Approver: registry.ApproverFunc(func(_ context.Context, req *registry.ApprovalRequest) (approval.Decision, error) {
			if req.Tool.Origin.Tool == "forbidden" {
				return approval.Decision{Verdict: approval.Deny}, nil
			}
			return approval.Decision{Verdict: approval.Allow}, nil
		}),
	})
	assert.Value(toolset.New(reg, nil))(t)
	failing := static("failing", nil)
	failing.res.IsError = true
	tools := []registry.Tool{
		static("fine", nil), static("forbidden", nil), static("lost", errors.New("connection reset")), failing,
		static("away", &mcp.UnavailableError{Server: "s", Err: errors.New("refused")}),
		static("answers", &mcp.ServerError{Server: "s", Err: &mcp.JSONRPCError{Code: 1}}),
		static("cancelled", mcp.WithOutcome(context.Canceled, mcp.NotSent)),
		static("slow", &mcp.OutcomeUnknownError{Server: "s", Err: &mcp.TimeoutError{Limit: "idle"}}),
		static("torn", &mcp.OutcomeUnknownError{Server: "s", Err: errors.New("EOF")}),
		static("busy", &mcp.BusyError{Server: "s"}),
		static("closed", fmt.Errorf("authorize: %w", &auth.LoginRequiredError{Server: "s", URL: "https://login.example/?state=hidden"})),
		static("leaking", nil), static("changed", nil),
	}
	secret := "gh" + "p_" + strings.Repeat("a1B2", 9)
	tools[len(tools)-2].(*staticTool).res.Content = []mcp.Content{&mcp.TextContent{Text: secret}}
	assert.Value(reg.Replace(registry.Server{Name: "s"}, tools))(t)
	changed := static("changed", nil)
	changed.def.Description = "Otherwise."
	assert.Value(reg.Replace(registry.Server{Name: "s"}, append(tools[:len(tools)-1:len(tools)-1], changed)))(t)
	ctx := registry.WithConversation(session.WithUser(registry.WithCallID(t.Context(), "c1"), "ann"), "talk")
	for _, test := range []struct{ tool, args, want string }{
		{"s__fine", `{"a":1}`, `call s/fine: ok by "ann", name s__fine`},
		{"call_tool", `{"name":"s__fine"}`, `call s/fine: ok by "ann", name s__fine, via call_tool`},
		{"s__fine", `{"a":"` + secret + `"}`, `call s/fine: ok by "ann", name s__fine, redacted arguments`},
		{"s__leaking", `{}`, `call s/leaking: ok by "ann", name s__leaking, redacted result`},
		{"s__leaking", `{"a":"` + secret + `"}`, `call s/leaking: ok by "ann", name s__leaking, redacted both`},
		{"s__failing", `{}`, `call s/failing: tool_error by "ann", name s__failing`},
		{"s__forbidden", `{}`, `denied s/forbidden: denied by "ann", name s__forbidden`},
		{"s__changed", `{}`, `quarantined s/changed: quarantined by "ann", name s__changed`},
		{"s__none", `{}`, `call /s__none: unknown_tool by "ann", ran no`},
		{"s__fine", `[]`, `call s/fine: bad_arguments by "ann", name s__fine, ran no`},
		{"s__lost", `{}`, `call s/lost: unknown by "ann", name s__lost, ran perhaps`},
		{"s__away", `{}`, `call s/away: not_sent by "ann", name s__away, ran no`},
		{"s__answers", `{}`, `call s/answers: error by "ann", name s__answers, ran yes`},
		{"s__cancelled", `{}`, `call s/cancelled: cancelled by "ann", name s__cancelled, ran no`},
		{"s__slow", `{}`, `call s/slow: timeout by "ann", name s__slow, ran perhaps`},
		{"s__torn", `{}`, `call s/torn: unknown by "ann", name s__torn, ran perhaps`},
		{"s__busy", `{}`, `call s/busy: busy by "ann", name s__busy, ran no`},
		{"s__closed", `{}`, `call s/closed: login_required by "ann", name s__closed, ran perhaps`},
	} {
		_, err := reg.Call(ctx, test.tool, json.RawMessage(test.args))
		got := take()
		if want := test.want + ", conversation talk"; lines(got) != want {
			t.Errorf("%s %s:\n%s\nwant\n%s", test.tool, test.args, lines(got), want)
			continue
		}
		e := got[0]
		if e.ID != "c1" || (e.Error != "") != (err != nil) || strings.Contains(e.Error, "hidden") || e.Arguments != nil || e.ArgumentHash == "" {
			t.Errorf("%s: recorded %+v", test.tool, e)
		}
		if err == nil && (e.ResultBytes == 0 || e.ArgumentBytes == 0) {
			t.Errorf("%s: recorded %+v", test.tool, e)
		}
	}
}

// Who asked, who answered and what came of it can be put together, and the log gives
// nobody the means to approve.
func TestRecordedApprovals(t *testing.T) {
	reg, _, take := recorded(t, &registry.Options{
		Approver: registry.ApproverFunc(func(context.Context, *registry.ApprovalRequest) (approval.Decision, error) {
			return approval.Decision{Verdict: approval.Ask}, nil
		}),
	})
	assert.Value(reg.Replace(registry.Server{Name: "s"}, []registry.Tool{static("fine", nil)}))(t)
	ask := func(ctx context.Context) string {
		t.Helper()
		_, err := reg.Call(ctx, "s__fine", nil)

		return assert.As[*registry.ApprovalRequiredError](t, err).Request.ID
	}
	nobodys := ask(t.Context())
	assert.Fails(t, assert.Err(reg.Approve(session.WithUser(t.Context(), "bob"), nobodys, nil)), "bob resumed the call of another user")
	assert.Value(reg.Approve(t.Context(), nobodys, nil))(t)
	anns := ask(session.WithUser(t.Context(), "ann"))
	assert.OK(t, reg.Deny(session.WithUser(t.Context(), "ann"), anns, "no"))
	events := take()
	want := `approval s/fine: asked by "", name s__fine
approval /: error by "", by bob
approval s/fine: approved by "", name s__fine
call s/fine: ok by "", name s__fine
approval s/fine: asked by "ann", name s__fine
approval s/fine: refused by "ann", name s__fine`
	assert.Equal(t, lines(events), want, "recorded")
	first := events[0].Detail["approval"]
	if first == "" || events[2].Detail["approval"] != first || events[3].Detail["approval"] != first ||
		events[4].Detail["approval"] == first || events[2].ID != events[3].ID || events[0].ArgumentHash != events[3].ArgumentHash {
		t.Errorf("recorded %+v", events)
	}
	for _, e := range events {
		text, _ := json.Marshal(e)
		assert.Lacks(t, string(text), nobodys, "an id is in")
		assert.Lacks(t, string(text), anns, "an id is in")
	}
}

// All events about a call have its id and parent, whoever answers the approval.
func TestRecordedCallID(t *testing.T) {
	reg, _, take := recorded(t, &registry.Options{
		Approver: registry.ApproverFunc(func(context.Context, *registry.ApprovalRequest) (approval.Decision, error) {
			return approval.Decision{Verdict: approval.Ask}, nil
		}),
	})
	assert.Value(reg.Replace(registry.Server{Name: "s"}, []registry.Tool{static("fine", nil)}))(t)
	turn, click := registry.WithCallID(t.Context(), "turn 7"), registry.WithCallID(t.Context(), "click 9")
	for _, answer := range []func(id string) error{
		func(id string) error { _, err := reg.Approve(click, id, nil); return err },
		func(id string) error { return reg.Deny(click, id, "no") },
	} {
		_, err := reg.Call(registry.WithCallID(turn, "call_1"), "s__fine", nil)

		assert.OK(t, answer(assert.As[*registry.ApprovalRequiredError](t, err).Request.ID))
	}
	events := take()
	assert.Equal(t, len(events), 5)
	for i, e := range events {
		assert.Equal(t, e.ID+" of "+e.Parent, "call_1 of turn 7", "event %d is of", i)
	}
}

// After the host is detached its log hears no more of the registry.
func TestDetach(t *testing.T) {
	m := activity.NewMemory(0)
	log := activity.New(nil, m)
	reg := registry.New(nil)
	detach := NewRecorder(log, unmasked).Calls(reg)
	_, _ = reg.Call(t.Context(), "none", nil)
	detach()
	_, _ = reg.Call(t.Context(), "none", nil)
	assert.OK(t, log.Close(t.Context()))
	assert.Equal(t, len(m.Recent(nil, 0)), 1)
	NewRecorder(nil, unmasked).Calls(reg)()
}

// What the host itself does is recorded without a wait.
func TestRecordedEvents(t *testing.T) {
	_, rec, take := recorded(t, nil)
	entry := &config.Server{Name: "s", Source: config.Source{File: "a.json", Line: 3}, Env: map[string]config.Secret{"PASSWORD": "correct horse"}}
	ctx := registry.WithCallID(session.WithUser(t.Context(), "ann"), "c1")
	rec.Record(t.Context(), OfServer("start", entry, time.Now().Add(-time.Second), nil))
	rec.Record(t.Context(), OfServer("replace", entry, time.Time{}, errors.New("no such program as correct horse")))
	rec.Record(t.Context(), OfStage("s", "starting", "ready", nil))
	rec.Record(t.Context(), OfLogin("login", session.Key{User: "ann", Server: "s"}, nil))
	rec.Record(ctx, OfConfig("set", "s", nil))
	rec.Record(t.Context(), OfConsent("ann", "s", "abc", true, nil))
	rec.Record(t.Context(), OfConsent("ann", "s", "abc", false, nil))
	events := take()
	want := `start s/: ok by ""
replace s/: error by ""
state s/: ok by ""
login s/: ok by "ann"
config s/: ok by "ann"
consent s/: approved by "ann"
consent s/: refused by "ann"`
	assert.Equal(t, lines(events), want, "recorded")
	if events[0].Duration < time.Second || events[1].Duration != 0 || !strings.HasPrefix(events[1].Error, "no such program as ***") || events[4].ID != "c1" ||
		events[0].Detail["source"] != "a.json:3" || events[2].Detail["to"] != "ready" {
		t.Errorf("recorded %+v", events)
	}
	NewRecorder(nil, nil).Record(t.Context(), activity.Event{}) // has no log
}

// What a server's list holds and is held back is recorded when it is news, in few
// words however much it is.
func TestRecordHeldBack(t *testing.T) {
	reg, rec, take := recorded(t, &registry.Options{Ledger: ledger.New(nil)})
	var told HeldBack
	offer := func(tools ...registry.Tool) {
		t.Helper()
		diff := assert.Value(reg.Replace(registry.Server{Name: "s"}, tools))(t)
		told = rec.HeldBack("s", told, &diff)
	}
	changed := func(description string) registry.Tool {
		tool := static("a", nil)
		tool.def.Description = description
		return tool
	}
	hidden := static("b", nil)
	hidden.def.Description = "\u202e"
	offer(changed("one"))
	offer(changed("two"), hidden)
	offer(changed("two"), hidden)
	offer(hidden, changed("three"))
	offer(changed("one"))
	offer(changed("three"))
	var seen []string
	for _, e := range take() {
		seen = append(seen, fmt.Sprintf("%s %s %s %s of %s", e.Kind, e.Server, e.Outcome, e.Detail["tools"], e.Detail["count"]))
	}
	want := []string{
		"quarantined s quarantined a (changed) of 1", "rejected s denied s__b (bidi_characters) of 1",
		"quarantined s quarantined a (changed) of 1", "quarantined s quarantined a (changed) of 1",
	}
	assert.Equal(t, fmt.Sprint(seen), fmt.Sprint(want), "recorded")
	var many []registry.Tool
	for i := range 1000 {
		many = append(many, static(fmt.Sprintf("tool_%d", i), nil))
	}
	offer(many...)
	events := take()
	assert.Equal(t, len(events), 1, "events")
	assert.Equal(t, events[0].Detail["count"], "1000")
	assert.True(t, len(events[0].Detail["tools"]) <= 512, "few words")
	NewRecorder(nil, nil).HeldBack("s", told, &registry.Diff{})
}

// A log whose sink hangs does not make the host wait.
func TestRecordDoesNotWait(t *testing.T) {
	stuck := make(stuckSink)
	log := activity.New(nil, stuck)
	rec := NewRecorder(log, unmasked)
	for range 5000 { // more than are queued
		rec.Record(t.Context(), activity.Event{Kind: "start"})
	}
	close(stuck)
	assert.OK(t, log.Close(t.Context()))
}

type stuckSink chan struct{}

func (s stuckSink) Write(context.Context, []activity.Event) error {
	<-s
	return nil
}

// A decision notes who made it and on whose behalf, unless that is the same.
func TestDecision(t *testing.T) {
	_, rec, take := recorded(t, nil)
	change := &ledger.Change{Server: "s", Tool: "t"}
	ctx := Note(Note(session.WithUser(t.Context(), "ann"), "by", "ben"), "via", "page")
	rec.Record(ctx, OfDecision(change, true, nil))
	rec.Record(Note(session.WithUser(t.Context(), "ann"), "by", "ann"), OfDecision(change, false, nil))
	rec.Record(ctx, OfDecision(change, true, errors.New("the disk is full")))
	all := take()
	for i, want := range []string{
		`accept s/t: approved by "ann", via page, by ben`, `accept s/t: refused by "ann"`, `accept s/t: error by "ann", via page, by ben`,
	} {
		assert.Contains(t, line(all[i]), want, "event %d", i)
	}
}
