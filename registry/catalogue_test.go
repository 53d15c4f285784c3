// Tests of catalogue.go and server.go: servers that come and go.

package registry

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/registry/ledger"
)

// However tools come, go and change, the catalogue has those that are there, each once
// and as its server offered it last.
func TestCatalogueFollowsServers(t *testing.T) {
	for name, accepted := range map[string]*ledger.Ledger{"no ledger": nil, "ledger": ledger.New(&ledger.Options{Mode: ledger.Review})} {
		t.Run(name, func(t *testing.T) {
			random := rand.New(rand.NewPCG(1, 2))
			r := New(&Options{Ledger: accepted})
			want := map[string]string{} // descriptions by name
			for range assert.Cases(100, 500) {
				server := fmt.Sprint("s", random.IntN(5))
				switch random.IntN(3) {
				case 0:
					if waiting := accepted.Pending(server); len(waiting) > 0 {
						assert.OK(t, accepted.Accept(t.Context(), "ann", waiting...))
					}
				default:
					maps.DeleteFunc(want, func(name, _ string) bool { return name[:2] == server })
					var tools []Tool
					for i := range 8 {
						if random.IntN(2) == 0 {
							continue
						}
						def := &Definition{Origin: Origin{Server: server, Tool: fmt.Sprint("t", i)}, Description: fmt.Sprint("does thing ", random.IntN(3)), InputSchema: json.RawMessage(`{"type":"object"}`)}
						want[fmt.Sprintf("%s__t%d", server, i)] = def.Description
						tools = append(tools, definedTool{def})
					}
					assert.Value(r.Replace(Server{Name: server}, tools))(t)
				}
				got := map[string]string{}
				s := r.Snapshot()
				for _, e := range s.entries {
					got[e.def.Name] = e.def.Description
				}
				assert.Equal(t, fmt.Sprint(got), fmt.Sprint(want))
				assert.Equal(t, len(s.entries), len(want), "entries")
				assert.True(t, slices.IsSortedFunc(s.entries, compareNames), "entries are sorted")
				assert.Equal(t, len(s.Tools())+len(s.Quarantined()), len(want), "tools that are listed or held back")
			}
		})
	}
}
