package admin_test

import (
	"net/http"
	"testing"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/admin"
	"github.com/mcpbelt/mcpbelt/host/record"
)

// openBusy opens a site in which each route has something to do.
func openBusy(t *testing.T) *site {
	t.Helper()
	return open(t, &host.Options{}, &admin.Options{},
		&record.Record{Name: "runs", Command: "x"},
		&record.Record{Name: "rests", Command: "x", Disabled: true},
		&record.Record{Name: "remote", URL: "https://a.example/mcp"},
	)
}

// fill puts into a text what only the site knows.
func (s *site) fill(text string) string { return text }

// brief has a request end that would go on.
func (s *site) brief(*http.Request) {}

// settle waits until what a request has begun is done.
func (s *site) settle() {}
