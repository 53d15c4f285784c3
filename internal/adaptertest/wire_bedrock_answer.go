package adaptertest

import (
	"encoding/binary"
	"encoding/json"
	"hash/crc32"
	"net/http"
)

// Write answers a request, as a stream of events if it asks for one.
func (Bedrock) Write(w http.ResponseWriter, req *Request, reply Reply) {
	if req.Stream {
		w.Header().Set("Content-Type", "application/vnd.amazon.eventstream")
		for _, e := range bedrockEvents(reply) {
			_, _ = w.Write(e) // who is gone is gone
		}
		return
	}
	content := []any{}
	if reply.Text != "" {
		content = append(content, map[string]any{"text": reply.Text})
	}
	for _, c := range reply.Calls {
		content = append(content, map[string]any{"toolUse": map[string]any{"toolUseId": c.ID, "name": c.Name, "input": c.Arguments}})
	}
	writeJSON(w, http.StatusOK, map[string]any{
		"output":     map[string]any{"message": map[string]any{"role": "assistant", "content": content}},
		"stopReason": bedrockStop(reply),
		"usage":      map[string]any{"inputTokens": 1, "outputTokens": 1, "totalTokens": 2},
		"metrics":    map[string]any{"latencyMs": 1},
	})
}

// Refuse answers a request that is refused.
func (Bedrock) Refuse(w http.ResponseWriter, reason string) {
	w.Header().Set("X-Amzn-Errortype", "ValidationException")
	writeJSON(w, http.StatusBadRequest, map[string]any{"message": reason})
}

func bedrockStop(reply Reply) string {
	if len(reply.Calls) > 0 {
		return "tool_use"
	}
	return "end_turn"
}

// bedrockEvents returns a reply as the service streams it: the arguments of calls in two
// parts.
func bedrockEvents(reply Reply) [][]byte {
	events := [][]byte{bedrockEvent("messageStart", map[string]any{"role": "assistant"})}
	place := 0
	stop := func() {
		events = append(events, bedrockEvent("contentBlockStop", map[string]any{"contentBlockIndex": place}))
		place++
	}
	delta := func(v map[string]any) {
		events = append(events, bedrockEvent("contentBlockDelta", map[string]any{"contentBlockIndex": place, "delta": v}))
	}
	if reply.Text != "" {
		delta(map[string]any{"text": reply.Text})
		stop()
	}
	for _, c := range reply.Calls {
		start := map[string]any{"toolUse": map[string]any{"toolUseId": c.ID, "name": c.Name}}
		events = append(events, bedrockEvent("contentBlockStart", map[string]any{"contentBlockIndex": place, "start": start}))
		for _, part := range halves(string(c.Arguments)) {
			delta(map[string]any{"toolUse": map[string]any{"input": part}})
		}
		stop()
	}
	return append(events,
		bedrockEvent("messageStop", map[string]any{"stopReason": bedrockStop(reply)}),
		bedrockEvent("metadata", map[string]any{
			"usage":   map[string]any{"inputTokens": 1, "outputTokens": 1, "totalTokens": 2},
			"metrics": map[string]any{"latencyMs": 1},
		}))
}

// bedrockEvent returns a message of an event stream: the lengths of all and of the
// headers, headers, payload, and checksums of the lengths and of all.
func bedrockEvent(kind string, v map[string]any) []byte {
	payload, err := json.Marshal(v)
	if err != nil {
		panic(err) // a kit that cannot write its own events
	}
	var headers []byte
	for _, h := range [][2]string{{":message-type", "event"}, {":event-type", kind}, {":content-type", "application/json"}} {
		headers = append(headers, byte(len(h[0])))
		headers = append(headers, h[0]...)
		headers = append(headers, 7) // a string
		headers = binary.BigEndian.AppendUint16(headers, uint16(len(h[1])))
		headers = append(headers, h[1]...)
	}
	all := binary.BigEndian.AppendUint32(nil, uint32(16+len(headers)+len(payload)))
	all = binary.BigEndian.AppendUint32(all, uint32(len(headers)))
	all = binary.BigEndian.AppendUint32(all, crc32.ChecksumIEEE(all))
	all = append(append(all, headers...), payload...)
	return binary.BigEndian.AppendUint32(all, crc32.ChecksumIEEE(all))
}
