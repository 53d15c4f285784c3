package host

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpbelt/mcpbelt/host/activity"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/gate"
)

// A heldBack is which tools of a server the log was told to be held back. The texts
// are compared, and not shown.
type heldBack struct{ quarantined, rejected string }

// recordHeldBack records which tools of a server are held back, if these are others
// than before: two events at most, however many tools a server invents. It returns
// what the log knows then.
func (h *Host) recordHeldBack(server string, told heldBack, diff *registry.Diff) heldBack {
	if h.opts.Activity == nil {
		return told
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
	for _, r := range diff.Rejected {
		rejected = append(rejected, fmt.Sprintf("%s (%s)", r.Name, rejectionOf(r.Err)))
		reasons = append(reasons, r.Name+" "+r.Err.Error())
	}
	now := heldBack{joined(hashes), joined(reasons)}
	if len(quarantined) > 0 && now.quarantined != told.quarantined {
		h.record(heldBackEvent(activity.KindQuarantined, activity.Quarantined, server, quarantined))
	}
	if len(rejected) > 0 && now.rejected != told.rejected {
		h.record(heldBackEvent(activity.KindRejected, activity.Denied, server, rejected))
	}
	return now
}

func heldBackEvent(kind activity.Kind, outcome activity.Outcome, server string, tools []string) activity.Event {
	slices.Sort(tools)
	return activity.Event{Kind: kind, Server: server, Outcome: outcome, Detail: map[string]string{
		activity.DetailTools: strings.Join(tools, ", "),
		activity.DetailCount: strconv.Itoa(len(tools)),
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
	var (
		gate      *gate.Error
		duplicate *registry.DuplicateError
	)
	switch {
	case errors.As(err, &gate) && len(gate.Findings) > 0:
		return string(gate.Findings[0].Token)
	case errors.As(err, &duplicate):
		return "name taken"
	}
	return "not usable"
}
