package seedrows

import (
	"fmt"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// A row is what a document says of one capability.
type row struct {
	number int // see capabilities
	test   func(t *testing.T)
}

// capabilities are all that the documents and their programs have, the first is number 1.
var capabilities = [...]string{
	"transports stdio, streamable HTTP, SSE",
	"unix socket and auto",
	"initialize handshake",
	"list, call and paging",
	"prompts",
	"resources, sampling, elicitation, roots, progress, logging, completion",
	"server record",
	"config file",
	"scopes",
	"approval of project servers",
	"variables in entries",
	"keyring and child environment",
	"masked secrets",
	"patches",
	"timeouts",
	"test connection",
	"connect new, then close old",
	"refresh and restart",
	"start in parallel, isolated",
	"persisted status",
	"connection states",
	"backoff and reconnect on use",
	"clean-up of child processes",
	"per-server lock",
	"list_changed",
	"OAuth tokens",
	"OAuth discovery",
	"sessions per user and server",
	"single-flight refresh",
	"logout and sign-in at call time",
	"guarded addresses",
	"names of tools",
	"collisions of names",
	"tool adaptor and live list",
	"search",
	"describe and did-you-mean",
	"annotations decide on approval",
	"read, write and destructive calls",
	"server quarantine",
	"approval of tools by hash",
	"surface across users",
	"catalog limits and injection scan",
	"always ask",
	"upstream management as tools",
	"code execution",
	"content blocks",
	"truncation and paging of output",
	"answer bypasses the model",
	"REST endpoints as tools",
	"static and dynamic authentication",
	"JSON-RPC error codes",
	"cached tools, enabled and healthy",
	"scrubbed and wrapped text",
	"sensitive data and activity log",
	"isolation",
	"health and doctor",
	"binding per agent",
	"concurrency limits and queue",
	"latent tools",
	"command line",
	"cheap parallel calls",
	"metrics and error catalogue",
	"snake case",
}

// pending is what no test here can show, since it needs a program with a door of its own.
var pending = map[int]string{
	38: "the three variants of call_tool are tools of a gateway; policies tell them apart by hints, see row 37",
	44: "upstream_servers is a tool of a gateway; AddServer, UpdateServer and RemoveServer are below it, see rows 7, 14 and 23",
	45: "code_execution is a tool of a gateway that runs scripts",
	60: "kode mcp add, list and approve are a command line; Edit, PendingLaunches and AllowLaunch are below it, see rows 9 and 10",
}

// documents are the rows of all documents.
var documents = map[string][]row{
	"MateClaw": mateclaw, "IronClaw": ironclaw, "HandsAI": handsai, "MCPProxy": mcpproxy, "Kode": kode,
}

// Each capability is shown by a document, or it is said why it is not.
func TestRowsAreComplete(t *testing.T) {
	shown := map[int]string{}
	for name, rows := range documents {
		for _, r := range rows {
			shown[r.number] += " " + name
		}
	}
	for n := range shown {
		assert.True(t, n >= 1 && n <= len(capabilities), "%s: there is a row %d", shown[n], n)
	}
	for i, name := range capabilities {
		n := i + 1
		assert.True(t, (shown[n] == "") != (pending[n] == ""), "row %d (%s): either in the documents [%s] or pending for %q", n, name, shown[n], pending[n])
	}
	assert.Equal(t, len(capabilities), 63, "the number of rows")
}

// run runs the rows of a document.
func run(t *testing.T, rows []row) {
	t.Helper()
	for _, r := range rows {
		t.Run(fmt.Sprintf("%02d %s", r.number, capabilities[r.number-1]), func(t *testing.T) {
			t.Parallel()
			r.test(t)
		})
	}
}
