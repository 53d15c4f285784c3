// Tests of approval_pending.go, pending.go and approval_resume.go: what calls that wait take, and many of them at once.

package registry

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/onbehalf"
	"github.com/mcpbelt/mcpbelt/internal/share"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry/approval"
	"github.com/mcpbelt/mcpbelt/registry/ledger"
	"github.com/mcpbelt/mcpbelt/registry/result"
)

// smallKept takes the place of maxKept, so that little is too much.
const smallKept = 1 << 20

// asking returns a registry with a tool that has to be asked for, and a function
// that has a call of it waiting.
func asking(t *testing.T, opts approval.Options, answer string) (*Registry, func(ctx context.Context, n int) string) {
	r := New(&Options{Approvals: opts, Approver: ApproverFunc(func(context.Context, *ApprovalRequest) (approval.Decision, error) {
		return approval.Decision{Verdict: approval.Ask}, nil
	})})
	r.approvals.held.Max.Bytes, r.approvals.kept.Max.Bytes = smallKept, smallKept
	assert.OK(t, r.Add(MustFunc("tool", "", func(context.Context, map[string]int) (string, error) { return answer, nil })))
	return r, func(ctx context.Context, n int) string {
		t.Helper()
		_, err := r.Call(ctx, "tool", json.RawMessage(fmt.Sprintf(`{"n":%d}`, n)))
		return assert.As[*ApprovalRequiredError](t, err).Request.ID
	}
}

// idle checks that nothing is left.
func (a *approvals) idle(t *testing.T) {
	t.Helper()
	a.mu.Lock()
	defer a.mu.Unlock()
	a.expire(time.Now())
	assert.Equal(t, len(a.byID)+len(a.byCall)+len(a.waiting)+len(a.ended), 0, "calls that are left")
	assert.Equal(t, a.held.Total(), share.Amount{})
	assert.Equal(t, a.kept.Total(), share.Amount{})
}

// However calls end, nothing of them is kept for good.
func TestApprovalsForget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, ask := asking(t, approval.Options{TTL: time.Minute}, "answer")
		ctx := WithConversation(onbehalf.With(t.Context(), "ann"), "c")
		assert.Value(r.Approve(ctx, ask(ctx, 1), nil))(t)
		assert.OK(t, r.Deny(ctx, ask(ctx, 2), ""))
		ask(ctx, 3)
		r.EndConversation(ctx)
		ask(ctx, 4)
		ask(t.Context(), 5)
		time.Sleep(time.Minute)
		r.Approvals(ctx)
		time.Sleep(time.Minute)
		r.approvals.idle(t)
	})
}

// Outcomes that nobody fetches do not pile up: neither many nor large ones.
func TestApprovalOutcomesAreBounded(t *testing.T) {
	for _, c := range []struct {
		answer   string
		max, end int
	}{
		{"small", 7, 7},
		{strings.Repeat("x", smallKept/64*8), 200, 7},
	} {
		r, ask := asking(t, approval.Options{MaxPending: c.max}, c.answer)
		var ids []string
		for n := range 20 {
			ids = append(ids, ask(t.Context(), n))
			assert.Value(r.Approve(t.Context(), ids[n], nil))(t)
		}
		kept := 0
		for i, id := range ids {
			switch _, err := r.Await(t.Context(), id); {
			case err == nil && i >= len(ids)-c.end:
				kept++
			case !errors.As(err, new(*approval.UnknownError)):
				t.Errorf("%d: %v", i, err)
			}
		}
		assert.Equal(t, kept, c.end, "outcomes kept")
		assert.Equal(t, len(r.approvals.byID), c.end, "outcomes by id")
		assert.Equal(t, len(r.approvals.ended), c.end, "outcomes kept")
	}
}

// An approval is for one surface and one server, also where the definitions are
// the same.
func TestSubject(t *testing.T) {
	yes := true
	def := &Definition{
		Name: "tool", Alias: "a", Title: "t", Description: "d", InputSchema: []byte("{}"), OutputSchema: []byte("{}"),
		RawAnnotations: []byte("{}"), Annotations: &mcp.ToolAnnotations{DestructiveHint: &yes}, Origin: Origin{"s", "x"},
	}
	e := entry{def: def, surface: &ledger.Surface{Hash: "sha256:1"}, server: &Server{Fingerprint: "1"}}
	was := subjectOf(placed(e))
	with := func(edit func(*Definition)) func(*entry) {
		return func(e *entry) {
			e.def = e.def.clone()
			edit(e.def)
		}
	}
	for name, edit := range map[string]func(*entry){
		"fingerprint": func(e *entry) { e.server = &Server{Fingerprint: "2"} },
		"surface":     func(e *entry) { e.surface = &ledger.Surface{Hash: "sha256:2"} },
		"native":      func(e *entry) { e.surface, e.server = nil, nil },
		"trust":       func(e *entry) { e.server = &Server{Fingerprint: "1", Trusted: true} },
		"name":        with(func(d *Definition) { d.Name = "tools" }),
		"alias":       with(func(d *Definition) { d.Alias = "" }),
		"title":       with(func(d *Definition) { d.Title = "" }),
		"description": with(func(d *Definition) { d.Description = "" }),
		"border":      with(func(d *Definition) { d.Title, d.Description = "", "td" }),
		"input":       with(func(d *Definition) { d.InputSchema = []byte("{ }") }),
		"output":      with(func(d *Definition) { d.OutputSchema = nil }),
		"raw hints":   with(func(d *Definition) { d.RawAnnotations = nil }),
		"hint":        with(func(d *Definition) { *d.Annotations.DestructiveHint = false }),
		"no hints":    with(func(d *Definition) { d.Annotations = nil }),
		"result":      with(func(d *Definition) { d.ReturnDirect = true }),
		"origin":      with(func(d *Definition) { d.Origin = Origin{"", "sx"} }),
	} {
		now := e
		edit(&now)
		assert.False(t, subjectOf(placed(now)) == was, "another %s is the same", name)
	}
	again := e
	again.def, again.tool = e.def.clone(), nil
	assert.Equal(t, subjectOf(placed(again)), was, "the subject of a copy")
}

// The subject is the same in other programs, also of later releases.
func TestSubjectStays(t *testing.T) {
	got := subjectOf(placed(entry{def: &Definition{Name: "tool", InputSchema: []byte("{}")}}))
	assert.Equal(t, got, "f4a49642d1974301e79d6dd0176bce16643bcd171e4d4100b464477ac6b6bf38")
}

// placed returns an entry as the catalogue has it.
func placed(e entry) *entry { return (&offer{entry: e}).place(nil) }

// Calls that wait are bounded by their size as well as by their number.
func TestApprovalArgumentsAreBounded(t *testing.T) {
	r, _ := asking(t, approval.Options{}, "answer")
	e := r.Snapshot().find("tool")
	args := make(json.RawMessage, smallKept/64*8)
	call := func(n int) error {
		args[0] = byte(n)
		return r.approvals.hold(t.Context(), e, args, "")
	}
	for n := range 7 {
		assert.As[*ApprovalRequiredError](t, call(n), "%d", n)
	}
	assert.As[*approval.DeniedError](t, call(7), "the eighth call")
	assert.OK(t, r.Deny(t.Context(), r.Approvals(t.Context())[3].ID, ""))
	assert.As[*ApprovalRequiredError](t, call(9))
}

// An owner whose calls wait takes a quarter of the memory at most, and is told so.
func TestHeldBytesAreShared(t *testing.T) {
	r, ask := asking(t, approval.Options{}, "answer")
	eve, ann := onbehalf.WithOwner(t.Context(), "key without a user"), onbehalf.With(t.Context(), "ann")
	e := r.Snapshot().find("tool")
	args := make(json.RawMessage, smallKept/64*5)
	hold := func(ctx context.Context, n int) error {
		args[0] = byte(n)
		return r.approvals.hold(ctx, e, args, "")
	}
	for n := range 3 {
		assert.As[*ApprovalRequiredError](t, hold(eve, n))
	}
	err := hold(eve, 3)
	assert.As[*approval.DeniedError](t, err, "the call of a user without room")
	assert.Equal(t, mcp.OutcomeOf(err), mcp.NotSent, "the outcome")
	ask(ann, 1)
	assert.As[*ApprovalRequiredError](t, hold(ann, 4), "a large call of another user")
}

// The error says whose share is full, the bound, and the cure.
func TestNoRoomForMoreCalls(t *testing.T) {
	r, ask := asking(t, approval.Options{MaxPending: 8}, "answer")
	r.approvals.held.Max.Bytes = maxKept
	call := func(ctx context.Context) string {
		t.Helper()
		_, err := r.Call(ctx, "tool", json.RawMessage(`{"n":100}`))
		limit := assert.As[*approval.DeniedError](t, err)
		assert.Equal(t, result.Text(ErrorResult(err)), err.Error(), "a model is told")
		return limit.Error()
	}
	eve := onbehalf.With(t.Context(), "eve")
	ask(eve, 1)
	ask(eve, 2)
	want := `calling tool "tool" is not allowed: the calls of this user that wait for approval leave no room for this one (at most 2 calls and 16 MiB); approve or refuse some of them first, or give it smaller arguments`
	assert.Equal(t, call(eve), want)
	for n := range 6 {
		ask(t.Context(), n)
	}
	assert.Contains(t, call(onbehalf.With(t.Context(), "ann")), "the calls of all users that wait for approval leave no room for this one (at most 8 calls and 64 MiB)")
}

// What a call keeps alive while it waits counts: the definition of its tool, too,
// which its server may have replaced by then.
func TestHeldCallsCountTheirDefinitions(t *testing.T) {
	r, _ := asking(t, approval.Options{}, "answer")
	var err error
	for n := range 8 {
		e := placed(entry{def: &Definition{Name: "tool", Description: strings.Repeat("x", smallKept/64*8+n)}})
		err = r.approvals.hold(t.Context(), e, json.RawMessage(fmt.Sprint(n)), "")
	}
	assert.As[*approval.DeniedError](t, err, "the eighth call with a large definition")
}

// One user, or one server, who fills the outcomes that are kept pushes out none of
// another.
func TestOutcomesAreShared(t *testing.T) {
	for name, test := range map[string]struct {
		user, server, floods, from string
		answer                     int // bytes
	}{
		"a user, by number":      {"ann", "a", "eve", "a", 1},
		"a user, by size":        {"ann", "a", "eve", "a", smallKept / 64 * 12},
		"a server, by number":    {"", "a", "", "b", 1},
		"a server, for one user": {"ann", "b", "ann", "a", 1},
	} {
		t.Run(name, func(t *testing.T) {
			a := newApprovals(ApproverFunc(nil), approval.Options{MaxPending: 20})
			a.kept.Max.Bytes = smallKept
			finish := func(user, server string, n, answer int) (id string) {
				ctx := t.Context()
				if user != "" {
					ctx = onbehalf.With(ctx, user)
				}
				e := placed(entry{def: &Definition{Name: server + "__tool", Origin: Origin{server, "tool"}}})
				id = assert.As[*ApprovalRequiredError](t, a.hold(ctx, e, json.RawMessage(fmt.Sprint(n)), "")).Request.ID
				p, _, err := a.claim(ctx, id)
				assert.OK(t, err)
				a.finish(p, done, resultOf(textBlock(strings.Repeat("x", answer))), nil)
				return id
			}
			other, last := finish(test.user, test.server, 0, 1), ""
			for n := range 50 {
				last = finish(test.floods, test.from, n, test.answer)
			}
			assert.True(t, a.byID[other] != nil, "the outcome of another is kept")
			assert.True(t, a.byID[last] != nil, "the last outcome is kept")
			assert.True(t, len(a.ended) <= 20, "outcomes are bounded")
		})
	}
}

// A user takes back none of what others have allowed for their sessions, however much
// they allow.
func TestGrantsAreShared(t *testing.T) {
	a := newApprovals(ApproverFunc(nil), approval.Options{})
	a.grants.held.Max.Count = 20
	const s = "subject"
	ann := grantKey{"ann", "c", "tool"}
	a.grant(ann, s, 0)
	last := grantKey{}
	for n := range 100 {
		last = grantKey{"eve", fmt.Sprint(n), "tool"}
		a.grant(last, s, 0)
	}
	ok, _ := a.granted(ann, s)
	assert.True(t, ok, "the grant of another user holds")
	ok, _ = a.granted(last, s)
	assert.True(t, ok, "the last grant holds")
	assert.Equal(t, a.grants.subjects.Len(), 6, "grants")
	for n := range 100 {
		a.grant(grantKey{"", fmt.Sprint(n), "tool"}, s, 0)
	}
	assert.Equal(t, a.grants.subjects.Len(), 20, "grants of nobody and others")
}

// What an error keeps of a server's answer counts as a result does.
func TestErrorsWeighWhatTheyHold(t *testing.T) {
	const size = 1 << 16
	large := resultOf(textBlock(strings.Repeat("x", size)))
	for name, err := range map[string]error{
		"data":    &mcp.ServerError{Err: &mcp.JSONRPCError{Data: json.RawMessage(strings.Repeat("x", size))}},
		"message": &mcp.ServerError{Err: &mcp.JSONRPCError{Message: strings.Repeat("x", size)}},
		"output":  &mcp.OutputError{Result: large, Err: errors.New("wrong")},
		"result":  &ResultError{Result: large, Err: errors.New("wrong")},
		"panic":   &PanicError{Stack: make([]byte, size)},
		"reason":  &approval.DeniedError{Reason: strings.Repeat("x", size)},
	} {
		got := newOutcome(nil, err).memory
		assert.True(t, got >= size, "%s: %d bytes are enough", name, got)
	}
}

// An outcome keeps its structured content, and not the whole message that it came in.
func TestOutcomesLetMessagesGo(t *testing.T) {
	message := append(json.RawMessage(`{"a":1}`), make([]byte, 1<<20)...)
	there := weak.Make(&message[0])
	kept := newOutcome(&mcp.CallToolResult{StructuredContent: message[:7:7]}, nil)
	runtime.GC()
	assert.False(t, there.Value() != nil, "the whole message in memory")
	assert.Equal(t, string(kept.res.StructuredContent.(json.RawMessage)), `{"a":1}`, "structured content")
}

type panicking struct{}

func (panicking) MarshalJSON() ([]byte, error) { panic("no") }

// A value that cannot be measured is not kept, and its call is over all the same.
func TestOutcomeThatPanics(t *testing.T) {
	loop := map[string]any{}
	loop["a"] = loop
	for _, value := range []any{panicking{}, loop} {
		got := newOutcome(&mcp.CallToolResult{StructuredContent: value}, nil).memory
		assert.True(t, got > maxKept, "%T: %d bytes are more than is ever kept", value, got)
	}
}

func TestSizeOf(t *testing.T) {
	res := &mcp.CallToolResult{Content: []mcp.Content{
		&mcp.TextContent{Text: "1234"}, &mcp.ImageContent{Data: make([]byte, 10)}, &mcp.AudioContent{Data: make([]byte, 100)},
		&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{Text: "123"}}, &mcp.EmbeddedResource{},
	}}
	assert.Equal(t, sizeOf(res), 4+10+100+3, "bytes")
	assert.Equal(t, sizeOf(&mcp.CallToolResult{StructuredContent: json.RawMessage(`{"a":1}`)}), 7, "bytes of structured content")
	assert.Equal(t, sizeOf(nil), 0, "bytes for nothing")
}

func resultOf(content ...mcp.Content) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: content}
}

func textBlock(s string) *mcp.TextContent { return &mcp.TextContent{Text: s} }

// Many ask, approve, refuse, wait and go at once. Each call that was approved ran
// once, who waited for it knows, no other ran, and nothing is left.
func TestApprovalsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ran atomic.Int32
		r := New(&Options{
			Approvals: approval.Options{TTL: time.Second, MaxPending: 40},
			Approver: ApproverFunc(func(context.Context, *ApprovalRequest) (approval.Decision, error) {
				return approval.Decision{Verdict: approval.Ask}, nil
			}),
		})
		assert.OK(t, r.Add(MustFunc("tool", "", func(context.Context, map[string]int) (string, error) {
			time.Sleep(rand.N(200 * time.Millisecond))
			return fmt.Sprint(ran.Add(1)), nil
		})))
		r.Use(func(next Handler) Handler {
			return func(ctx context.Context, call *Call) (*mcp.CallToolResult, error) {
				if rand.N(4) == 0 {
					return nil, mcp.WithOutcome(errors.New("away"), mcp.NotSent)
				}
				return next(ctx, call)
			}
		})

		var mu sync.Mutex
		made := map[string]string{} // the answer, by id, as Resume got it
		told := map[string]string{} // as Await got it; empty: the call was not made
		said := func(res *mcp.CallToolResult) string { return res.Content[0].(*mcp.TextContent).Text }
		var users sync.WaitGroup
		for u := range 8 {
			ctx := onbehalf.With(t.Context(), fmt.Sprint(u%3))
			users.Go(func() { // an agent
				for range 100 {
					c := WithConversation(ctx, fmt.Sprint(rand.N(2)))
					_, err := r.Call(c, "tool", json.RawMessage(fmt.Sprintf(`{"n":%d}`, rand.N(20))))
					var required *ApprovalRequiredError
					var denied *approval.DeniedError
					switch {
					case errors.As(err, &denied): // too many wait
						time.Sleep(rand.N(time.Second))
						continue
					case !errors.As(err, &required):
						t.Error(err)
						return
					}
					id := required.Request.ID
					res, err := r.Await(ctx, id)
					mu.Lock()
					switch {
					case err == nil:
						told[id] = said(res)
					case errors.As(err, &denied):
						told[id] = ""
					default:
						t.Error(err)
					}
					mu.Unlock()
					if rand.N(20) == 0 {
						r.EndConversation(c)
					}
				}
			})
			users.Go(func() { // the user
				for range 300 {
					time.Sleep(rand.N(100 * time.Millisecond))
					for _, req := range r.Approvals(ctx) {
						switch rand.N(6) {
						case 0:
							_ = r.Deny(ctx, req.ID, "")
						case 1, 2:
							res, err := r.Approve(ctx, req.ID, nil)
							if err != nil {
								break
							}
							mu.Lock()
							if before, twice := made[req.ID]; twice {
								t.Errorf("a call was made twice: %s, %s", before, said(res))
							}
							made[req.ID] = said(res)
							mu.Unlock()
						}
					}
				}
			})
		}
		users.Wait()
		for id, answer := range told {
			assert.Equal(t, made[id], answer, "made")
		}
		assert.False(t, len(made) != int(ran.Load()) || len(made) < 20, "%d calls were approved, %d ran", len(made), ran.Load())
		time.Sleep(time.Hour)
		r.approvals.idle(t)
	})
}

// A flipping is a tool that notes down what runs, and under which definition.
type flipping struct {
	def *Definition
	ran func(def *Definition, args string)
}

func (f *flipping) Definition() *Definition { return f.def }

func (f *flipping) Call(_ context.Context, args json.RawMessage) (*mcp.CallToolResult, error) {
	f.ran(f.def, string(args))
	return resultOf(textBlock("done")), nil
}

// Definitions flip while calls wait and are resumed, four times at once each. No call
// runs with other arguments, or as another tool, than was shown, and none runs twice.
// MCPBELT_SOAK=1 makes 3,200 calls.
func TestApprovalsWhileDefinitionsFlip(t *testing.T) {
	calls, resumes, workers := 160, 4, 16
	if os.Getenv("MCPBELT_SOAK") != "" {
		calls = 3200
	}
	type seen struct{ tool, args string }
	var (
		mu                               sync.Mutex
		shown                            = map[int]seen{}   // by the number of the call
		ran                              = map[int][]seen{} // the same
		made, stale, tooLate, questioned int
	)
	number := func(args string) int {
		var in struct{ N int }
		assert.OK(t, json.Unmarshal([]byte(args), &in), "arguments %q", args)
		return in.N
	}
	var surfaces [2][]Tool
	for i, text := range []string{"reads", "deletes"} {
		surfaces[i] = []Tool{&flipping{
			def: &Definition{
				Name: "s__tool", Description: text, Origin: Origin{"s", "tool"},
				InputSchema: json.RawMessage(`{"type":"object","description":"` + text + `"}`),
			},
			ran: func(def *Definition, args string) {
				mu.Lock()
				defer mu.Unlock()
				n := number(args)
				ran[n] = append(ran[n], seen{def.Description, args})
			},
		}}
	}
	r := New(&Options{Approver: ApproverFunc(func(_ context.Context, req *ApprovalRequest) (approval.Decision, error) {
		defer clear(req.Args) // which are a copy
		mu.Lock()
		defer mu.Unlock()
		if now := (seen{req.Tool.Description, string(req.Args)}); req.ID != "" && shown[number(now.args)] != now {
			questioned++
		}
		return approval.Decision{Verdict: approval.Ask}, nil
	})})
	flip := func() { assert.Value(r.Replace(Server{Name: "s"}, surfaces[rand.N(2)]))(t) }
	flip()
	r.Use(func(next Handler) Handler {
		return func(ctx context.Context, call *Call) (*mcp.CallToolResult, error) {
			if rand.N(4) == 0 { // after the call was confirmed
				flip()
			}
			return next(ctx, call)
		}
	})

	ended := make(chan struct{})
	var flipper, agents sync.WaitGroup
	flipper.Go(func() {
		for {
			select {
			case <-ended:
				return
			default:
				flip()
				runtime.Gosched()
			}
		}
	})
	resume := func(ctx context.Context, id string) {
		_, err := r.Approve(ctx, id, nil)
		mu.Lock()
		defer mu.Unlock()
		switch {
		case err == nil:
			made++
		case errors.As(err, new(*approval.StaleError)):
			stale++
		case errors.As(err, new(*approval.UnknownError)):
			tooLate++
		default:
			t.Error(err)
		}
	}
	numbers := make(chan int)
	for i := range workers {
		ctx := onbehalf.With(t.Context(), fmt.Sprint(i%3))
		agents.Go(func() {
			for n := range numbers {
				args := json.RawMessage(fmt.Sprintf(`{"n":%d}`, n))
				_, err := r.Call(ctx, "s__tool", args)
				var required *ApprovalRequiredError
				if !errors.As(err, &required) {
					t.Errorf("got %v, want an ApprovalRequiredError", err)
					continue
				}
				mu.Lock()
				shown[n] = seen{required.Request.Tool.Description, string(required.Request.Args)}
				mu.Unlock()
				clear(args)
				clear(required.Request.Args)
				var all sync.WaitGroup
				for range resumes {
					all.Go(func() { resume(ctx, required.Request.ID) })
				}
				all.Wait()
			}
		})
	}
	for n := range calls {
		numbers <- n
	}
	close(numbers)
	agents.Wait()
	close(ended)
	flipper.Wait()

	others, twice := 0, 0
	for n, all := range ran {
		if len(all) > 1 {
			twice++
		}
		for _, one := range all {
			if one != shown[n] {
				others++
			}
		}
	}
	t.Logf("%d calls, %d resumes each: %d ran, %d were stale, %d resumes came too late; %d ran other than shown, %d more than once", calls, resumes, made, stale, tooLate, others, twice)
	assert.Equal(t, others, 0, "calls that ran with other arguments or another definition than was shown")
	assert.Equal(t, twice, 0, "calls that ran more than once")
	assert.Equal(t, questioned, 0, "calls that the approver was asked again about as something else")
	assert.Equal(t, len(ran), made, "calls that ran")
	assert.Equal(t, made+stale+tooLate, calls*resumes, "resumes that ended as they may")
	assert.False(t, made == 0)
	assert.False(t, stale == 0)
}
