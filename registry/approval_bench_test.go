package registry

import (
	"context"
	"encoding/json"
	"strconv"
	"testing"

	"github.com/mcpbelt/mcpbelt/registry/approval"
)

// BenchmarkDecide is what an approver costs a call: one that allows it, and one
// that asks for what the user has allowed for the session.
func BenchmarkDecide(b *testing.B) {
	for _, v := range []approval.Verdict{approval.Allow, approval.Ask} {
		b.Run(v.String(), func(b *testing.B) {
			a := newApprovals(ApproverFunc(func(context.Context, *ApprovalRequest) (approval.Decision, error) {
				return approval.Decision{Verdict: v}, nil
			}), approval.Options{})
			ctx := WithConversation(b.Context(), "c")
			e := placed(entry{def: &Definition{Name: "tool"}})
			for n := range a.opts.MaxGrants {
				a.grant(grantKey{"other", strconv.Itoa(n), "tool"}, subjectOf(e), 0)
			}
			a.grant(grantOf(ctx, e), subjectOf(e), 0)
			args := json.RawMessage(`{"path":"a.txt"}`)
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					if err := a.decide(ctx, e, args); err != nil {
						b.Error(err)
					}
				}
			})
		})
	}
}
