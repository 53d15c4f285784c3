package host_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/session"
)

// TestUserHeadersNameTheUserExactly: a name that a server would read as another one, and
// a header that names nobody, connect nobody.
func TestUserHeadersNameTheUserExactly(t *testing.T) {
	for name, test := range map[string]struct {
		entry   string
		user    string
		headers http.Header
		want    string
	}{
		"blank before":  {`"userHeader": "X-User"`, " anna", nil, "header"},
		"blank behind":  {`"userHeader": "X-User"`, "anna ", nil, "header"},
		"tab behind":    {`"userHeader": "X-User"`, "anna\t", nil, "header"},
		"line break":    {`"userHeader": "X-User"`, "anna\r\nX-Admin: 1", nil, "header"},
		"no values":     {`"description": "d"`, "anna", http.Header{"X-User": nil}, "X-User"},
		"empty value":   {`"description": "d"`, "anna", http.Header{"X-User": {""}}, "X-User"},
		"no name":       {`"description": "d"`, "anna", http.Header{"": {"anna"}}, "header"},
		"a broken name": {`"description": "d"`, "anna", http.Header{"X User": {"anna"}}, "header"},
		"a line break":  {`"description": "d"`, "anna", http.Header{"X-User": {"anna\r\nX-Admin: s3cr3t"}}, "X-User"},
	} {
		t.Run(name, func(t *testing.T) {
			opts := &host.Options{StateDir: host.NoState, UserHeaders: func(context.Context, session.Key, *config.Server) (http.Header, error) { return test.headers, nil }}
			h := acceptNew(t, opts, acceptParse(t, "s", `{"url": "http://127.0.0.1:1/mcp", "headers": {"X-User": "everybody"}, "identity": "`+config.IdentityHeader+`", `+test.entry+`}`))
			_, err := h.Client(watchdog(t), session.Key{User: test.user, Server: "s"})
			if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "s3cr3t") {
				t.Errorf("%v", err)
			}
		})
	}
}

// TestCloseEndsTheWaitForUserHeaders: the program's own function is told when nothing is
// to be connected any more.
func TestCloseEndsTheWaitForUserHeaders(t *testing.T) {
	asked := make(chan struct{})
	opts := &host.Options{StateDir: host.NoState, UserHeaders: func(ctx context.Context, _ session.Key, _ *config.Server) (http.Header, error) {
		close(asked)
		<-ctx.Done()
		return nil, context.Cause(ctx)
	}}
	h := acceptNew(t, opts, acceptParse(t, "s", `{"url": "http://127.0.0.1:1/mcp", "identity": "header"}`))
	failed := make(chan error, 1)
	ctx := watchdog(t)
	go func() {
		_, err := h.Client(context.WithoutCancel(ctx), session.Key{User: "anna", Server: "s"})
		failed <- err
	}()
	<-asked
	if err := h.Close(); err != nil {
		t.Error(err)
	}
	select {
	case err := <-failed:
		if !strings.Contains(err.Error(), host.ErrClosed.Error()) {
			t.Error(err)
		}
	case <-ctx.Done():
		t.Error("it still waits")
	}
}
