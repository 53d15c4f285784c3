package adaptertest

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
)

// A Model is an endpoint that answers as it was told to.
type Model struct {
	// URL is its base URL.
	URL string

	wire     Wire
	mu       sync.Mutex
	script   []func(*Request) Reply
	requests []*Request
	refused  []string
}

// NewModel starts a model, which ends with the test.
func NewModel(t *testing.T, wire Wire) *Model {
	t.Helper()
	m := &Model{wire: wire}
	server := httptest.NewServer(m)
	t.Cleanup(server.Close)
	m.URL = server.URL
	return m
}

// Then lets the model answer its next requests.
func (m *Model) Then(replies ...func(*Request) Reply) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.script = append(m.script, replies...)
}

// Requests returns what the model was asked, so far.
func (m *Model) Requests() []*Request {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]*Request(nil), m.requests...)
}

// Refused returns why requests were refused, so far.
func (m *Model) Refused() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]string(nil), m.refused...)
}

// ServeHTTP reads a request, and answers it with the next reply of the script.
func (m *Model) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the runtime has gone away
	}
	req, err := m.wire.Read(r, body)
	m.mu.Lock()
	defer m.mu.Unlock()
	if err == nil && len(m.script) == 0 {
		err = errors.New("more requests than the script has replies")
	}
	if err != nil {
		m.refused = append(m.refused, err.Error())
		m.wire.Refuse(w, err.Error())
		return
	}
	m.requests = append(m.requests, req)
	reply := m.script[0](req)
	m.script = m.script[1:]
	m.wire.Write(w, req, reply)
}
