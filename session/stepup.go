package session

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"slices"

	"github.com/mcpbelt/mcpbelt/auth"
)

const (
	// maxStepUps is how often one operation may have the user log in, the first
	// login counted, before he is asked for no more rights.
	maxStepUps = 3
	// maxOperations bounds the operations that are counted.
	maxOperations = 100
	// maxOperation bounds what is read of a request to name its operation.
	maxOperation = 1 << 20
)

// stepUp asks for more rights because an operation lacks them.
func (t *task) stepUp(ctx context.Context, grant *auth.Grant) error {
	n := t.need
	if grant == nil {
		return t.beginLogin(ctx, t.record.Ended)
	}
	if grant.Token.Access != n.sent && len(lacking(grant.Scopes, n.stepUp)) == 0 {
		return nil // somebody has got them meanwhile
	}
	if !t.config.Grant.Interactive() {
		if len(lacking(grant.Requested, n.stepUp)) == 0 {
			return &auth.ScopeError{Server: t.key.Server, Scopes: n.stepUp, Problem: "were asked for, and not granted"}
		}
		return t.obtain(ctx, slices.Concat(grant.Requested, grant.Scopes, n.stepUp))
	}
	if l := t.record.Login; l != nil && t.stillGood(ctx, l) {
		return t.loginRequired("")
	}
	if t.record.StepUps[n.operation] >= maxStepUps || t.record.Silent != "" {
		return &auth.ScopeError{Server: t.key.Server, Scopes: n.stepUp, Problem: "the user was asked for them before; log in again to be asked once more"}
	}
	return t.beginLogin(ctx, "")
}

// lacking returns what of want is not in have.
func lacking(have, want []string) []string {
	var missing []string
	for _, s := range want {
		if !slices.Contains(have, s) {
			missing = append(missing, s)
		}
	}
	return missing
}

// counted returns a copy of counts in which that of op is greater by one.
func counted(counts map[string]int, op string) map[string]int {
	next := map[string]int{op: counts[op] + 1}
	for other, n := range counts {
		if other != op && len(next) < maxOperations {
			next[other] = n
		}
	}
	return next
}

// operationOf names what a request asks the server to do: its method, and the
// name of the tool or prompt. It is a hash, as the name is the server's choice
// and may be long.
func operationOf(req *http.Request) string {
	method, name := req.Header.Get("Mcp-Method"), req.Header.Get("Mcp-Name")
	if method == "" && req.GetBody != nil {
		if body, err := req.GetBody(); err == nil {
			method, name = readOperation(body)
			_ = body.Close()
		}
	}
	return hashOf(method + "\x00" + name)[:32]
}

func readOperation(body io.Reader) (method, name string) {
	var message struct {
		Method string `json:"method"`
		Params struct {
			Name string `json:"name"`
			URI  string `json:"uri"`
		} `json:"params"`
	}
	if json.NewDecoder(io.LimitReader(body, maxOperation)).Decode(&message) != nil {
		return "", ""
	}
	return message.Method, message.Params.Name + message.Params.URI
}
