package registry_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/ledger"
)

// A versionTool is a tool of a server that changes all the time. Its odd versions
// are those that nobody approves.
type versionTool struct {
	*plainTool
	version int
	ran     *[2]atomic.Int64 // even and odd calls
}

func (t *versionTool) Call(context.Context, json.RawMessage) (*mcp.CallToolResult, error) {
	t.ran[t.version%2].Add(1)
	return t.answer, nil
}

// Whatever happens at once, of the versions of a tool only those are called that
// somebody has approved: in two registries with a ledger each on one file, one
// server that flaps, and people who approve, reject and take tools out.
func TestOnlyWhatWasApprovedRuns(t *testing.T) {
	path := filepath.Join(t.TempDir(), "mcp.lock.json")
	var ran [2]atomic.Int64
	version := func(n int) registry.Tool {
		return &versionTool{serverTool("mail", "send", fmt.Sprint("version ", n)), n, &ran}
	}
	rounds := 40
	if testing.Short() {
		rounds = 20
	}
	var work sync.WaitGroup
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var callers sync.WaitGroup
	for i := range 2 {
		accepted := assert.Value(ledger.Open(path, nil))(t)
		r := registry.New(&registry.Options{Ledger: accepted})
		mustReplace(t, r, "mail", version(0))
		work.Go(func() { // the server
			for n := range rounds {
				if _, err := r.Replace(registry.Server{Name: "mail"}, []registry.Tool{version(n * (i + 1) % 7), serverTool("mail", fmt.Sprint("other", n%3), "")}); err != nil {
					t.Error(err)
				}
			}
		})
		work.Go(func() { // who decides
			for n := range rounds {
				for _, c := range accepted.Pending() {
					if c.Tool != "send" {
						continue
					}
					decide := accepted.Accept
					for odd := 1; odd < 7; odd += 2 {
						if bytes.Contains(c.Surface, fmt.Append(nil, "version ", odd)) {
							decide = accepted.Reject
						}
					}
					if err := decide(ctx, "ann", c); err != nil && !errors.As(err, new(*ledger.StaleChangeError)) {
						t.Error(err)
					}
				}
				if n%10 == 9 {
					r.Remove("mail__other1")
				}
				if err := accepted.Reload(ctx); err != nil {
					t.Error(err)
				}
			}
		})
		for range 2 {
			callers.Go(func() {
				for ctx.Err() == nil {
					_, err := r.Call(ctx, "mail__send", nil)
					if err != nil && ctx.Err() == nil && !errors.As(err, new(*registry.QuarantinedError)) && !errors.As(err, new(*registry.UnknownToolError)) {
						t.Error(err)
						return
					}
				}
			})
		}
	}
	work.Wait()
	stop()
	callers.Wait()
	if ran[1].Load() > 0 {
		t.Errorf("%d calls of versions that nobody approved", ran[1].Load())
	}
	if ran[0].Load() == 0 {
		t.Error("no call was made at all")
	}
	t.Log(ran[0].Load(), "calls")
}
