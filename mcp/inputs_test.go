package mcp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
)

// Calls at one time, each of which is asked for input several times: what one is
// asked, and the state of the server, never gets into another, and each round is
// a request of its own.
func TestInputOfEachCall(t *testing.T) {
	const calls, rounds = 8, 3
	var meet sync.WaitGroup // the first rounds are under way together
	meet.Add(calls)
	s := newSite(t, mcp.Revision20260728, nil)
	s.script["tools/call"] = func(v *visit) {
		var params struct {
			Name           string
			InputResponses map[string]struct{ Content struct{ Name string } }
			RequestState   string
		}
		assert.Is(t, json.Unmarshal(v.Params, &params), nil)
		round := 0
		if params.RequestState == "" {
			meet.Done()
			meet.Wait()
		} else {
			assert.Is(t, errOf(fmt.Sscanf(params.RequestState, params.Name+" %d", &round)), nil)
			want := fmt.Sprintf("%s %d", params.Name, round)
			if len(params.InputResponses) != 1 || params.InputResponses[want].Content.Name != want {
				t.Errorf("%s came with the input %v", want, params.InputResponses)
			}
		}
		if round == rounds {
			v.reply(200, fmt.Sprintf(`"result":{"resultType":"complete","content":[{"type":"text","text":%q}]}`, params.Name))
			return
		}
		next := fmt.Sprintf("%s %d", params.Name, round+1)
		v.reply(200, fmt.Sprintf(`"result":{"resultType":"input_required","inputRequests":{%q:%s},"requestState":%q}`,
			next, strings.Replace(inputRequest, "Who?", next, 1), next))
	}
	c := newClient(t, &s.HTTP, &mcp.ClientOptions{
		Elicit: func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			return accept(map[string]any{"name": r.Params.Message}), nil
		},
	})
	ready(t, c)
	var all sync.WaitGroup
	for i := range calls {
		all.Go(func() {
			tool := fmt.Sprintf("tool_%d", i)
			assert.Equal(t, textOf(t, mustCall(t, c, tool)), tool)
		})
	}
	all.Wait()
	ids := map[string]bool{}
	for _, v := range s.of("tools/call") {
		ids[string(v.ID)] = true
	}
	want := calls * (rounds + 1)
	assert.Equal(t, [...]any{len(ids), len(s.of("tools/call"))}, [...]any{want, want})
}
