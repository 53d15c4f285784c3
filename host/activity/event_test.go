package activity_test

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/mcpbelt/mcpbelt/host/activity"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/onbehalf"
)

// maxError is how long an error becomes, in bytes.
const maxError = 2 << 10

// What is not said is filled in.
func TestWhoAndWhen(t *testing.T) {
	ctx := onbehalf.With(t.Context(), "ann")
	before := time.Now()
	e := one(t, ctx, nil, activity.Event{Kind: "call"})
	assert.Equal(t, fmt.Sprintf("%s %q %t %s", e.User, e.Parent, len(e.ID) >= 20, e.Time.Location()), `ann "" true UTC`, "recorded")
	assert.False(t, e.Time.Before(before), "an earlier time")
	assert.False(t, one(t, ctx, nil, activity.Event{}).ID == e.ID, "id")
	ctx = onbehalf.WithCall(ctx, onbehalf.Call{ID: "call_1", Parent: "turn 7"})
	e = one(t, ctx, nil, activity.Event{})
	assert.Equal(t, e.ID, "call_1", "recorded")
	assert.Equal(t, e.Parent, "turn 7", "recorded")
	said := activity.Event{Time: time.Unix(1, 0), ID: "x", User: "bob"}
	e = one(t, ctx, nil, said)
	assert.Equal(t, fmt.Sprintf("%s %s %q %d", e.ID, e.User, e.Parent, e.Time.Unix()), `x bob "" 1`, "recorded")
	said.Time = time.Date(12026, 1, 1, 0, 0, 0, 0, time.UTC)
	e = one(t, ctx, nil, said)
	assert.False(t, e.Time.Before(before) || e.Time.Year() > 9999, "another time than now")
}

// Equal arguments have equal hashes under one key, and no others.
func TestArgumentHash(t *testing.T) {
	memory := activity.NewMemory(0)
	key := closing(t, activity.New(nil, memory))
	hash := func(l *activity.Log, args string) string {
		t.Helper()
		l.Record(t.Context(), activity.Event{Arguments: json.RawMessage(args)})
		mustFlush(t, l)
		e := memory.Recent(nil, 1)[0]
		assert.True(t, e.Arguments == nil, "arguments")
		assert.Equal(t, e.ArgumentBytes, int64(len(args)), "arguments")
		return e.ArgumentHash
	}
	a := hash(key, `{"pin":"1234","n":1}`)
	assert.True(t, regexp.MustCompile(`^hmac-sha256:[0-9a-f]{64}$`).MatchString(a), "hash")
	assert.Equal(t, hash(key, ` { "n" : 1.0, "p\u0069n" : "1234" }`), a, "for the same")
	for _, other := range []string{`{"pin":"1235","n":1}`, `{"pin":"1234"}`, `{`, "\xff"} {
		assert.False(t, hash(key, other) == a, "the same hash for")
	}
	other := closing(t, activity.New(nil, memory))
	assert.False(t, hash(other, `{"pin":"1234","n":1}`) == a, "two logs have the same one")
	assert.Equal(t, hash(key, ``), "", "no arguments have the hash")
}

// Arguments are kept by option only, and without secrets.
func TestKeepArguments(t *testing.T) {
	secret := "ghp_" + strings.Repeat("a1B2", 9)
	args := json.RawMessage(`{"token":"` + secret + `","path":"a"}`)
	o := &activity.Options{KeepArguments: true}
	e := one(t, t.Context(), o, activity.Event{
		Arguments: args, Tool: "a " + secret, Error: "no " + secret, Detail: map[string]string{"x": secret},
	})
	kept, err := json.Marshal(e)
	assert.OK(t, err)
	assert.Lacks(t, string(kept), secret)
	assert.Contains(t, string(e.Arguments), `"path":"a"`)
	args = json.RawMessage(`{"path":"a"}`)
	e = one(t, t.Context(), o, activity.Event{Arguments: args})
	args[2] = 'X'
	assert.Equal(t, string(e.Arguments), `{"path":"a"}`, "the arguments, which are a copy")
	large := `{"x":"` + strings.Repeat("y", 16<<10) + `"}`
	for _, args := range []string{large, `{"a":`, `{"a":1,"a":2}`, "\xff"} {
		e := one(t, t.Context(), o, activity.Event{Arguments: json.RawMessage(args)})
		assert.True(t, e.Arguments == nil, "kept")
		assert.False(t, e.ArgumentHash == "", "kept")
	}
}

// Whatever is recorded, what comes out is bounded and can be written as JSON.
func TestBounds(t *testing.T) {
	for _, text := range []string{strings.Repeat("x", 1<<20), strings.Repeat("é", 1<<19), strings.Repeat("\xff", 1<<20), "\xff", "a\x00b", "\u2028"} {
		detail := map[string]string{}
		for i := range 100 {
			detail[string(rune('a'+i))+text] = text
		}
		e := one(t, t.Context(), nil, activity.Event{
			ID: text, Parent: text, Kind: text, User: text, Server: text, Tool: text,
			Outcome: text, Error: text, ArgumentHash: text, Detail: detail,
		})
		for _, s := range []string{e.ID, e.Parent, e.Kind, e.User, e.Server, e.Tool, e.Outcome, e.ArgumentHash} {
			assert.True(t, 0 < len(s) && len(s) <= 512 && utf8.ValidString(s), "%d bytes of %d: %.20q", len(s), len(text), s)
		}
		assert.True(t, len(e.Error) <= maxError, "%d bytes of error", len(e.Error))
		assert.Equal(t, len(e.Detail), 32, "details")
		data, err := json.Marshal(e)
		var back activity.Event
		assert.OK(t, err)
		assert.Lacks(t, string(data), "\n")
		assert.OK(t, json.Unmarshal(data, &back))
		assert.Equal(t, back.ID, e.ID)
		assert.True(t, back.Time.Equal(e.Time), "the same time")
	}
}

// A map that is changed afterwards does not change the event.
func TestDetailIsCopied(t *testing.T) {
	detail := map[string]string{"a": "b"}
	e := one(t, t.Context(), nil, activity.Event{Detail: detail})
	detail["a"] = "c"
	assert.Equal(t, e.Detail["a"], "b", "detail")
}

func TestFilter(t *testing.T) {
	at := time.Unix(100, 0)
	e := &activity.Event{Time: at, ID: "i", Parent: "p", Kind: "call", User: "u", Server: "s", Tool: "t", Outcome: "ok"}
	for _, test := range []struct {
		f    *activity.Filter
		want bool
	}{
		{nil, true},
		{&activity.Filter{}, true},
		{&activity.Filter{Since: at, Until: at.Add(1), ID: "i", Parent: "p", User: "u", Server: "s", Tool: "t", Kinds: []string{"x", "call"}, Outcomes: []string{"ok"}}, true},
		{&activity.Filter{Since: at.Add(1)}, false},
		{&activity.Filter{Until: at}, false},
		{&activity.Filter{ID: "x"}, false},
		{&activity.Filter{Parent: "x"}, false},
		{&activity.Filter{User: "x"}, false},
		{&activity.Filter{Server: "x"}, false},
		{&activity.Filter{Tool: "x"}, false},
		{&activity.Filter{Kinds: []string{"x"}}, false},
		{&activity.Filter{Outcomes: []string{"x"}}, false},
	} {
		assert.Equal(t, test.f.Match(e), test.want, "%+v", test.f)
	}
}

func TestMemory(t *testing.T) {
	m := activity.NewMemory(3)
	assert.Equal(t, len(m.Recent(nil, 0)), 0)
	for i := range 5 {
		_ = m.Write(context.Background(), []activity.Event{numbered(i)})
	}
	assert.Equal(t, ids(m.Recent(nil, 0)), "4 3 2", "recent")
	assert.Equal(t, ids(m.Recent(nil, 1)), "4", "the newest")
	assert.Equal(t, ids(m.Recent(&activity.Filter{ID: "3"}, 1)), "3", "number 3")
}

// A secret is taken out before an error is cut: no half of it is left.
func TestSecretWhereAnErrorIsCut(t *testing.T) {
	secret := "ghp_" + strings.Repeat("a1", 18)
	memory := activity.NewMemory(0)
	log := activity.New(nil, memory)
	text := strings.Repeat("x ", maxError/2-10) + secret
	log.Record(t.Context(), activity.Event{Kind: "call", Error: text})
	assert.OK(t, log.Close(t.Context()))
	got := memory.Recent(nil, 0)[0].Error
	assert.Lacks(t, got, "ghp_")
	assert.True(t, len(got) <= maxError, "%d bytes", len(got))
}
