package host

import "github.com/mcpbelt/mcpbelt/host/activity"

// record tells the log of an event, if there is one.
func (h *Host) record(e activity.Event) {}
