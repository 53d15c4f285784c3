package gateway

import (
	"net/http"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/gateway/internal/message"
)

// serveReady answers whether all servers of the view are of use, with the stage of each. A lazy server
// that is known is. A stranger is not told which servers there are.
func (v shown) serveReady(w http.ResponseWriter, known bool) {
	g := v.gateway
	ready := g.serving.Err() == nil
	stages := map[string]host.Stage{}
	for _, s := range g.host.Servers() {
		if !v.hasServer(s.Name) {
			continue
		}
		stages[s.Name] = s.Stage
		ready = ready && s.Stage != host.StageStarting && s.Stage != host.StageWaiting // what else it can be waits for people
	}
	status := http.StatusOK
	if !ready {
		status = http.StatusServiceUnavailable
	}
	w.Header().Set("Content-Type", typeJSON)
	w.WriteHeader(status)
	answer := map[string]any{"ready": ready}
	if known {
		answer["servers"] = stages
	}
	_, _ = w.Write(message.Marshal(answer))
}
