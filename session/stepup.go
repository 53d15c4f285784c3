package session

import (
	"context"
	"slices"

	"github.com/mcpbelt/mcpbelt/auth"
)

const (
	// maxStepUps is how often the user may have logged in for more rights, after their first
	// login, before they are not asked again for rights that they were asked for before.
	maxStepUps = 2
	// mostStepUps is how often they are asked for any.
	mostStepUps = 20
)

// stepUp asks for more rights because an operation lacks them.
func (j *job) stepUp(ctx context.Context, grant *auth.TokenSet) error {
	if grant == nil {
		return j.beginLogin(ctx, j.record.why())
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
	again := len(lacking(grant.Requested, j.request.stepUp)) == 0
	if again && j.record.StepUps >= maxStepUps || j.record.StepUps >= mostStepUps || j.record.DeclinedReason != "" {
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
