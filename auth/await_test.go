package auth_test

import (
	"context"
	"errors"
	"testing"

	"github.com/mcpbelt/mcpbelt/auth"
	"github.com/mcpbelt/mcpbelt/internal/assert"
)

func TestAwaitLogin(t *testing.T) {
	ended, end := context.WithCancel(t.Context())
	end()
	done := make(chan struct{})
	close(done)
	waits := &auth.LoginRequiredError{Server: "s", URL: "https://login.example", Done: done}
	forever := &auth.LoginRequiredError{Server: "s", URL: "https://login.example", Done: make(chan struct{})}
	declined := &auth.LoginRequiredError{Server: "s", Reason: "the login was declined"}
	other := errors.New("other")
	for name, test := range map[string]struct {
		ctx  context.Context
		errs []error
		want error
	}{
		"no login needed": {t.Context(), []error{nil}, nil},
		"logged in":       {t.Context(), []error{waits, waits, nil}, nil},
		"declined":        {t.Context(), []error{waits, declined}, declined},
		"another error":   {t.Context(), []error{waits, other}, other},
		"given up":        {ended, []error{forever}, context.Canceled},
	} {
		calls := 0
		err := auth.AwaitLogin(test.ctx, func(context.Context) error {
			calls++
			return test.errs[calls-1]
		})
		assert.Is(t, err, test.want, "%s", name)
		assert.Equal(t, calls, len(test.errs), "%s: calls", name)
	}
}
