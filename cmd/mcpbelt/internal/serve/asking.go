package serve

import (
	"context"
	"fmt"

	"github.com/mcpbelt/mcpbelt/cmd/mcpbelt/internal/cli"
	"github.com/mcpbelt/mcpbelt/host/gateway"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/approval"
	"github.com/mcpbelt/mcpbelt/registry/codemode"
	"github.com/mcpbelt/mcpbelt/registry/policy"
)

// The values of --ask.
const (
	askDestructive = "destructive" // about calls that may destroy something
	askAll         = "all"         // about calls that are not known to be read-only
)

// asking returns what asks about calls. Most clients ask their users themselves. Without --ask it asks about the
// calls of scripts, and of clients that are known to ask nobody, which may destroy something.
func asking(ask string) (registry.Approver, error) {
	if ask == askAll {
		return policy.Cautious(), nil
	}
	if ask != "" && ask != askDestructive {
		return nil, cli.UsageError("--ask is %s or %s", askDestructive, askAll)
	}
	return destructive{always: ask != ""}, nil
}

// Destructive asks about calls of tools that may destroy something, by what their servers say. A tool that says
// nothing may.
type destructive struct {
	always bool // and not only about those of scripts and of clients that ask nobody
}

// Approve implements [registry.Approver].
func (d destructive) Approve(ctx context.Context, req *registry.ApprovalRequest) (approval.Decision, error) {
	if !req.Hints.Destructive || req.Tool.Origin.Server == "" || !d.always && !codemode.InScript(ctx) && !gateway.NeverAsks(ctx) {
		return approval.Decision{Verdict: approval.Allow}, nil
	}
	return approval.Decision{Verdict: approval.Ask, Reason: "it may destroy something"}, nil
}

// whoMayCall says what is asked about, for the first lines of serve.
func whoMayCall(noKey bool, ask string) string {
	who := "Whoever has the key"
	if noKey {
		who = "Every program of this machine"
	}
	what := "Clients ask their users. Calls of scripts, and of clients that never ask, are asked about here if they may destroy something: see --ask."
	switch ask {
	case askDestructive:
		what = "Calls that may destroy something are asked about."
	case askAll:
		what = "Calls that are not known to be read-only are asked about."
	}
	return fmt.Sprintf("%s may call all tools. %s\n", who, what)
}
