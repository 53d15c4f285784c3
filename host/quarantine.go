//lint:file-ignore SA1019 Sampling and roots are deprecated since revision 2026-07-28, and work.

package host

import (
	"context"
	"errors"
	"fmt"

	"github.com/mcpbelt/mcpbelt/mcp"
)

// ErrQuarantined is returned for what would use a server in quarantine, see
// [StageQuarantined]. A call of one of its tools fails with a
// [registry.QuarantinedError].
var ErrQuarantined = errors.New("host: it is in quarantine: look at its tools, and accept what Ledger.Pending has of the server")

// errNoLedger is why a server in quarantine cannot be started where nobody could end that.
var errNoLedger = fmt.Errorf("%w; there is no ledger for that: set Options.Ledger", ErrQuarantined)

// quarantined reports whether nothing of the server may be used before somebody accepts
// it.
func (s *server) quarantined() bool { return s.host.registry.Quarantines(s.facts()) }

// cannotExamine returns why a server in quarantine is not started, or nil.
func (s *server) cannotExamine() error {
	if s.host.registry.Ledger() == nil && s.quarantined() {
		return errNoLedger
	}
	return nil
}

// mute has a server ask nobody for anything as long as it is in quarantine, and tells it
// of no folders if it is when it is started.
func (s *server) mute(o *mcp.ClientOptions) {
	if s.quarantined() {
		o.Roots = nil
	}
	if elicit := o.Elicit; elicit != nil {
		o.Elicit = func(ctx context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			if s.quarantined() {
				return &mcp.ElicitResult{Action: "decline"}, nil
			}
			return elicit(ctx, r)
		}
	}
	if elicit := o.ElicitURL; elicit != nil {
		o.ElicitURL = func(ctx context.Context, r *mcp.ElicitURLRequest) (*mcp.ElicitResult, error) {
			if s.quarantined() {
				return &mcp.ElicitResult{Action: "decline"}, nil
			}
			return elicit(ctx, r)
		}
	}
	if sample := o.Sample; sample != nil {
		o.Sample = func(ctx context.Context, r *mcp.SampleRequest) (*mcp.SampleResult, error) {
			if s.quarantined() {
				return nil, ErrQuarantined
			}
			return sample(ctx, r)
		}
	}
}
