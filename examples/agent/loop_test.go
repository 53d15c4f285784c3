package main

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/profile"
)

func TestToolsOfTheMoment(t *testing.T) {
	r := registry.New(nil)
	// A name that the endpoint does not take.
	other := registry.MustFunc("other.tool", "", func(context.Context, struct{}) (string, error) { return "called", nil })
	set, err := profile.Compile(profile.OpenAI, []registry.Tool{other}, nil)
	assert.OK(t, err)
	mended := set.Tools()[0].Name
	assert.OK(t, r.Add(registry.MustFunc("swap", "", func(context.Context, struct{}) (string, error) {
		r.Remove("swap")
		return "swapped", r.Add(other)
	})))
	m := newModel(t,
		says(`{"role":"assistant","content":"","tool_calls":[{"id":"c","type":"function","function":{"name":"swap","arguments":"{}"}}]}`),
		says(`{"role":"assistant","content":"","tool_calls":[{"id":"d","type":"function","function":{"name":"`+mended+`","arguments":"{}"}}]}`),
		says(`{"role":"assistant","content":"Done."}`))
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	agent := &Agent{Endpoint: &Endpoint{BaseURL: m.url, Transport: transport}, Registry: r, User: newTerminal(t.Context(), strings.NewReader(""), io.Discard, nil), MaxSteps: 3}
	if answer, err := agent.Run(t.Context(), "Swap."); answer != "Done." || err != nil {
		t.Fatalf("%q, %v", answer, err)
	}
	requests := m.played()
	for i, want := range []string{"swap", mended, mended} {
		assert.Equal(t, strings.Join(requests[i].toolNames(t), " "), want, "request %d offers", i+1)
		assert.Equal(t, requests[i].Authorization, "", "without a key the endpoint")
	}
	assert.Equal(t, string(requests[2].Messages[5]), `{"role":"tool","content":"called","tool_call_id":"d"}`, "the call of %s", mended)
}

// noTools are the tools of an agent that knows the names of the registry.
func noTools(t *testing.T) *profile.Set {
	t.Helper()
	set := assert.Value(profile.Compile(profile.OpenAI, nil, nil))(t)
	return set
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

func TestRetriesEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked []time.Duration
		start := time.Now()
		endpoint := &Endpoint{Transport: roundTripper(func(*http.Request) (*http.Response, error) {
			asked = append(asked, time.Since(start))
			return &http.Response{StatusCode: http.StatusServiceUnavailable, Body: io.NopCloser(strings.NewReader("busy"))}, nil
		})}
		_, err := endpoint.Complete(t.Context(), nil, noTools(t))
		var refused *EndpointError
		if !errors.As(err, &refused) || refused.Status != http.StatusServiceUnavailable {
			t.Errorf("error %v, want that of the endpoint", err)
		}
		if want := []time.Duration{0, time.Second, 3 * time.Second, 7 * time.Second}; !slices.Equal(asked, want) {
			t.Errorf("asked after %v, want %v", asked, want)
		}
	})
}
