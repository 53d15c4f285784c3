package transport_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/transport"
)

// In revision 2025-03-26 a server may send several messages as one: here
// progress, a request of its own and the answer. All of them count.
func TestHTTPBatch(t *testing.T) {
	for name, respond := range map[string]func(p *post, batch string){
		"JSON":   func(p *post, batch string) { p.json(200, batch) },
		"stream": func(p *post, batch string) { p.stream(event(batch)) },
	} {
		t.Run(name, func(t *testing.T) {
			answered := make(chan string, 1)
			s := &script{call: func(p *post) {
				switch p.Method {
				case "":
					answered <- string(p.ID)
					p.WriteHeader(202)
				case "tools/call":
					var params struct {
						Meta struct{ ProgressToken json.RawMessage } `json:"_meta"`
					}
					if err := json.Unmarshal(p.Params, &params); err != nil {
						t.Error(err)
					}
					respond(p, "["+strings.Join([]string{
						`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":` + string(params.Meta.ProgressToken) + `,"progress":5}}`,
						`{"jsonrpc":"2.0","id":"of the server","method":"ping"}`,
						called,
					}, ",")+"]")
				default:
					p.json(200, unknown)
				}
			}}
			c := mcp.NewClient("server", &transport.HTTP{URL: listen(t, speaking("2025-03-26", s))}, nil)
			defer func() { _ = c.Close() }()
			progress := 0.0
			_, err := c.CallTool(bounded(t), "x", nil, &mcp.CallToolOptions{
				Progress: func(p *mcp.ProgressParams) { progress = p.Progress },
			})
			if err != nil || progress != 5 {
				t.Errorf("progress %v, error %v", progress, err)
			}
			assert.Equal(t, c.State().ProtocolVersion, "2025-03-26", "revision")
			select {
			case id := <-answered:
				assert.Equal(t, id, `"of the server"`, "answered")
			case <-bounded(t).Done():
				t.Error("the request in the batch is not answered")
			}
		})
	}
}
