package rest

import (
	"context"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
)

func TestHealth(t *testing.T) {
	var status int
	server := newTestServer(t, func(w http.ResponseWriter, _ *http.Request, _ string) {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, testSecret)
	})
	for _, test := range []struct {
		path    string
		healthy string // statuses
	}{
		{"", "200 204 302 400 404 405 429 501"},
		{"/health?deep=1&x", "200 204"},
	} {
		s := newTestService(t, &API{BaseURL: server.URL + "/v1/", HealthPath: test.path, Auth: Auth{Type: Bearer, Value: "${KEY}"}})
		for _, status = range []int{200, 204, 302, 400, 401, 403, 404, 405, 407, 429, 500, 501, 503} {
			err := s.Health(t.Context())
			noSecretIn(t, err)
			assert.Equal(t, err == nil, strings.Contains(test.healthy, strconv.Itoa(status)), "%q, status %d: healthy", test.path, status)
			if err != nil {
				assert.Contains(t, assert.As[*Error](t, err).Error(), strconv.Itoa(status))
				assert.Equal(t, mcp.OutcomeOf(err), mcp.Answered, "the outcome")
			}
		}
	}
	got := server.requests()
	first, last := got[0], got[len(got)-1]
	assert.Equal(t, first.method, "HEAD")
	assert.Equal(t, first.uri, "/v1/")
	assert.Equal(t, first.header.Get("Authorization"), "Bearer "+testSecret)
	assert.Equal(t, last.method, "GET")
	assert.Equal(t, last.uri, "/v1/health?deep=1&x")
}

func TestHealthOfWhatCannotBeReached(t *testing.T) {
	server := newTestServer(t, nil)
	api := &API{BaseURL: server.URL, Auth: Auth{Type: Bearer, Value: "${NOT_SET}"}}
	assert.As[*secretError](t, newTestService(t, api).Health(t.Context()))
	s := newTestService(t, &API{BaseURL: server.URL})
	server.Close()
	assert.Equal(t, assert.As[*Error](t, s.Health(t.Context())).Endpoint, "")
}

// listed waits until a registry lists so many tools.
func listed(t *testing.T, r *registry.Registry, want int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	got := -1
	for s := range r.Watch(ctx) {
		if got = len(s.Tools()); got == want {
			return
		}
	}
	t.Fatalf("got %d tools, want %d", got, want)
}

// The tools are listed while the API is healthy, and not while it is not.
func TestWatchHidesToolsOfASickAPI(t *testing.T) {
	var status atomic.Int32
	status.Store(http.StatusOK)
	server := newTestServer(t, func(w http.ResponseWriter, r *http.Request, _ string) {
		if r.URL.Path == "/health" {
			w.WriteHeader(int(status.Load()))
			return
		}
		_, _ = io.WriteString(w, "done")
	})
	s := newTestService(t, &API{BaseURL: server.URL, HealthPath: "/health"})
	r := registry.New(nil)
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- s.Watch(ctx, r, time.Millisecond) }()
	listed(t, r, 1)
	tool := r.Snapshot().Tools()[0]
	status.Store(http.StatusServiceUnavailable)
	listed(t, r, 0)
	assert.Value(s.Publish(r))(t)
	assert.Equal(t, len(r.Snapshot().Tools()), 0, "tools of Publish while the API is sick")
	assert.False(t, assert.Value(tool.Call(t.Context(), nil))(t).IsError, "an error of a tool that was got before")
	status.Store(http.StatusNoContent)
	listed(t, r, 1)
	status.Store(http.StatusInternalServerError)
	listed(t, r, 0)
	stop()
	assert.Is(t, <-done, context.Canceled)
	assert.Value(s.Publish(r))(t)
	listed(t, r, 1) // for nothing would find out when it is healthy again
}

// A secret that cannot be had says nothing of the API: users may have it.
func TestWatchWithoutASecret(t *testing.T) {
	server := newTestServer(t, nil)
	s := newTestService(t, &API{BaseURL: server.URL, Auth: Auth{Type: Bearer, Value: "${NOT_SET}"}})
	r := registry.New(nil)
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- s.Watch(ctx, r, time.Hour) }()
	listed(t, r, 1)
	stop()
	assert.Is(t, <-done, context.Canceled)
}

func TestWatchEnds(t *testing.T) {
	server := newTestServer(t, nil)
	s := newTestService(t, &API{BaseURL: server.URL})
	assert.Fails(t, s.Watch(t.Context(), nil, 0), "got no error for a registry that is nil")
	assert.OK(t, s.Close())
	assert.Is(t, s.Watch(t.Context(), registry.New(nil), 0), ErrClosed)
}
