package admin_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/access"
	"github.com/mcpbelt/mcpbelt/host/admin"
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/manage"
	"github.com/mcpbelt/mcpbelt/host/record"
	"github.com/mcpbelt/mcpbelt/host/replica"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/hosttest"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/approval"
	"github.com/mcpbelt/mcpbelt/storage"
)

// join adds a member to those that share a store.
func join(t *testing.T, store storage.Store) *replica.Member {
	t.Helper()
	m := assert.Value(replica.Join(t.Context(), store, nil))(t)
	t.Cleanup(func() { assert.Equal(t, m.Close(context.WithoutCancel(t.Context())), nil, "Close of the member") })
	return m
}

// openReplica opens a site that shares its calls with others.
func openReplica(t *testing.T, store storage.Store, records ...*config.Server) (*site, *replica.Member) {
	t.Helper()
	m := join(t, store)
	r := registry.New(&registry.Options{Approver: registry.ApproverFunc(ask), Approvals: approval.Options{Replica: m.ID()}})
	s := open(t, &host.Options{Registry: r}, &admin.Options{Replicas: m}, records...)
	assert.OK(t, m.Attach(r))
	return s, m
}

// wait has a call of a tool wait, and returns the path of it once another site shows it.
func (s *site) wait(tool, text string, other *site) (path string) {
	s.t.Helper()
	hosttest.Eventually(s.t, tool+" is offered", func() bool {
		_, ok := s.manager.Host().Registry().Resolve(tool)
		return ok
	})
	args, err := json.Marshal(map[string]string{"text": text})
	assert.OK(s.t, err)
	_, err = s.manager.Host().Registry().Call(s.t.Context(), tool, args)
	waits := assert.As[*registry.ApprovalRequiredError](s.t, err, "call: it waits")
	hosttest.Eventually(s.t, "the call is shown", func() bool {
		for _, c := range other.get("viewer", "/api/v1/calls") {
			if c["id"] == waits.Request.ID {
				return true
			}
		}
		return false
	})
	return "/api/v1/calls/" + waits.Request.ID
}

// A call that waits on one replica is shown, approved and denied by the handler of another, and is made once.
func TestCallsOfReplicas(t *testing.T) {
	store := storage.NewMemory()
	remote := &config.Server{Name: "remote", URL: "https://a.example/mcp"}
	a, m := openReplica(t, store, remote)
	b, _ := openReplica(t, store, remote)
	approved, denied := a.wait("remote__echo", "one", b), a.wait("remote__echo", "two", b)
	for _, s := range []*site{a, b} {
		calls := s.get("viewer", "/api/v1/calls")
		assert.Equal(t, len(calls), 2, "calls")
		for _, c := range calls {
			assert.Equal[any](t, c["replica"], m.ID(), "replica")
		}
	}
	assert.Equal[any](t, a.object("viewer", "GET", "/api/v1/me", "")["replica"], m.ID(), "me: the replica")
	assert.Equal(t, b.do("viewer", "POST", approved+"/approve", `{}`, nil).status, http.StatusForbidden, "approve as viewer")
	got := b.do("operator", "POST", approved+"/approve", `{}`, nil)
	assert.Equal(t, got.status, http.StatusOK, "approve")
	assert.Contains(t, got.body, `"made":true`, "approve")
	assert.Equal(t, b.do("operator", "POST", denied+"/deny", `{"reason":"no"}`, nil).status, http.StatusOK, "deny")
	for _, s := range []*site{a, b} {
		for _, path := range []string{approved + "/approve", denied + "/approve", denied + "/deny"} {
			assert.Equal(t, s.do("operator", "POST", path, `{}`, nil).status, http.StatusNotFound, "%s again", path)
		}
		assert.Equal(t, len(s.get("viewer", "/api/v1/calls")), 0, "calls")
	}
	assert.Value(readDocument(t, b).schema("components", "schemas", "WaitingCall", "properties", "replica"))(t)
}

// To approve a call of a server that is unknown here takes the right to start a process: it may be local elsewhere.
func TestCallOfUnknownServer(t *testing.T) {
	store := storage.NewMemory()
	a, _ := openReplica(t, store, &config.Server{Name: "runs", Command: "x"})
	b, _ := openReplica(t, store)
	path := a.wait("runs__echo", "one", b)
	assert.Equal(t, b.do("operator", "POST", path+"/approve", `{}`, nil).status, http.StatusForbidden, "approve as operator")
	assert.Equal(t, b.do("owner", "POST", path+"/approve", `{}`, nil).status, http.StatusOK, "approve as owner")
}

// A mortalStore is that of a replica that dies: it fails from then on.
type mortalStore struct {
	storage.Store
	dead atomic.Bool
}

func (m *mortalStore) Save(ctx context.Context, name string, data []byte, old storage.Revision) (storage.Revision, error) {
	if m.dead.Load() {
		return "", storage.ErrClosed
	}
	return m.Store.Save(ctx, name, data, old)
}

// A replica that dies between the list and the decision leaves a call that is not there any more.
func TestCallOfDeadReplica(t *testing.T) {
	for _, c := range []struct {
		verb, want string
		begun      bool // the replica dies while it makes the call
	}{
		{"approve", "the program on which it waited has ended", false},
		{"deny", "the program on which it waited has ended", false},
		{"approve", "it is not known whether the call was made", true},
	} {
		synctest.Test(t, func(t *testing.T) {
			store := &mortalStore{Store: storage.NewMemory()}
			there, err := replica.Join(t.Context(), store, nil)
			assert.OK(t, err)
			r := registry.New(&registry.Options{Approver: registry.ApproverFunc(ask), Approvals: approval.Options{Replica: there.ID()}})
			err = r.Add(registry.MustFunc("send", "Sends a letter.", func(ctx context.Context, _ struct{}) (string, error) {
				store.dead.Store(true)
				<-ctx.Done()
				return "", ctx.Err()
			}))
			if err == nil {
				err = there.Attach(r)
			}
			assert.OK(t, err)
			m := manage.New(host.New(&host.Options{StateDir: host.NoState}), record.NewMemoryStore(), nil)
			h := assert.Value(admin.Handler(m, &admin.Options{
				Authenticate: func(*http.Request) (*access.Caller, error) { return &access.Caller{Credential: "owner"}, nil },
				Roles:        func(*access.Caller) []admin.Role { return keys["owner"] },
				Replicas:     join(t, store.Store),
			}))(t)
			do := func(method, path, body string) (int, string) {
				r := httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(body))
				r.Header.Set("Content-Type", "application/json")
				w := httptest.NewRecorder()
				h.ServeHTTP(w, r)
				return w.Code, w.Body.String()
			}
			waits := assert.As[*registry.ApprovalRequiredError](t, assert.Err(r.Call(t.Context(), "send", nil)), "call: it waits")
			<-time.After(6 * time.Second) // so that the members have seen each other
			_, list := do("GET", "/api/v1/calls", "")
			assert.Contains(t, list, waits.Request.ID, "calls")
			store.dead.Store(!c.begun)
			status, body := do("POST", "/api/v1/calls/"+waits.Request.ID+"/"+c.verb, "{}")
			assert.Equal(t, status, http.StatusNotFound, "%s", c.verb)
			assert.Contains(t, body, c.want, "%s", c.verb)
			status, list = do("GET", "/api/v1/calls", "")
			assert.Equal(t, status, http.StatusOK, "calls")
			assert.Equal(t, list, "[]\n", "calls")
			ended, cancel := context.WithCancel(t.Context())
			cancel()
			_ = there.Close(ended) // it breaks off what it makes
			assert.Equal(t, m.Close(), nil, "Close of the manager")
		})
	}
}
