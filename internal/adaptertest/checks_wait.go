package adaptertest

import (
	"context"
	"slices"
	"strings"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/onbehalf"
	"github.com/mcpbelt/mcpbelt/registry/profile"
)

// wait has a turn that waits for a person.
func (k *kit) wait(ctx context.Context, message string, replies ...func(*Request) Reply) []profile.Wait {
	k.Helper()
	k.model.Then(replies...)
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	turn, err := k.agent.Ask(ctx, message)
	if err != nil || len(turn.Waits) != 1 {
		k.Fatalf("the turn does not wait for one call: %+v, %v; the model refused: %q", turn, err, k.model.Refused())
	}
	return turn.Waits
}

// resume has the turn come to its end, now that the person has answered.
func (k *kit) resume(ctx context.Context) *Request {
	k.Helper()
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return k.over(k.agent.Resume(ctx))
}

func (k *kit) approval() {
	waits := k.wait(k.Context(), "danger", k.calls(want{"echo", `{"text":"x"}`}, want{"danger", `{}`}), text("done"))
	k.ran("danger", 0)
	assert.Value(k.belt.registry.Approve(k.Context(), waits[0].Approval, nil))(k)
	req := k.resume(k.Context())
	got := k.results(req, 2)
	k.contains(got[0], "echoed")
	k.contains(got[1], "it is done")
	k.ran("danger", 1)
	k.ran("echo", 1)
}

func (k *kit) refusal() {
	waits := k.wait(k.Context(), "danger", k.calls(want{"danger", `{}`}), text("done"))
	assert.OK(k, k.belt.registry.Deny(k.Context(), waits[0].Approval, "not on a Friday"))
	r := k.results(k.resume(k.Context()), 1)[0]
	k.contains(r, "not on a Friday")
	assert.True(k, r.failed(), "the refusal is told as a failure: %+v", r)
	k.ran("danger", 0)
}

func (k *kit) login() {
	waits := k.wait(k.Context(), "unlock", k.calls(want{"lock", `{}`}), text("done"))
	assert.Equal(k, waits[0].LoginURL, loginURL, "the user is to log in at")
	k.belt.logIn()
	k.contains(k.results(k.resume(k.Context()), 1)[0], "unlocked")
}

// several has calls of one message that wait for different things. Two of them are the
// same call, which is made as often as a person is asked: once, or twice where the second
// comes when the first is over.
func (k *kit) several() {
	k.model.Then(k.calls(want{"danger", `{"what":"a"}`}, want{"lock", `{}`}, want{"danger", `{"what":"b"}`}, want{"echo", `{"text":"x"}`},
		want{"danger", `{"what":"a"}`}), text("done"))
	ctx, cancel := context.WithTimeout(k.Context(), patience)
	defer cancel()
	decided := map[string]bool{}
	turn, err := k.agent.Ask(ctx, "everything")
	for err == nil && len(turn.Waits) > 0 {
		for _, w := range turn.Waits {
			if !decided[w.Approval] {
				k.decide(ctx, w)
			}
			decided[w.Approval] = true
		}
		turn, err = k.agent.Resume(ctx)
	}
	got := k.results(k.over(turn, err), 5)
	for i, text := range []string{"it is done", "unlocked", "not b", "echoed", "it is done"} {
		k.contains(got[i], text)
		assert.Equal(k, got[i].failed(), i == 2, "result %d is a failure: %+v", i, got[i])
	}
	ran := k.belt.calls("danger")
	if asked := len(decided) - len([]string{"lock", "b"}); asked < 1 || asked > 2 || !slices.Equal(ran, slices.Repeat([]string{`{"what":"a"}`}, asked)) {
		k.Errorf("got decisions on %v, and what ran is %q", decided, ran)
	}
	k.ran("echo", 1)
}

// decide is what the person says to a call that waits: b is refused.
func (k *kit) decide(ctx context.Context, w profile.Wait) {
	k.Helper()
	if w.Approval == "" {
		k.belt.logIn()
		return
	}
	var err error
	if asks := k.belt.asked(ctx, w.Approval); asks != nil && strings.Contains(string(asks.Args), `"b"`) {
		err = k.belt.registry.Deny(ctx, w.Approval, "not b")
	} else {
		_, err = k.belt.registry.Approve(ctx, w.Approval, nil)
	}
	if err != nil {
		k.Fatalf("decide %+v: %v", w, err)
	}
}

// users has two conversations, of users who may not call the same tools.
func (k *kit) users() {
	ada, ben := onbehalf.With(k.Context(), "ada"), onbehalf.With(k.Context(), "ben")
	req := k.askAs(ada, "ada", k.calls(want{"private", `{}`}), text("done"))
	k.contains(k.results(req, 1)[0], "of ada alone")
	name := nameOf(req, "private")
	adas := k.agent
	k.agent = k.a.Start(k.T, k.belt.registry, k.model.URL)
	req = k.askAs(ben, "ben", func(req *Request) Reply {
		if toolFor(req, "private") != nil {
			k.Error("the model of ben is told of a tool that is not for them")
		}
		return Reply{Calls: []Call{k.call(name, `{}`)}}
	}, text("done"))
	if r := k.results(req, 1)[0]; strings.Contains(r.Text, "of ada alone") {
		k.Errorf("ben gets %+v", r)
	}
	k.ran("private", 1)
	k.agent = adas
	waits := k.wait(ada, "danger", k.calls(want{"danger", `{}`}), text("done"))
	assert.True(k, k.belt.asked(ben, waits[0].Approval) == nil, "ben does not see what waits for ada")
	if _, err := k.belt.registry.Approve(ben, waits[0].Approval, nil); err == nil {
		k.Error("ben approves a call of ada")
	}
	assert.Value(k.belt.registry.Approve(ada, waits[0].Approval, nil))(k)
	k.contains(k.results(k.resume(ada), 1)[0], "it is done")
	k.ran("danger", 1)
}
