package auth

import (
	"context"
	"errors"
	"net/http"

	"github.com/mcpbelt/mcpbelt/internal/guardhttp"
)

// probe is what a server is asked without a token. Servers that want one say so
// before they read it.
const probe = `{"jsonrpc":"2.0","id":1,"method":"ping"}`

// Probe asks the server for its challenges, for logins that begin before a
// request was refused. A server that answers otherwise has none. The error says
// that it could not be reached.
func (f *Flow) Probe(ctx context.Context) ([]Challenge, error) {
	header := http.Header{"Accept": {"application/json, text/event-stream"}}
	answer, err := f.client().PostJSON(ctx, f.config.URL, header, []byte(probe))
	var failed *guardhttp.Failure
	switch {
	case errors.As(err, &failed) && !failed.NotSent && ctx.Err() == nil:
		return nil, nil // it answered, though not like an authorization server
	case err != nil:
		return nil, f.requestError("probe", err)
	case answer.Status != http.StatusUnauthorized && answer.Status != http.StatusForbidden:
		return nil, nil
	}
	return Challenges(answer.Header), nil
}
