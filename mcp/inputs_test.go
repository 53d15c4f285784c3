package mcp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

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
		if err := json.Unmarshal(v.Params, &params); err != nil {
			t.Error(err)
		}
		round := 0
		if params.RequestState == "" {
			meet.Done()
			meet.Wait()
		} else {
			if _, err := fmt.Sscanf(params.RequestState, params.Name+" %d", &round); err != nil {
				t.Errorf("%s came with the state %q", params.Name, params.RequestState)
			}
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
			if got := textOf(t, mustCall(t, c, tool)); got != tool {
				t.Errorf("%s got the answer of %s", tool, got)
			}
		})
	}
	all.Wait()
	ids := map[string]bool{}
	for _, v := range s.of("tools/call") {
		ids[string(v.ID)] = true
	}
	if want := calls * (rounds + 1); len(ids) != want || len(s.of("tools/call")) != want {
		t.Errorf("%d ids in %d requests, want %d", len(ids), len(s.of("tools/call")), want)
	}
}
