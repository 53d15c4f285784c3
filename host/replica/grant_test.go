package replica_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpbelt/mcpbelt/host/replica"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/approval"
	"github.com/mcpbelt/mcpbelt/registry/policy"
	"github.com/mcpbelt/mcpbelt/session"
	"github.com/mcpbelt/mcpbelt/session/filestore"
	"github.com/mcpbelt/mcpbelt/storage"
)

// A sharer is a replica that shares what is allowed for conversations.
type sharer struct {
	*replica.Member
	registry *registry.Registry

	mu     sync.Mutex
	decide registry.ApproverFunc
}

// newSharer returns a replica whose approver asks about each call.
func newSharer(t *testing.T, store storage.Store, opts *replica.Options) *sharer {
	t.Helper()
	s := &sharer{}
	var err error
	s.Member, err = replica.Join(t.Context(), store, opts)
	assert.OK(t, err)
	s.says(approval.Ask)
	s.registry = registry.New(&registry.Options{
		Approvals: approval.Options{Replica: s.ID()},
		Approver: s.Approver(registry.ApproverFunc(func(ctx context.Context, req *registry.ApprovalRequest) (approval.Decision, error) {
			s.mu.Lock()
			decide := s.decide
			s.mu.Unlock()
			return decide(ctx, req)
		})),
	})
	s.offers(t, registry.Server{Fingerprint: "1"}, "Send a text.")
	assert.OK(t, s.Attach(s.registry))
	t.Cleanup(func() { assert.Equal(t, s.Close(context.WithoutCancel(t.Context())), nil, "closing") })
	return s
}

// offers has the server mail offer two tools that are so described.
func (s *sharer) offers(t *testing.T, server registry.Server, description string) {
	t.Helper()
	server.Name = "mail"
	var tools []registry.Tool
	for _, name := range []string{"send", "drop"} {
		tool := assert.Value(registry.With(registry.MustFunc(name, description, func(_ context.Context, in args) (string, error) {
			return in.Text, nil
		}), func(d *registry.Definition) {
			d.Name, d.Origin = "mail__"+name, registry.Origin{Server: "mail", Tool: name}
		}))(t)
		tools = append(tools, tool)
	}
	assert.Value(s.registry.Replace(server, tools))(t)
}

func (s *sharer) decides(f registry.ApproverFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.decide = f
}

func (s *sharer) says(v approval.Verdict) {
	s.decides(func(context.Context, *registry.ApprovalRequest) (approval.Decision, error) {
		return approval.Decision{Verdict: v}, nil
	})
}

// asks wants a call that is to wait, and returns its id.
func (s *sharer) asks(t *testing.T, ctx context.Context, tool string) string {
	t.Helper()
	_, err := s.registry.Call(ctx, tool, json.RawMessage(`{"text":"a"}`))
	return assert.As[*registry.ApprovalRequiredError](t, err, "the call waits").Request.ID
}

// allows answers a call with "for this conversation".
func (s *sharer) allows(t *testing.T, ctx context.Context, tool string) {
	t.Helper()
	assert.Value(s.Member.Approve(ctx, s.asks(t, ctx, tool), &registry.ApproveOptions{ForConversation: true}))(t)
}

// isFree reports whether a call is made without a question. If not, nothing is left that waits.
func (s *sharer) isFree(t *testing.T, ctx context.Context, tool string) bool {
	t.Helper()
	_, err := s.registry.Call(ctx, tool, json.RawMessage(`{"text":"b"}`))
	if err == nil {
		return true
	}
	assert.OK(t, s.registry.Deny(ctx, assert.As[*registry.ApprovalRequiredError](t, err, "the call waits").Request.ID, ""))
	return false
}

func in(t *testing.T, user, conversation string) context.Context {
	return registry.WithConversation(session.WithUser(t.Context(), user), conversation)
}

// countingStore counts what is loaded of grants and of calls, and hangs if it is told to.
type countingStore struct {
	storage.Store
	loads atomic.Int32
	calls atomic.Int32
	hangs atomic.Bool
}

func (s *countingStore) Load(ctx context.Context, name string, known storage.Revision) (storage.Record, error) {
	if strings.HasPrefix(name, "call-") {
		s.calls.Add(1)
	}
	if strings.HasPrefix(name, "grant-") {
		s.loads.Add(1)
		if s.hangs.Load() {
			<-ctx.Done()
			return storage.Record{}, ctx.Err()
		}
	}
	return s.Store.Load(ctx, name, known)
}

// What is allowed for a session on one replica counts on the others: of that user, in that conversation, for that tool.
func TestGrantsAreShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := storage.NewMemory()
		counted := &countingStore{Store: store}
		a, b := newSharer(t, store, nil), newSharer(t, counted, nil)
		ann := in(t, "ann", "c1")
		assert.False(t, b.isFree(t, ann, "mail__send"), "a free call before anything was allowed")
		id := a.asks(t, ann, "mail__send")
		settled()
		if _, err := b.Approve(ann, id, &registry.ApproveOptions{ForConversation: true}); err != nil { // by way of b, at a
			t.Fatal(err)
		}
		for _, c := range []struct {
			ctx  context.Context
			tool string
			want bool
		}{
			{in(t, "ann", "c2"), "mail__send", false},
			{in(t, "bob", "c1"), "mail__send", false},
			{in(t, "annc", "1"), "mail__send", false},
			{session.WithUser(t.Context(), "ann"), "mail__send", false},
			{registry.WithConversation(t.Context(), "c1"), "mail__send", false},
			{t.Context(), "mail__send", false},
			{ann, "mail__drop", false},
			{ann, "mail__send", true},
		} {
			assert.Equal(t, b.isFree(t, c.ctx, c.tool), c.want, "%+v: got a free call", c)
		}
		// It remembers that, and the store is not asked about what the policy decides by itself.
		before := counted.loads.Load()
		assert.True(t, b.isFree(t, ann, "mail__send"), "a second free call")
		b.says(approval.Allow)
		assert.True(t, b.isFree(t, ann, "mail__drop"), "a free call that the policy allows")
		b.says(approval.Deny)
		for _, tool := range []string{"mail__send", "mail__drop"} {
			assert.As[*approval.DeniedError](t, assert.Err(b.registry.Call(ann, tool, nil)), "%s: what the policy denies", tool)
		}
		assert.Equal(t, counted.loads.Load()-before, 0, "loads")

		// The policy sees that the call is approved, and may forbid it then.
		c := newSharer(t, store, nil)
		c.decides(func(_ context.Context, req *registry.ApprovalRequest) (approval.Decision, error) {
			if req.Approved {
				return approval.Decision{Verdict: approval.Deny}, nil
			}
			return approval.Decision{Verdict: approval.Ask}, nil
		})
		_, err := c.registry.Call(ann, "mail__send", json.RawMessage(`{"text":"a"}`))
		assert.As[*approval.DeniedError](t, err, "the policy wins over the grant")
	})
}

// What a policy or a person who is asked at once allows for a session is shared, too.
func TestGrantsOfOthersAreShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := storage.NewMemory()
		a, b := newSharer(t, store, nil), newSharer(t, store, nil)
		asking := registry.WithAsk(in(t, "ann", "asked"), func(context.Context, *registry.ApprovalRequest) (approval.Decision, error) {
			return approval.Decision{Verdict: approval.AllowForConversation}, nil
		})
		assert.True(t, a.isFree(t, asking, "mail__send"), "the answer counts")
		a.says(approval.AllowForConversation)
		assert.True(t, a.isFree(t, in(t, "ann", "policy"), "mail__send"), "the policy counts")
		for _, conversation := range []string{"asked", "policy"} {
			assert.True(t, b.isFree(t, in(t, "ann", conversation), "mail__send"), "%s: a free call elsewhere", conversation)
		}
	})
}

// A grant is for the tool as it was, of the server that it was.
func TestGrantOfAnotherTool(t *testing.T) {
	for name, change := range map[string]func(t *testing.T, s *sharer){
		"schema": func(t *testing.T, s *sharer) {
			type other struct {
				Text string `json:"text"`
				To   string `json:"to,omitempty"`
			}
			tool := assert.Value(registry.With(registry.MustFunc("send", "Send a text.", func(context.Context, other) (string, error) { return "", nil }),
				func(d *registry.Definition) {
					d.Name, d.Origin = "mail__send", registry.Origin{Server: "mail", Tool: "send"}
				}))(t)
			assert.Value(s.registry.Replace(registry.Server{Name: "mail", Fingerprint: "1"}, []registry.Tool{tool}))(t)
		},
		"description": func(t *testing.T, s *sharer) { s.offers(t, registry.Server{Fingerprint: "1"}, "Send all texts.") },
		"server":      func(t *testing.T, s *sharer) { s.offers(t, registry.Server{Fingerprint: "2"}, "Send a text.") },
		"trust": func(t *testing.T, s *sharer) {
			s.offers(t, registry.Server{Fingerprint: "1", Trusted: true}, "Send a text.")
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := storage.NewMemory()
				a, b, c := newSharer(t, store, nil), newSharer(t, store, nil), newSharer(t, store, nil)
				ann := in(t, "ann", "c1")
				a.allows(t, ann, "mail__send")
				assert.True(t, c.isFree(t, ann, "mail__send"), "a free call where the tool is the same")
				change(t, b)
				assert.False(t, b.isFree(t, ann, "mail__send"), "a free call of another tool")
				b.offers(t, registry.Server{Fingerprint: "1"}, "Send a text.")
				assert.False(t, b.isFree(t, ann, "mail__send"), "a free call when the tool was as before")
				change(t, c)
				assert.False(t, c.isFree(t, ann, "mail__send"), "a free call of another tool where it was allowed")
			})
		})
	}
}

// A grant is not shared any more after a day, and its record goes.
func TestGrantEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := storage.NewMemory()
		opts := &replica.Options{Every: 2 * time.Minute} // fewer looks make the test faster
		a := newSharer(t, store, opts)
		ann := in(t, "ann", "c1")
		a.allows(t, ann, "mail__send")
		time.Sleep(24*time.Hour - time.Second)
		assert.True(t, newSharer(t, store, opts).isFree(t, ann, "mail__send"), "a free call within a day")
		time.Sleep(time.Second)
		assert.False(t, newSharer(t, store, opts).isFree(t, ann, "mail__send"), "a free call after a day")
		assert.True(t, a.isFree(t, ann, "mail__send"), "the registry goes on as it does")
		a.allows(t, in(t, "ann", "c2"), "mail__send")
		assert.Equal(t, len(grantRecords(t, store)), 1, "records of grants")
		time.Sleep(2 * 24 * time.Hour)
		assert.Equal(t, len(grantRecords(t, store)), 0, "records of grants after two more days")
	})
}

func grantRecords(t *testing.T, store storage.Store) (list []string) {
	for name, err := range store.Names(t.Context(), "grant-") {
		assert.OK(t, err)
		list = append(list, name)
	}
	return list
}

// A clock that is wrong makes no grant that lasts, and a record that is none is replaced.
func TestGrantOfAWrongClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := storage.NewMemory()
		a, b := newSharer(t, store, nil), newSharer(t, store, nil)
		ann := in(t, "ann", "c1")
		a.allows(t, ann, "mail__send")
		name := grantRecords(t, store)[0]
		r := assert.Value(store.Load(t.Context(), name, ""))(t)
		var held map[string]map[string]any
		assert.OK(t, json.Unmarshal(r.Data, &held))
		held["mail__send"]["until"] = time.Now().Add(26 * time.Hour).Unix()
		data := assert.Value(json.Marshal(held))(t)
		for _, data := range []string{string(data), "{", "null", `{"mail__send":{}}`} {
			r, err := store.Load(t.Context(), name, "")
			if errors.Is(err, storage.ErrNotFound) {
				err = nil
			}
			assert.OK(t, err)
			assert.Value(store.Save(t.Context(), name, []byte(data), r.Revision))(t)
			assert.False(t, b.isFree(t, ann, "mail__send"), "a free call with the record %s", data)
		}
		b.allows(t, ann, "mail__drop")
		a.registry.RevokeGrants(t.Context())
		assert.True(t, a.isFree(t, ann, "mail__drop"), "the record was replaced")
	})
}

// If the store hangs or fails the user is asked, soon.
func TestGrantsOfAStoreThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := storage.NewMemory()
		hanging := &countingStore{Store: store}
		cut := &stuckStore{Store: store}
		a, b, c := newSharer(t, store, nil), newSharer(t, hanging, nil), newSharer(t, cut, nil)
		ann := in(t, "ann", "c1")
		a.allows(t, ann, "mail__send")
		hanging.hangs.Store(true)
		began := time.Now()
		assert.False(t, b.isFree(t, ann, "mail__send"), "a free call while the store hangs")
		b.allows(t, ann, "mail__send") // counts here
		assert.True(t, b.isFree(t, ann, "mail__send"), "a free call that was allowed here")
		assert.True(t, time.Since(began) <= 6*time.Second, "it took %v, at most 6 s", time.Since(began))
		cut.dead.Store(true)
		assert.False(t, c.isFree(t, ann, "mail__send"), "a free call while the store fails")
		cut.dead.Store(false)
		hanging.hangs.Store(false)
		assert.True(t, c.isFree(t, ann, "mail__send"), "a free call when the store is back")
	})
}

// The records are bounded: the newest tools of a conversation are shared, and not too many conversations of a user.
func TestGrantsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := storage.NewMemory()
		a, b := newSharer(t, store, nil), newSharer(t, store, nil)
		ask := a.Approver(registry.ApproverFunc(func(context.Context, *registry.ApprovalRequest) (approval.Decision, error) {
			return approval.Decision{Verdict: approval.AllowForConversation}, nil
		}))
		allow := func(user, conversation, tool string) {
			req := &registry.ApprovalRequest{User: user, Conversation: conversation, Tool: &registry.Definition{Name: tool}, Subject: "s"}
			assert.Value(ask.Approve(t.Context(), req))(t)
		}
		isShared := func(user, conversation, tool string) bool {
			req := &registry.ApprovalRequest{User: user, Conversation: conversation, Tool: &registry.Definition{Name: tool}, Subject: "s"}
			d := assert.Value(b.Approver(registry.ApproverFunc(func(context.Context, *registry.ApprovalRequest) (approval.Decision, error) {
				return approval.Decision{Verdict: approval.Ask}, nil
			})).Approve(t.Context(), req))(t)
			return d.Verdict == approval.AllowForConversation
		}
		for n := range 101 {
			allow("ann", "c", fmt.Sprint(n))
			time.Sleep(time.Second)
		}
		for tool, want := range map[string]bool{"0": false, "1": true, "100": true} {
			assert.Equal(t, isShared("ann", "c", tool), want, "tool %s: got shared", tool)
		}
		for n := range 1001 {
			allow("eve", fmt.Sprint(n), "tool")
		}
		for conversation, want := range map[string]bool{"0": true, "999": true, "1000": false} {
			assert.Equal(t, isShared("eve", conversation, "tool"), want, "conversation %s: got shared", conversation)
		}
		allow("bob", "c", "tool")
		assert.True(t, isShared("bob", "c", "tool"), "the grant")
	})
}

// A policy goes on hiding what it denies.
func TestApproverHidesWhatIsDenied(t *testing.T) {
	m := assert.Value(replica.Join(t.Context(), storage.NewMemory(), nil))(t)
	defer m.Close(context.WithoutCancel(t.Context()))
	assert.True(t, m.Approver(nil) == nil, "no approver of none")
	for _, next := range []registry.Approver{policy.Cautious(), registry.ApproverFunc(func(context.Context, *registry.ApprovalRequest) (approval.Decision, error) {
		return approval.Decision{}, nil
	})} {
		type decider interface {
			Decide(req *registry.ApprovalRequest) approval.Decision
		}
		_, want := next.(decider)
		_, got := m.Approver(next).(decider)
		assert.Equal(t, got, want, "%T: one that decides before a call", next)
	}
}

// Processes of one machine share what is allowed in files.
func TestGrantsInFiles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		open := func() storage.Store {
			store := assert.Value(filestore.Open(t.Context(), dir, nil))(t)
			t.Cleanup(func() { _ = store.Close() })
			return store
		}
		a, b := newSharer(t, open(), nil), newSharer(t, open(), nil)
		ann := in(t, "ann", "c1")
		a.allows(t, ann, "mail__send")
		assert.True(t, b.isFree(t, ann, "mail__send"), "a free call elsewhere")
		assert.OK(t, b.EndConversation(ann))
		assert.False(t, a.isFree(t, ann, "mail__send"), "a free call in a conversation that has ended elsewhere")
	})
}

// What is taken back on one replica is taken back on all.
func TestTakeBackElsewhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := storage.NewMemory()
		a, b, c := newSharer(t, store, nil), newSharer(t, store, nil), newSharer(t, store, nil)
		settled()
		ann1, ann2, bob1 := in(t, "ann", "c1"), in(t, "ann", "c2"), in(t, "bob", "c1")
		all := []context.Context{ann1, ann2, bob1}
		for _, test := range []struct {
			name string
			do   func() error
			want [3]bool
		}{
			{"the conversation", func() error { return c.EndConversation(ann1) }, [3]bool{false, true, true}},
			{"the user", func() error { return c.RevokeGrants(ann2) }, [3]bool{false, false, true}},
			{"all", func() error { return c.RevokeGrants(t.Context()) }, [3]bool{}},
		} {
			for _, ctx := range all {
				if !a.isFree(t, ctx, "mail__send") {
					a.allows(t, ctx, "mail__send")
				}
				assert.True(t, b.isFree(t, ctx, "mail__send"), "%s: a free call before", test.name)
			}
			waiting := b.asks(t, ann1, "mail__drop")
			assert.Equal(t, test.do(), nil, "%s", test.name)
			for _, s := range []*sharer{a, b, c} {
				for i, ctx := range all {
					assert.Equal(t, s.isFree(t, ctx, "mail__send"), test.want[i], "%s: got a free call", test.name)
				}
			}
			assert.Equal(t, len(b.registry.Approvals(ann1)) == 0, test.name == "the conversation", "%s: no call waits", test.name)
			_ = b.registry.Deny(ann1, waiting, "")
		}
		settled()
		for name, err := range store.Names(t.Context(), "answer-") {
			t.Errorf("got the record %s, %v, want none of answers", name, err)
		}
	})
}

// A replica that could not be told forgets what was allowed as soon as it can.
func TestTakeBackOfTheCutOff(t *testing.T) {
	for _, away := range []time.Duration{3 * time.Second, time.Minute, 2 * time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			store := storage.NewMemory()
			cut := &stuckStore{Store: store}
			a, b := newSharer(t, cut, nil), newSharer(t, store, nil)
			settled()
			ann := in(t, "ann", "c1")
			a.allows(t, ann, "mail__send")
			cut.dead.Store(true)
			time.Sleep(away)
			ctx, cancel := context.WithTimeout(session.WithUser(t.Context(), "ann"), 5*time.Second)
			defer cancel()
			err := b.RevokeGrants(ctx)
			assert.Equal(t, errors.Is(err, context.DeadlineExceeded), away < 20*time.Second, "away for %v", away)
			assert.True(t, a.isFree(t, ann, "mail__send"), "away for %v: it goes on with what it knows", away)
			cut.dead.Store(false)
			settled()
			assert.False(t, a.isFree(t, ann, "mail__send"), "away for %v: a free call when it was back", away)
		})
	}
}

// A decision from before grants were taken back is not shared after it.
func TestTakeBackWhileItIsDecided(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := storage.NewMemory()
		a, b := newSharer(t, store, nil), newSharer(t, store, nil)
		settled()
		ann := in(t, "ann", "c1")
		id := a.asks(t, ann, "mail__send")
		decided := make(chan struct{})
		a.decides(func(context.Context, *registry.ApprovalRequest) (approval.Decision, error) {
			<-decided
			return approval.Decision{Verdict: approval.Ask}, nil
		})
		made := make(chan error)
		go func() {
			_, err := a.Approve(ann, id, &registry.ApproveOptions{ForConversation: true})
			made <- err
		}()
		synctest.Wait()
		assert.Equal(t, b.RevokeGrants(ann), nil)
		close(decided)
		assert.Equal(t, <-made, nil)
		for _, s := range []*sharer{a, b} {
			assert.False(t, s.isFree(t, ann, "mail__send"), "a free call")
		}
	})
}

// A replica that leaves takes back what it is told to, while it waits for a call that it makes.
func TestTakeBackOfTheLeaving(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := storage.NewMemory()
		gate := make(chan struct{})
		a, b := newSite(t, store, gate), newSite(t, store, nil)
		id := a.call(t, t.Context(), "hello")
		settled()
		made, left := make(chan error), make(chan error)
		go func() {
			_, err := b.Approve(t.Context(), id, nil)
			made <- err
		}()
		settled()
		go func() { left <- a.Close(t.Context()) }()
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		assert.Equal(t, b.RevokeGrants(ctx), nil)
		close(gate)
		assert.Equal(t, <-made, nil, "of the call")
		assert.Equal(t, <-left, nil, "of Close")
	})
}
