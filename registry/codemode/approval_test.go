// Tests of plan.go and run.go: calls of scripts that wait for a person.

package codemode_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/approval"
	"github.com/mcpbelt/mcpbelt/registry/codemode"
	"github.com/mcpbelt/mcpbelt/registry/result"
	"github.com/mcpbelt/mcpbelt/session"
)

// asking is a policy that asks about what is not known to be read-only.
var asking = registry.ApproverFunc(func(_ context.Context, req *registry.ApprovalRequest) (approval.Decision, error) {
	if req.Hints.ReadOnly && req.Trusted {
		return approval.Decision{Verdict: approval.Allow}, nil
	}
	return approval.Decision{Verdict: approval.Ask}, nil
})

const loop = `const out = []; for (let i = 0; i < 3; i++) out.push(await tools.s.work({i})); return out`

// A script whose calls wait in the registry pauses, and goes on with each that is approved.
func TestPauseAndResume(t *testing.T) {
	done := new(counter)
	r := newRegistry(t, &registry.Options{Approver: asking}, done.tool("s", "work"))
	c := newRunner(t, r, nil)
	report, err := c.Run(t.Context(), &codemode.Script{Code: loop})
	for i := range 3 {
		assert.OK(t, err)
		assert.Equal(t, len(report.Waiting), 1)
		req := report.Waiting[0]
		assert.Equal(t, string(req.Args), fmt.Sprintf(`{"i":%d}`, i), "the arguments")
		assert.Value(r.Approve(t.Context(), req.ID, nil))(t)
		report, err = c.Resume(t.Context(), report.ID, 0)
	}
	assert.OK(t, err)
	assert.Equal(t, string(report.Value), `["done","done","done"]`, "(%v)", report.Err)
	assert.Equal(t, done.String(), `work {"i":0}; work {"i":1}; work {"i":2}`, "the calls")
	assert.As[*codemode.UnknownRunError](t, assert.Err(c.Resume(t.Context(), report.ID, 0)))
}

// Calls made at the same time are reported together, and a refusal is an exception.
func TestPauseOfSeveralCalls(t *testing.T) {
	r := newRegistry(t, &registry.Options{Approver: asking}, new(counter).tool("s", "work"))
	c := newRunner(t, r, nil)
	report := assert.Value(c.Run(t.Context(), &codemode.Script{Code: `return (await Promise.allSettled([0, 1, 2].map(i => tools.s.work({i})))).map(p => p.value ?? [p.reason.code, p.reason.outcome])`}))(t)
	assert.Equal(t, len(report.Waiting), 3)
	for _, req := range report.Waiting {
		if string(req.Args) == `{"i":1}` {
			assert.OK(t, r.Deny(t.Context(), req.ID, "no"))
		} else {
			assert.Value(r.Approve(t.Context(), req.ID, nil))(t)
		}
	}
	for report.ID != "" {
		report = assert.Value(c.Resume(t.Context(), report.ID, 0))(t)
	}
	assert.Equal(t, string(report.Value), `["done",["denied","not sent"],"done"]`)
}

// What a script gets of a call that was approved is whole, too.
func TestWholeResultAfterApproval(t *testing.T) {
	large := remote{server: "s", name: "large", call: func(context.Context, json.RawMessage) (*mcp.CallToolResult, error) {
		return textResult(`["` + strings.Repeat("x", 1<<16) + `"]`), nil
	}}
	r := newRegistry(t, &registry.Options{Approver: asking, Results: &result.Options{MaxBytes: 1 << 10, Wrap: true}}, large)
	c := newRunner(t, r, nil)
	report := assert.Value(c.Run(t.Context(), &codemode.Script{Code: `return (await tools.s.large({}))[0].length`}))(t)
	assert.Value(r.Approve(t.Context(), report.Waiting[0].ID, nil))(t)
	report = assert.Value(c.Resume(t.Context(), report.ID, 0))(t)
	assert.Equal(t, string(report.Value), "65536", "(%v)", report.Err)
}

// A script that has ended leaves no call behind that a person could approve.
func TestEndedWhilePaused(t *testing.T) {
	r := newRegistry(t, &registry.Options{Approver: asking}, new(counter).tool("s", "work"))
	c := assert.Value(codemode.New(r, nil, &codemode.Options{MaxRuns: 1}))(t)
	first := assert.Value(c.Run(t.Context(), &codemode.Script{Code: loop}))(t)
	assert.Equal(t, run(t, c, `return 1`), `1`)
	assert.As[*approval.UnknownError](t, assert.Err(r.Approve(t.Context(), first.Waiting[0].ID, nil)))
	report := assert.Value(c.Resume(t.Context(), first.ID, 0))(t)
	assert.Fails(t, report.Err)
	assert.Equal(t, report.Calls[0].State, "not sent", "the state")
	second := assert.Value(c.Run(t.Context(), &codemode.Script{Code: loop}))(t)
	assert.OK(t, c.Close())
	assert.As[*approval.UnknownError](t, assert.Err(r.Approve(t.Context(), second.Waiting[0].ID, nil)))
}

// A script that waits for room gets it from one that pauses only later.
func TestRoomOfALaterPause(t *testing.T) {
	begun, waits := make(chan struct{}), make(chan struct{})
	gate := remote{server: "s", name: "gate", readOnly: true, call: func(context.Context, json.RawMessage) (*mcp.CallToolResult, error) {
		close(begun)
		<-waits
		return textResult(""), nil
	}}
	c := newRunner(t, newRegistry(t, &registry.Options{Approver: asking}, gate, new(counter).tool("s", "work")), &codemode.Options{MaxRuns: 1})
	first := make(chan error)
	go func() {
		_, err := c.Run(t.Context(), &codemode.Script{Code: `await tools.s.gate({}); await tools.s.work({})`})
		first <- err
	}()
	<-begun
	second := make(chan error)
	go func() {
		report, err := c.Run(t.Context(), &codemode.Script{Code: `return 1`})
		if err == nil {
			err = report.Err
		}
		second <- err
	}()
	close(waits)
	for _, ended := range []chan error{first, second} {
		assert.OK(t, <-ended)
	}
}

// A user with many scripts makes room among their own.
func TestScriptsOfOneUser(t *testing.T) {
	c := newRunner(t, newRegistry(t, &registry.Options{Approver: asking}, new(counter).tool("s", "work")), &codemode.Options{MaxRuns: 8})
	ann, bob := session.WithUser(t.Context(), "ann"), session.WithUser(t.Context(), "bob")
	var reports []*codemode.Report
	for i, ctx := range []context.Context{bob, ann, ann, ann} {
		reports = append(reports, assert.Value(c.Run(ctx, &codemode.Script{Code: fmt.Sprintf(`await tools.s.work({at: %d})`, i)}))(t))
	}
	for i, ended := range []bool{false, true, false, false} {
		ctx := ann
		if i == 0 {
			ctx = bob
		}
		report := assert.Value(c.Resume(ctx, reports[i].ID, time.Nanosecond))(t)
		assert.Equal(t, report.Err != nil, ended, "script %d: got an end (%v)", i, report.Err)
	}
}

// Another user does not get at a script that waits.
func TestResumeOfAnotherUser(t *testing.T) {
	c := newRunner(t, newRegistry(t, &registry.Options{Approver: asking}, new(counter).tool("s", "work")), nil)
	ann, eve := session.WithUser(t.Context(), "ann"), session.WithUser(t.Context(), "eve")
	report := assert.Value(c.Run(ann, &codemode.Script{Code: loop}))(t)
	for _, ctx := range []context.Context{eve, t.Context()} {
		assert.As[*codemode.UnknownRunError](t, assert.Err(c.Resume(ctx, report.ID, time.Second)))
	}
	assert.Equal(t, assert.Value(c.Resume(ann, report.ID, time.Nanosecond))(t).ID, report.ID)
}

// While a person is asked right away the script's clock stands, and then goes on.
func TestAskedRightAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		approver := registry.ApproverFunc(func(ctx context.Context, _ *registry.ApprovalRequest) (approval.Decision, error) {
			defer approval.Wait(ctx)()
			time.Sleep(time.Hour)
			return approval.Decision{Verdict: approval.Allow}, nil
		})
		run := func(ctx context.Context, b codemode.Bridge) error {
			time.Sleep(6 * time.Second)
			value, err := b.Request(ctx, "call", `{"name":"s__work","arguments":{}}`)
			if err != nil {
				return err
			}
			b.Log(string(value))
			<-ctx.Done()
			return context.Cause(ctx)
		}
		r := newRegistry(t, &registry.Options{Approver: approver}, new(counter).tool("s", "work"))
		c := newRunner(t, r, codemode.RunInProcess(&codemode.Options{Limits: codemode.Limits{Time: 10 * time.Second}}, run))
		report := assert.Value(c.Run(t.Context(), &codemode.Script{Code: "-"}))(t)
		assert.Equal(t, report.Log, "\"done\"\n", "the log")
		assert.Equal(t, endOf(report), byTime, "the end")
		assert.Equal(t, report.Duration, time.Hour+10*time.Second, "an end after")
	})
}

// A script that waits for approval is ended in the end.
func TestPausedForTooLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		run := func(ctx context.Context, b codemode.Bridge) error {
			b.Idle(1)
			_, err := b.Request(ctx, "call", `{"name":"s__work","arguments":{}}`)
			if ctx.Err() != nil {
				err = context.Cause(ctx)
			}
			return err
		}
		r := newRegistry(t, &registry.Options{Approver: asking}, new(counter).tool("s", "work"))
		c := newRunner(t, r, codemode.RunInProcess(new(codemode.Options), run))
		report := assert.Value(c.Run(t.Context(), &codemode.Script{Code: "-"}))(t)
		time.Sleep(10*time.Minute - time.Second)
		assert.Equal(t, len(assert.Value(c.Resume(t.Context(), report.ID, time.Millisecond))(t).Waiting), 1)
		time.Sleep(2 * time.Second)
		synctest.Wait()
		assert.As[*codemode.UnknownRunError](t, assert.Err(c.Resume(t.Context(), report.ID, 0)))
		assert.As[*approval.UnknownError](t, assert.Err(r.Approve(t.Context(), report.Waiting[0].ID, nil)))
	})
}

// A dry run makes the calls that only read, and lists the others.
func TestDryRun(t *testing.T) {
	done := new(counter)
	c := newRunner(t, newRegistry(t, &registry.Options{Approver: asking}, echo("s", "list"), echo("stranger", "list"), done.tool("s", "work")), nil)
	report := assert.Value(c.Run(t.Context(), &codemode.Script{DryRun: true, Code: `
		const {ids} = await tools.s.list({ids: [1, 2]});
		await tools.stranger.list({});
		for (const id of ids) await tools.s.work({id})`}))(t)
	var got []string
	for _, call := range report.Calls {
		got = append(got, fmt.Sprintf("%s %s %s", call.Tool, call.Arguments, call.State))
	}
	want := `[s__list {"ids":[1,2]} answered stranger__list {} planned s__work {"id":1} planned s__work {"id":2} planned]`
	assert.Equal(t, fmt.Sprint(got), want)
	assert.Equal(t, done.String(), "", "the calls in a dry run")
}

// A loop is approved at once: each call in the list is made once, and nothing else is.
func TestAskOnce(t *testing.T) {
	for _, test := range []struct {
		name, code string
		verdict    approval.Verdict
		want       string // calls that were made
		waits      int
	}{
		{"as planned", loop, approval.Allow, `work {"i":0}; work {"i":1}; work {"i":2}`, 0},
		{"refused", loop, approval.Deny, ``, 0},
		{"once more", `await tools.s.work({}); if (await tools.s.flag({}) === "second") await tools.s.work({})`, approval.Allow, `work {}`, 1},
		{"other arguments", `await tools.s.work({at: await tools.s.flag({})})`, approval.Allow, ``, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			done, runs := new(counter), 0
			flag := remote{server: "s", name: "flag", readOnly: true, call: func(context.Context, json.RawMessage) (*mcp.CallToolResult, error) {
				runs++
				return textResult([]string{"first", "second"}[runs-1]), nil
			}}
			asked := 0
			r := newRegistry(t, &registry.Options{Approver: codemode.Approver(asking)}, done.tool("s", "work"), flag)
			c := newRunner(t, r, &codemode.Options{ApprovePlan: func(_ context.Context, p *codemode.Plan) (approval.Decision, error) {
				asked++
				return approval.Decision{Verdict: test.verdict}, nil
			}})
			report, err := c.Run(t.Context(), &codemode.Script{AskOnce: true, Code: test.code})
			if test.verdict == approval.Deny {
				assert.As[*approval.DeniedError](t, err)
				report = new(codemode.Report)
			} else {
				assert.OK(t, err)
			}
			assert.Equal(t, asked, 1, "questions")
			assert.Equal(t, len(report.Waiting), test.waits)
			assert.Equal(t, done.String(), test.want, "the calls")
		})
	}
}

// What a call of a plan calls in its turn, and what it calls when it is over, is asked about.
func TestPlanAllowsNoOtherCall(t *testing.T) {
	for name, inner := range map[string]registry.ApproverFunc{
		"asks": asking,
		"asks about what was not approved": func(_ context.Context, req *registry.ApprovalRequest) (approval.Decision, error) {
			if req.Approved {
				return approval.Decision{Verdict: approval.Allow}, nil
			}
			return approval.Decision{Verdict: approval.Ask}, nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			done := new(counter)
			var r *registry.Registry
			var late context.Context
			outer := remote{server: "s", name: "outer", call: func(ctx context.Context, args json.RawMessage) (*mcp.CallToolResult, error) {
				if late != nil {
					return textResult("called by itself"), nil
				}
				late = context.WithoutCancel(ctx)
				for _, other := range []string{"s__outer", "s__work"} {
					assert.As[*registry.ApprovalRequiredError](t, assert.Err(r.Call(ctx, other, args)))
				}
				return textResult("done"), nil
			}}
			r = newRegistry(t, &registry.Options{Approver: codemode.Approver(inner)}, outer, done.tool("s", "work"))
			c := newRunner(t, r, &codemode.Options{ApprovePlan: func(context.Context, *codemode.Plan) (approval.Decision, error) {
				return approval.Decision{Verdict: approval.Allow}, nil
			}})
			assert.OK(t, assert.Value(c.Run(t.Context(), &codemode.Script{AskOnce: true, Code: `await tools.s.outer({})`}))(t).Err)
			assert.As[*registry.ApprovalRequiredError](t, assert.Err(r.Call(late, "s__outer", []byte(`{"late":true}`))))
			assert.Equal(t, done.String(), "", "the calls")
		})
	}
}

// What was allowed is a call of the tool as it was shown.
func TestPassIsForOneTool(t *testing.T) {
	approver := codemode.Approver(asking)
	shown := &registry.Definition{Name: "work", Description: "Works."}
	ctx := codemode.WithPass(t.Context(), shown)
	for i, test := range []struct {
		tool *registry.Definition
		want approval.Verdict
	}{
		{&registry.Definition{Name: "other", Description: "Works."}, approval.Ask},
		{&registry.Definition{Name: "work", Description: "Works differently."}, approval.Ask},
		{shown, approval.Allow},
		{shown, approval.Ask},
	} {
		d, err := approver.Approve(ctx, &registry.ApprovalRequest{Tool: test.tool})
		assert.OK(t, err)
		assert.Equal(t, d.Verdict, test.want, "request %d", i+1)
	}
}

// Where calls are asked about, to run a script is not: its calls are. What is denied stays so.
func TestApproverAllowsTheToolItself(t *testing.T) {
	for _, test := range []struct {
		verdict approval.Verdict
		allowed bool
	}{{approval.Ask, true}, {approval.Deny, false}} {
		inner := registry.ApproverFunc(func(_ context.Context, req *registry.ApprovalRequest) (approval.Decision, error) {
			return approval.Decision{Verdict: test.verdict}, nil
		})
		r := newRegistry(t, &registry.Options{Approver: codemode.Approver(inner)}, new(counter).tool("s", "work"))
		assert.OK(t, r.Add(newRunner(t, r, nil).Tool(nil)))
		res, err := r.Call(t.Context(), codemode.ToolName, []byte(`{"code":"await tools.s.work({})"}`))
		if !test.allowed {
			assert.As[*approval.DeniedError](t, err)
			continue
		}
		assert.OK(t, err)
		assert.Contains(t, textOf(res), `"tool":"s__work"`)
		assert.Contains(t, textOf(res), `"resume":`)
	}
	assert.True(t, codemode.Approver(nil) == nil, "there is no approver of none")
}

// An approver of plans keeps what a policy says of tools.
func TestApproverKeepsThePolicy(t *testing.T) {
	type decider interface {
		Decide(req *registry.ApprovalRequest) approval.Decision
	}
	_, ok := codemode.Approver(asking).(decider)
	assert.False(t, ok, "there is a policy of an approver that is none")
	_, ok = codemode.Approver(denying{}).(decider)
	assert.True(t, ok, "there is the policy of the approver")
}

type denying struct{}

func (denying) Approve(context.Context, *registry.ApprovalRequest) (approval.Decision, error) {
	return approval.Decision{}, nil
}

func (denying) Decide(*registry.ApprovalRequest) approval.Decision { return approval.Decision{} }
