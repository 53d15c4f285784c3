package events

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpbelt/mcpbelt/host/activity/event"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/gate"
)

// A HeldBack says which tools of a server were recorded as held back. The texts are
// compared, and not shown.
type HeldBack struct{ quarantined, rejected string }

// HeldBack records which tools of a server are held back, if these are others than those
// that were recorded: two events at most, however many tools a server invents. It returns
// what is recorded then.
func (r *Recorder) HeldBack(server string, recorded HeldBack, diff *registry.Diff) HeldBack {
	if r.log == nil {
		return recorded
	}
	var quarantined, rejected, hashes, reasons []string
	for _, q := range diff.Quarantined {
		name, kind, hash := q.Tool.Origin.Tool, "", ""
		if q.Change != nil {
			kind, hash = string(q.Change.Kind), q.Change.Hash
		}
		quarantined = append(quarantined, fmt.Sprintf("%s (%s)", name, kind))
		hashes = append(hashes, name+" "+hash)
	}
	for _, tool := range diff.Rejected {
		rejected = append(rejected, fmt.Sprintf("%s (%s)", tool.Name, rejectionOf(tool.Err)))
		reasons = append(reasons, tool.Name+" "+tool.Err.Error())
	}
	now := HeldBack{joined(hashes), joined(reasons)}
	if len(quarantined) > 0 && now.quarantined != recorded.quarantined {
		r.Record(context.Background(), ofHeldBack("quarantined", "quarantined", server, quarantined))
	}
	if len(rejected) > 0 && now.rejected != recorded.rejected {
		r.Record(context.Background(), ofHeldBack("rejected", "denied", server, rejected))
	}
	return now
}

func ofHeldBack(kind, outcome, server string, tools []string) event.Event {
	slices.Sort(tools)
	return event.Event{Kind: kind, Server: server, Outcome: outcome, Detail: map[string]string{
		"tools": strings.Join(tools, ", "),
		"count": strconv.Itoa(len(tools)),
	}}
}

// joined returns a hash of texts in any order.
func joined(texts []string) string {
	if len(texts) == 0 {
		return ""
	}
	slices.Sort(texts)
	return shortHash(strings.Join(texts, "\n"))
}

// rejectionOf returns a word for the reason of a rejection.
func rejectionOf(err error) string {
	if refused, ok := errors.AsType[*gate.Error](err); ok && len(refused.Findings) > 0 {
		return refused.Findings[0].Token
	}
	if errors.As(err, new(*registry.DuplicateError)) {
		return "name taken"
	}
	return "not usable"
}
