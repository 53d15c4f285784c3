package mcp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/transport"
)

// A process outlives the conversations that use it: their contexts end, one in
// the middle of a call, and the next one finds the same process.
func TestOneProcessForAllConversations(t *testing.T) {
	t.Parallel()
	program := assert.Value(os.Executable())(t)
	c := newClient(t, &transport.Command{Path: program, Env: childOf("1")}, nil)
	var conversations sync.WaitGroup
	pids := make(chan int, 24)
	converse := func(name string) {
		ctx, end := context.WithTimeout(t.Context(), time.Minute)
		defer end()
		for turn := range 3 {
			want := fmt.Sprintf("%s, turn %d", name, turn)
			args, _ := json.Marshal(echoIn{want})
			res, err := c.CallTool(ctx, "echo", args, nil)
			if err != nil {
				t.Errorf("%s: %v", want, err)
				return
			}
			assert.Equal(t, textOf(t, res), want)
			pids <- c.State().PID
		}
	}
	for i := range 4 {
		conversations.Go(func() { converse(fmt.Sprint("one of four: ", i)) })
	}
	conversations.Wait()
	ctx, leave := context.WithCancel(t.Context())
	leave()
	assert.Fails(t, errOf(c.CallTool(ctx, "echo", nil, nil)), "a conversation that is over got an answer")
	for i := range 4 {
		converse(fmt.Sprint("one after the other: ", i))
	}
	close(pids)
	first := <-pids
	for pid := range pids {
		if pid != first || pid <= 0 {
			t.Errorf("processes %d and %d", first, pid)
		}
	}
	assert.Equal(t, wantPhase(t, c, mcp.Ready).Connections, 1, "connections")
}
