package approval

import (
	"fmt"
	"time"
)

// Options say how calls wait for an answer. Zero means the default.
type Options struct {
	// TTL is how long a call waits, and for how long after its end the outcome
	// is there for registry.Registry.Await. Default: 30 minutes.
	TTL time.Duration
	// MaxPending is how many calls wait at one time; one more fails with a
	// [*DeniedError]. All together take 64 MiB of memory at most, with their
	// arguments and the definitions of their tools. A user that is named, as by
	// session.WithUser, has a quarter of both at most, so that no one keeps others
	// out. Default: 200.
	MaxPending int
	// Replica is what the ids of calls begin with, and a hyphen, so that a program with several
	// replicas knows where a call waits, see replica.Options.ID. Default: nothing.
	Replica string
}

// A Verdict is what becomes of a call.
type Verdict int

// The verdicts. The zero value is the strictest.
const (
	// Deny: the call fails with a [*DeniedError].
	Deny Verdict = iota
	// Ask: the call fails with a *registry.ApprovalRequiredError, and goes on when
	// registry.Registry.Approve is called.
	Ask
	// Allow: the call goes on.
	Allow
	// AllowForConversation: the call goes on, and so do later ones of the same user
	// and conversation (see registry.WithConversation) to the same tool, unless the
	// Approver denies them, as long as the tool does not change.
	AllowForConversation
)

// String returns "deny", "ask", "allow" or "allow_for_conversation".
func (v Verdict) String() string {
	names := [...]string{Deny: "deny", Ask: "ask", Allow: "allow", AllowForConversation: "allow_for_conversation"}
	if v < 0 || int(v) >= len(names) {
		return fmt.Sprintf("Verdict(%d)", int(v))
	}
	return names[v]
}

// MarshalText returns what String does.
func (v Verdict) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// A Decision is the answer of a registry.Approver.
type Decision struct {
	// Verdict is what becomes of the call. The zero value is [Deny].
	Verdict Verdict
	// Reason says why. The model and the person who is asked can read it.
	Reason string
}
