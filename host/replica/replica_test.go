// Tests of member.go, call.go, answer.go and outcome.go: calls that wait on one replica and are decided about on another.

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

	"go.uber.org/goleak"

	"github.com/mcpbelt/mcpbelt/host/replica"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/onbehalf"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/mcp/failure"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/approval"
	"github.com/mcpbelt/mcpbelt/registry/result"
	"github.com/mcpbelt/mcpbelt/session"
	"github.com/mcpbelt/mcpbelt/storage"
)

// A site is one replica with a tool that needs approval.
type site struct {
	*replica.Member
	registry *registry.Registry
	runs     *atomic.Int32
	gate     chan struct{} // the tool waits for it, if it is not nil
}

type args struct {
	Text string `json:"text"`
}

func newSite(t *testing.T, store storage.Store, gate chan struct{}) *site {
	t.Helper()
	s := &site{gate: gate, runs: new(atomic.Int32)}
	s.Member = assert.Value(replica.Join(t.Context(), store, nil))(t)
	s.registry = registry.New(&registry.Options{Approvals: approval.Options{Replica: s.ID()}, Approver: registry.ApproverFunc(func(context.Context, *registry.ApprovalRequest) (approval.Decision, error) {
		return approval.Decision{Verdict: approval.Ask}, nil
	})})
	assert.OK(t, s.registry.Add(registry.MustFunc("send", "Send a text.", func(ctx context.Context, in args) (string, error) {
		s.runs.Add(1)
		if s.gate != nil {
			select {
			case <-s.gate:
			case <-ctx.Done():
				return "", ctx.Err()
			}
		}
		if in.Text == "fail" {
			return "", errors.New("it failed")
		}
		return "sent " + in.Text, nil
	})))
	assert.OK(t, s.Attach(s.registry))
	t.Cleanup(func() { assert.Equal(t, s.Close(context.WithoutCancel(t.Context())), nil, "closing") })
	return s
}

// call wants a call, and returns the id under which it waits.
func (s *site) call(t *testing.T, ctx context.Context, text string) string {
	t.Helper()
	data, err := json.Marshal(args{text})
	assert.OK(t, err)
	required := assert.As[*registry.ApprovalRequiredError](t, assert.Err(s.registry.Call(ctx, "send", data)), "the call waits")
	assert.True(t, strings.HasPrefix(required.Request.ID, s.ID()+"-"), "the id %s begins with %s", required.Request.ID, s.ID())
	return required.Request.ID
}

// settled lets some seconds pass, so that the members have seen each other and their calls.
func settled() {
	<-time.After(6 * time.Second)
	synctest.Wait()
}

// A call that waits on one replica is approved on another, and made once, where it waited.
func TestApproveElsewhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := storage.NewMemory()
		a, b := newSite(t, store, nil), newSite(t, store, nil)
		ann := session.WithUser(t.Context(), "ann")
		id := a.call(t, ann, "hello")
		settled()
		list := assert.Value(b.Approvals(ann))(t)
		assert.Equal(t, len(list), 1)
		got := list[0]
		assert.Equal(t, got.ID+got.User+got.Tool.Name+string(got.Args), id+"annsend"+`{"text":"hello"}`, "the call")
		bob := session.WithUser(t.Context(), "bob")
		assert.Equal(t, len(assert.Value(b.Approvals(bob))(t)), 0, "calls that wait")
		_, err := b.Approve(bob, id, nil)
		assert.As[*approval.UnknownError](t, err, "another user")

		var all sync.WaitGroup
		var made, refused atomic.Int32
		for _, s := range []*site{a, b, b} {
			all.Go(func() {
				res, err := s.Approve(ann, id, nil)
				switch {
				case err == nil && result.Text(res) == "sent hello":
					made.Add(1)
				case errors.As(err, new(*approval.UnknownError)):
					refused.Add(1)
				default:
					t.Errorf("got %v, %v", res, err)
				}
			})
		}
		all.Wait()
		assert.Equal(t, made.Load(), 1, "approvals that made the call")
		assert.Equal(t, refused.Load(), 2, "approvals that came too late")
		assert.Equal(t, a.runs.Load(), 1, "runs where it waited")
		assert.Equal(t, b.runs.Load(), 0, "runs elsewhere")
		settled()
		for _, s := range []*site{a, b} {
			assert.Equal(t, result.Text(assert.Value(s.Await(ann, id))(t)), "sent hello", "later")
		}
	})
}

// An observer learns who approved a call elsewhere.
func TestWhoApproved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := storage.NewMemory()
		a, b := newSite(t, store, nil), newSite(t, store, nil)
		users := make(chan string, 1)
		defer a.registry.Observe(func(ctx context.Context, o *registry.Observation) {
			if o.Kind == registry.Approved {
				user, _ := onbehalf.User(ctx)
				users <- user
			}
		})()
		ann := session.WithUser(t.Context(), "ann")
		id := a.call(t, ann, "hello")
		settled()
		assert.Value(b.Approve(ann, id, nil))(t)
		assert.Equal(t, <-users, "ann", "as the one who approved")
	})
}

// What becomes of a call reaches those who wait for it elsewhere.
func TestOutcomesElsewhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := storage.NewMemory()
		a, b := newSite(t, store, nil), newSite(t, store, nil)
		denied, failed, expired := a.call(t, t.Context(), "no"), a.call(t, t.Context(), "fail"), a.call(t, t.Context(), "late")
		settled()
		outcomes := make(chan string, 3)
		for _, id := range []string{denied, failed, expired} {
			go func() {
				res, err := b.Await(t.Context(), id)
				var refused *approval.DeniedError
				switch {
				case errors.As(err, &refused):
					outcomes <- "denied: " + refused.Reason
				case err != nil:
					outcomes <- "error: " + err.Error()
				default:
					outcomes <- fmt.Sprint(res.IsError, result.Text(res))
				}
			}()
		}
		assert.OK(t, b.Deny(t.Context(), denied, "not now"))
		assert.Equal(t, <-outcomes, "denied: the user refused it: not now")
		_, err := b.Approve(t.Context(), failed, nil)
		_, own := a.Await(t.Context(), failed)
		what := func(err error) string { return fmt.Sprint(err, mcp.OutcomeOf(err), failure.Of(err)) }
		assert.Equal(t, what(err), what(own), "the error, here and where the call was made")
		assert.Contains(t, <-outcomes, "it failed")
		assert.Equal(t, <-outcomes, "denied: it was not approved in time")
		assert.Equal(t, len(assert.Value(b.Approvals(t.Context()))(t)), 0, "calls that wait")
	})
}

// stuckStore is a store whose replica has died: what it saves is lost.
type stuckStore struct {
	storage.Store
	dead atomic.Bool
}

var errDead = errors.New("dead")

func (s *stuckStore) Save(ctx context.Context, name string, data []byte, old storage.Revision) (storage.Revision, error) {
	if s.dead.Load() {
		return "", errDead
	}
	return s.Store.Save(ctx, name, data, old)
}

func (s *stuckStore) Load(ctx context.Context, name string, known storage.Revision) (storage.Record, error) {
	if s.dead.Load() {
		return storage.Record{}, errDead
	}
	return s.Store.Load(ctx, name, known)
}

// The calls of a replica that has died cannot be approved, and of an answer it is known whether it was taken.
func TestDeadReplica(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := storage.NewMemory()
		dying := &stuckStore{Store: store}
		gate := make(chan struct{})
		a, b := newSite(t, dying, gate), newSite(t, store, nil)
		running, waiting := a.call(t, t.Context(), "running"), a.call(t, t.Context(), "waiting")
		settled()
		begun := make(chan error, 1)
		go func() {
			_, err := b.Approve(t.Context(), running, nil)
			begun <- err
		}()
		settled() // it was taken
		dying.dead.Store(true)
		began := time.Now()
		_, err := b.Approve(t.Context(), waiting, nil)
		assert.As[*approval.UnknownError](t, err)
		assert.Equal(t, mcp.OutcomeOf(err), mcp.NotSent)
		assert.Equal(t, mcp.OutcomeOf(<-begun), mcp.Unknown, "of the call that was being made")
		assert.True(t, time.Since(began) <= 25*time.Second, "it took %v to notice that a replica has died, at most 25 s", time.Since(began))
		assert.Equal(t, len(assert.Value(b.Approvals(t.Context()))(t)), 0, "calls that wait")
		for _, id := range []string{running, waiting} {
			assert.Equal(t, mcp.OutcomeOf(assert.Err(b.Await(t.Context(), id))), mcp.Unknown)
		}
		// It was only slow: the answer that was taken back has no effect.
		dying.dead.Store(false)
		settled()
		assert.Equal(t, a.runs.Load(), 1, "runs")
		close(gate)
		settled()
		assert.Equal(t, result.Text(assert.Value(b.Await(t.Context(), running))(t)), "sent running")
	})
}

// One who gives up takes the answer back, if it was not taken yet.
func TestApproveGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := storage.NewMemory()
		dying := &stuckStore{Store: store}
		gate := make(chan struct{})
		a, b := newSite(t, dying, gate), newSite(t, store, nil)
		one, two := a.call(t, t.Context(), "one"), a.call(t, t.Context(), "two")
		settled()
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			time.Sleep(3 * time.Second)
			cancel()
		}()
		_, err := b.Approve(ctx, one, nil)
		assert.Equal(t, mcp.OutcomeOf(err), mcp.Unknown, "of a call that is being made")
		assert.Is(t, err, context.Canceled, "of a call that is being made")
		dying.dead.Store(true)
		ctx, cancel = context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		_, err = b.Approve(ctx, two, nil)
		assert.Equal(t, mcp.OutcomeOf(err), mcp.NotSent, "of an answer that was not taken")
		assert.Is(t, err, context.DeadlineExceeded, "of an answer that was not taken")
		dying.dead.Store(false)
		close(gate)
		settled()
		assert.Equal(t, a.runs.Load(), 1, "runs")
		list := a.registry.Approvals(t.Context())
		assert.Equal(t, len(list), 1)
		assert.Equal(t, list[0].ID, two)
	})
}

// Records go: those of a replica that leaves, of one that has died, and of what is over.
func TestRecordsGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := storage.NewMemory()
		names := func() (list []string) {
			for name, err := range store.Names(t.Context(), "") {
				assert.OK(t, err)
				list = append(list, name)
			}
			return list
		}
		dying := &stuckStore{Store: store}
		b := newSite(t, store, nil)
		a := newSite(t, dying, nil)
		id := a.call(t, t.Context(), "made")
		a.call(t, t.Context(), "waits")
		settled()
		assert.Value(b.Approve(t.Context(), id, nil))(t)
		dying.dead.Store(true)
		time.Sleep(40 * time.Minute)
		synctest.Wait()
		assert.Equal(t, len(names()), 2, "the records")
		dying.dead.Store(false)
		c := newSite(t, store, nil)
		c.call(t, t.Context(), "waits")
		settled()
		before := len(names())
		assert.Equal(t, c.Close(t.Context()), nil)
		assert.Equal(t, before-len(names()), 2, "records less")
	})
}

// A call that is over is not read again and again, and one that waits is.
func TestApprovalsReadWhatWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := storage.NewMemory()
		counted := &countingStore{Store: store}
		a, b := newSharer(t, store, nil), newSharer(t, counted, nil)
		over := a.asks(t, in(t, "ann", "c1"), "mail__send")
		waits := a.asks(t, in(t, "ann", "c1"), "mail__drop")
		settled()
		assert.Value(b.Approve(t.Context(), over, nil))(t)
		settled()
		for _, want := range []int32{2, 1, 1} {
			before := counted.calls.Load()
			list := assert.Value(b.Approvals(t.Context()))(t)
			assert.Equal(t, len(list), 1)
			assert.Equal(t, list[0].ID, waits)
			assert.Equal(t, counted.calls.Load()-before, want, "records of calls read")
		}
	})
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
