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
	// login counted, before they are asked for no more rights.
	maxStepUps = 3
	// maxOperations bounds the operations that are counted.
	maxOperations = 100
	// maxOperation bounds what is read of a request to name its operation.
	maxOperation = 1 << 20
)

// stepUp asks for more rights because an operation lacks them.
func (j *job) stepUp(ctx context.Context, grant *auth.TokenSet) error {
	if grant == nil {
		return j.beginLogin(ctx, j.record.Ended)
	}
	if grant.Token.Access != j.request.sent && len(lacking(grant.Scopes, j.request.stepUp)) == 0 {
		return nil // they were granted meanwhile
	}
	if !j.config.Grant.Interactive() {
		if len(lacking(grant.Requested, j.request.stepUp)) == 0 {
			return &auth.ScopeError{Server: j.key.Server, Scopes: j.request.stepUp, Problem: "were asked for, and not granted"}
		}
		return j.obtain(ctx, slices.Concat(grant.Requested, grant.Scopes, j.request.stepUp))
	}
	if l := j.record.Login; l != nil && j.canFinish(ctx, l) {
		return j.loginRequired("")
	}
	if j.record.StepUps[j.request.operation] >= maxStepUps || j.record.DeclinedReason != "" {
		return &auth.ScopeError{Server: j.key.Server, Scopes: j.request.stepUp, Problem: "the user was asked for them before; log in again to be asked once more"}
	}
	return j.beginLogin(ctx, "")
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
