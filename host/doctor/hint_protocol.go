package doctor

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbelt/mcpbelt/internal/protocol"
	"github.com/mcpbelt/mcpbelt/mcp"
)

// ofProtocol tells what a server says that it should not.
func (t *trouble) ofProtocol() {
	var flaw *mcp.ProtocolError
	var limit *mcp.LimitError
	var answer *mcp.JSONRPCError
	known := protocol.Versions()
	refused := errors.As(t.err, &answer)
	switch {
	case t.version != "" && !slices.Contains(known, t.version), refused && answer.Code == sdk.CodeUnsupportedProtocolVersion:
		t.hint(hintProtocol, fmt.Sprintf("The server speaks none of the revisions of the protocol that this client does: %s; it wants %q. Update the server, or this program.", strings.Join(known, ", "), t.version))
	case errors.As(t.err, &limit):
		t.hint(hintProtocol, fmt.Sprintf("The server sends more than is allowed: %s is limited to %d. Raise it in \"limits\" of the entry if the server is to be trusted with that.", limit.Limit, limit.Max))
	case errors.As(t.err, &flaw):
		t.hint(hintProtocol, fmt.Sprintf("The server answers in a way that the protocol does not know: %v. It may be no MCP server, or a faulty one; look for a newer version.", flaw))
	case errors.As(t.err, new(interface{ NotMCP() bool })),
		refused && answer.Code == jsonrpc.CodeMethodNotFound && t.reached != testInitialized && t.reached != testListed:
		t.hint(hintProtocol, "What answers speaks JSON-RPC, but does not know how an MCP connection begins: it is no MCP server, or a program that repeats what it is sent. Look at \"command\" and \"args\", or \"url\", of the entry.")
	case refused:
		t.hint(hintServerError, fmt.Sprintf("The server answered with an error of its own, code %d. Its log may tell more.", answer.Code))
	case errors.As(t.err, new(*mcp.UnresponsiveError)):
		t.hint(hintTimeout, "The server runs, and does not answer any more, not even to a ping. Restart it; if that helps only for a while, look at its log.")
	case errors.Is(t.err, mcp.ErrAnswerLost), errors.Is(t.err, mcp.ErrSessionLost):
		t.hint(hintServerError, "The connection broke before the answer was there: the server was restarted, or what stands between ends long connections. Try again.")
	}
}

// ofTime tells what took so long.
func (t *trouble) ofTime() {
	if !tookTooLong(t.err) {
		return
	}
	switch t.reached {
	case "", testResolved:
		t.hint(hintTimeout, "There was no connection in time. Look whether the server can be reached from this machine, or raise \"connectTimeoutSeconds\" in the entry.")
	case testSpawned, testConnected:
		t.hint(hintTimeout, "There was no handshake in time. The server may be slow to start, since npx, uvx and docker get it from the network at first: run the command once in a terminal, or raise \"connectTimeoutSeconds\" in the entry. It may wait for a question to be answered: npx wants the argument -y. Or it listens at a port: then the entry needs \"url\" in the place of \"command\".")
	default:
		t.hint(hintTimeout, "The server is there, and did not answer the request in time. Look at its log; raise \"readTimeoutSeconds\" in the entry if it is only slow.")
	}
}

// ofTools tells of a list of tools that is less use than it seems.
func (t *trouble) ofTools(tools []Tool) {
	count := map[string]int{}
	for _, tool := range tools {
		count[tool.State]++
	}
	if n := count[toolRejected]; n > 0 {
		t.hint(hintToolsRejected, fmt.Sprintf("%d of the tools would not be listed: the gate does not let them in, or others have their names. The findings of each say why.", n))
	}
	if n := count[toolQuarantined]; n > 0 {
		t.hint(hintToolsQuarantined, fmt.Sprintf("%d of the tools are held back, because they are new or not what was accepted. Look at what has changed, and accept or reject them.", n))
	}
	if len(tools) == 0 {
		t.hint(hintNoTools, "The server has no tools. It may have resources or prompts; or it shows its tools only with other arguments, variables or rights.")
	}
}
