package host_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/mcp/mcptest"
	"github.com/mcpbelt/mcpbelt/registry"
)

const acceptNeighbours = 8

// acceptHuge is a list of many tools that all say much.
var acceptHuge = sync.OnceValue(func() string {
	all := make([]string, 1000)
	for i := range all {
		all[i] = fmt.Sprintf(`{"name":"echo%d","description":"%s","inputSchema":{"type":"object"}}`, i, strings.Repeat("long ", 200))
	}
	return `{"tools":[` + strings.Join(all, ",") + `]}`
})

// acceptHostile are the entries of servers that do all they can, by what they do.
// Those in this process are houses of the town.
func acceptHostile(t *testing.T, town *acceptTown) (entries map[string]string) {
	const one = `{"tools":[{"name":"echo","description":"echoes","inputSchema":{"type":"object"}}]}`
	hostile := func(scripts ...mcptest.Script) func(context.Context, mcp.Transport) error {
		all := append([]mcptest.Script{mcptest.Handshake(mcp.Revision20251125, ""), {"tools/list": mcptest.Result(one)}}, scripts...)
		return mcptest.NewServer(t, all...).Serve
	}
	storm := func(method, params string) mcptest.Handler {
		return func(c *mcptest.Call) {
			for c.Context().Err() == nil {
				c.Notify(method, params)
			}
		}
	}
	town.houses = map[string]func(context.Context, mcp.Transport) error{
		"logs": hostile(mcptest.Script{"notifications/initialized": storm("notifications/message", `{"level":"error","data":"`+strings.Repeat("x", 4000)+`"}`)}),
		"announces": hostile(mcptest.Script{
			"notifications/initialized": storm("notifications/tools/list_changed", ""),
			"tools/list": func(c *mcptest.Call) {
				c.Result(strings.Replace(one, "echoes", fmt.Sprint("echoes ", c.Number), 1))
			},
		}),
		"huge":   hostile(mcptest.Script{"tools/list": mcptest.Result(acceptHuge())}),
		"pages":  hostile(mcptest.Script{"tools/list": mcptest.Result(strings.TrimSuffix(one, "}") + `,"nextCursor":"again"}`)}),
		"hangs":  hostile(mcptest.Script{"tools/list": mcptest.Hang}),
		"dies":   func(context.Context, mcp.Transport) error { return errors.New("dead") },
		"drops":  hostile(mcptest.Script{"tools/list": mcptest.Disconnect}),
		"denies": hostile(mcptest.Script{"tools/list": mcptest.Error(-32000, strings.Repeat("no\n", 10_000))}),
	}
	entries = map[string]string{}
	for name := range town.houses {
		entries[name] = fmt.Sprintf(`{"command": %q, "connectTimeoutSeconds": 1, "readTimeoutSeconds": 1}`, name)
	}
	entries["hangs"] = `{"command": "hangs", "readTimeoutSeconds": 0.3}`
	if runtime.GOOS != "windows" {
		entries["garbage"] = `{"command": "sh", "args": ["-c", "yes this is not JSON & cat > /dev/null; kill $!"], "connectTimeoutSeconds": 1}`
		entries["exits"] = `{"command": "sh", "args": ["-c", "echo bye >&2; exit 1"]}`
	}
	return entries
}

// One server that floods, hangs, dies again and again or says endless things does no
// harm to the others: no call fails, and no tool is missing.
func TestAcceptHostileNeighbour(t *testing.T) {
	hostile := acceptHostile(t, &acceptTown{})
	for name := range hostile {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			town := &acceptTown{}
			entry := acceptHostile(t, town)[name]
			opts := town.options()
			var pairs []string
			for i := range acceptNeighbours {
				pairs = append(pairs, fmt.Sprintf("good%02d", i), fmt.Sprintf(`{"command": "x", "args": ["%d"]}`, i))
			}
			if town.houses[name] == nil { // a process
				opts.Transport = acceptProcess(town.transport, name)
			}
			h := acceptNew(t, opts, acceptParse(t, append(pairs, name, entry)...))
			look := func(s *registry.Snapshot) error {
				good := 0
				for _, tool := range s.Tools() {
					if strings.HasPrefix(tool.Definition().Origin.Server, "good") {
						good++
					}
				}
				if good != acceptNeighbours {
					return fmt.Errorf("version %d lists %d tools of the others", s.Version(), good)
				}
				return nil
			}
			load := acceptLoad{callers: 4, calls: 100, tool: "good00__echo", look: look}
			load.during(t, h, func() {
				var wg sync.WaitGroup
				for i := range acceptNeighbours {
					wg.Go(func() {
						for range 5 {
							text, err := acceptAnswer(h.Registry().Call(watchdog(t), fmt.Sprintf("good%02d__echo", i), nil))
							if err != nil || text != fmt.Sprint(i) {
								t.Errorf("server %d: %q, %v", i, text, err)
							}
						}
					})
				}
				wg.Wait()
				if err := h.Restart(watchdog(t), "good01"); err != nil {
					t.Errorf("Restart of another: %v", err)
				}
				_ = h.Restart(watchdog(t), name)
				if err := h.Disable(watchdog(t), name); err != nil {
					t.Errorf("Disable of the hostile: %v", err)
				}
			})
		})
	}
}
