package ask_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/onbehalf"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/mcp/ask"
)

// One user, or one server, who asks too much keeps nobody else from asking.
func TestQueueShares(t *testing.T) {
	for name, test := range map[string]struct {
		users, servers int // how many of each flood the queue; 0 users: nobody is named
		want           int // how many of their questions wait
		user, server   string
	}{
		"a server":                      {0, 1, 32, "", "good"},
		"a server, for many users":      {20, 1, 32, "ann", "good"},
		"a server, for one user":        {1, 1, 8, "user 0", "good"},
		"a user, by many servers":       {1, 20, 16, "ann", "server 0"},
		"two servers, for who is named": {1, 2, 16, "ann", "good"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var q ask.Queue
				put := func(user, server string) {
					ctx := t.Context()
					if user != "" {
						ctx = onbehalf.With(ctx, user)
					}
					go func() { _, _ = q.Elicit(ctx, &mcp.ElicitRequest{Server: server}) }()
					synctest.Wait()
				}
				for i := range 100 {
					user := ""
					if test.users > 0 {
						user = fmt.Sprint("user ", i%test.users)
					}
					put(user, fmt.Sprint("server ", i/max(1, test.users)%test.servers))
				}
				assert.Equal(t, len(q.Questions()), test.want, "questions that wait")
				put(test.user, test.server)
				assert.Equal(t, len(q.Questions()), test.want+1, "questions with that of another")
				for _, question := range q.Questions() {
					assert.OK(t, q.Answer(question.ID, nil))
				}
				put("user 0", "server 0") // there is room again
				for _, question := range q.Questions() {
					assert.OK(t, q.Answer(question.ID, nil))
				}
			})
		})
	}
}

// One user who agrees to visit many pages has no page of another forgotten.
func TestQueuePagesAreShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var q ask.Queue
		visit := func(user string) string {
			ctx := onbehalf.With(context.Background(), user)
			go func() { _, _ = q.ElicitURL(ctx, &mcp.ElicitURLRequest{Server: "s"}) }()
			synctest.Wait()
			id := q.Questions()[0].ID
			assert.OK(t, q.Answer(id, yes(nil)))
			return id
		}
		ann := visit("ann")
		for range 100 {
			visit("eve")
		}
		assert.OK(t, q.Done(ann))
	})
}
