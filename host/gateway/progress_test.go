// Tests of progress.go, await.go and ask.go: what callers are told while their servers are silent, and when that ends.

package gateway_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpbelt/mcpbelt/host/gateway"
	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// A caller that asked for progress hears something every Heartbeat; a question that is not answered within
// InputWait is one that the client did not answer.
func TestTimesOfCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := openInMemory(t, &gateway.Options{Heartbeat: time.Minute, InputWait: 3 * time.Minute})
		c := s.connect(t, &client{})
		began := time.Now()
		r := s.do(t, c.query("tools/call", toolParams("one__ask", `{}`)+`,"_meta":{"progressToken":"p"}`))
		assert.Equal(t, time.Since(began), 3*time.Minute, "the end after")
		if got := strings.Count(r.body, "notifications/progress"); got != 2 && got != 3 { // the last may come with the end
			t.Errorf("got %d signs of life, want one a minute", got)
		}
		assert.Contains(t, r.message(t).text(), "did not answer")
	})
}

// Progress of a call that is awaited comes with the token of the request that waits, and rises.
func TestTokenOfTheRequestThatWaits(t *testing.T) {
	for _, revision := range both {
		synctest.Test(t, func(t *testing.T) {
			s := openInMemory(t, &gateway.Options{AnswerWithin: 22 * time.Second, Heartbeat: 5 * time.Second})
			c := s.connect(t, &client{revision: revision})
			call := func(name, args, token string) rpc {
				q := c.query("tools/call", toolParams(name, args))
				meta := fmt.Sprintf(`"_meta":{"progressToken":%q`, token)
				if strings.Contains(q.body, `"_meta":{`) {
					q.body = strings.Replace(q.body, `"_meta":{`, meta+",", 1)
				} else {
					q.body = strings.TrimSuffix(q.body, "}}") + "," + meta + "}}}"
				}
				r := s.do(t, q)
				beats, last := 0, -1.0
				for line := range strings.Lines(r.body) {
					var m struct {
						Method string
						Params struct {
							Token    string `json:"progressToken"`
							Progress float64
						}
					}
					data, _ := strings.CutPrefix(line, "data: ")
					if _ = json.Unmarshal([]byte(data), &m); m.Method != "notifications/progress" {
						continue
					}
					beats++
					assert.Equal(t, m.Params.Token, token, "the token")
					assert.Equal(t, m.Params.Progress > last, true, "%v is more than before, %v", m.Params.Progress, last)
					last = m.Params.Progress
				}
				assert.Equal(t, beats, 4, "%s: signs of life", token)
				return r.message(t)
			}
			first := call("one__wait", `{}`, "first")
			call("await_call", fmt.Sprintf(`{"id":%q}`, first.at("_meta", "mcpbelt/call")), "second")
		})
	}
}
