package doctor

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/mcp"
)

// ofProtocol tells what a server says that it should not.
func (t *trouble) ofProtocol() {
	var protocol *mcp.ProtocolError
	var limit *mcp.LimitError
	var answer *mcp.JSONRPCError
	var unresponsive *mcp.UnresponsiveError
	known := sdk.SupportedProtocolVersions()
	refused := errors.As(t.err, &answer)
	var echo interface{ NotMCP() bool }
	switch {
	case t.version != "" && !slices.Contains(known, t.version):
		t.hint(HintProtocol, fmt.Sprintf("The server wants to speak revision %q of the protocol. This client speaks %s. Update the server, or this program.", t.version, strings.Join(known, ", ")))
	case refused && answer.Code == sdk.CodeUnsupportedProtocolVersion:
		t.hint(HintProtocol, fmt.Sprintf("The server speaks none of the revisions of the protocol that this client does: %s. Update the server, or this program.", strings.Join(known, ", ")))
	case errors.As(t.err, &limit):
		t.hint(HintProtocol, fmt.Sprintf("The server sends more than is allowed: %s is limited to %d. Raise it in \"limits\" of the entry if the server is to be trusted with that.", limit.Limit, limit.Max))
	case errors.As(t.err, &protocol) && t.reached == TestInitialized:
		t.hint(HintProtocol, fmt.Sprintf("The server's list of tools is not what the protocol says, at %s: %v. Its maker has to mend that; look for a newer version.", protocol.Path, protocol.Err))
	case errors.As(t.err, &protocol):
		t.hint(HintProtocol, fmt.Sprintf("The server answers in a way that the protocol does not know: %v. It may be no MCP server, or a faulty one; look for a newer version.", protocol.Err))
	case errors.As(t.err, &echo),
		refused && answer.Code == jsonrpc.CodeMethodNotFound && t.reached != TestInitialized && t.reached != TestListed:
		t.hint(HintProtocol, "What answers speaks JSON-RPC, but does not know how an MCP connection begins: it is no MCP server, or a program that repeats what it is sent. Look at \"command\" and \"args\", or \"url\", of the entry.")
	case refused:
		t.hint(HintServerError, fmt.Sprintf("The server answered with an error of its own, code %d. Its log may tell more.", answer.Code))
	case errors.As(t.err, &unresponsive):
		t.hint(HintTimeout, "The server runs, and does not answer any more, not even to a ping. Restart it; if that helps only for a while, look at its log.")
	case errors.Is(t.err, mcp.ErrAnswerLost), errors.Is(t.err, mcp.ErrSessionLost):
		t.hint(HintServerError, "The connection broke before the answer was there: the server was restarted, or what stands between ends long connections. Try again.")
	}
}

// ofTime tells what took so long.
func (t *trouble) ofTime() {
	if !tookTooLong(t.err) {
		return
	}
	local := t.entry.Transport == config.TransportStdio
	// A program that is downloaded at the first start says nothing until it is there.
	if program := programName(t.entry.Command); local && t.reached == TestSpawned && slices.Contains([]string{"npx", "npm", "pnpm", "yarn", "bunx", "uvx", "uv", "pipx", "docker", "podman", "dnx"}, program) {
		t.hint(HintTimeout, fmt.Sprintf("%s gets the server from the network when it is first started, which may take minutes. Run the same command once in a terminal, or raise \"connectTimeoutSeconds\" in the entry. See also that the command does not wait for a question to be answered: npx wants the argument -y.", program))
	}
	switch t.reached {
	case "", TestResolved:
		t.hint(HintTimeout, "There was no connection in time. Look whether the server can be reached from this machine, or raise \"connectTimeoutSeconds\" in the entry.")
	case TestSpawned:
		t.hint(HintTimeout, "The process runs, and has said nothing in time: it may be slow to start, wait for something else, or be no MCP server over stdio; one that listens at a port needs \"url\" in the entry instead. Raise \"connectTimeoutSeconds\" if it is only slow.")
	case TestConnected:
		t.hint(HintTimeout, "There is a connection, and the server did not finish the handshake in time. Look at its log; raise \"connectTimeoutSeconds\" in the entry if it is only slow.")
	default:
		t.hint(HintTimeout, "The server is there, and did not answer the request in time. Look at its log; raise \"readTimeoutSeconds\" in the entry if it is only slow.")
	}
}

// ofNoise tells of what a local server writes between its messages. It is harmless
// until it falls into the middle of one.
func (t *trouble) ofNoise() {
	if len(t.noise) == 0 {
		return
	}
	t.hint(HintStdoutNoise, fmt.Sprintf("The server writes other things than messages to its standard output, such as: %q. They are skipped, but a message on the same line is lost with them. A server has to log to its standard error; look for an option that does that.", t.clean.line(t.noise[0])))
}

// ofTools tells of a list of tools that is less use than it seems.
func (t *trouble) ofTools(tools []Tool) {
	count := map[string]int{}
	for _, tool := range tools {
		count[tool.State]++
	}
	if n := count[ToolRejected]; n > 0 {
		t.hint(HintToolsRejected, fmt.Sprintf("%d of the tools would not be listed: the gate does not let them in, or others have their names. The findings of each say why.", n))
	}
	if n := count[ToolQuarantined]; n > 0 {
		t.hint(HintToolsQuarantined, fmt.Sprintf("%d of the tools are held back, because they are new or not what was accepted. Look at what has changed, and accept or reject them.", n))
	}
	if len(tools) == 0 {
		t.hint(HintNoTools, "The server has no tools. It may have resources or prompts; or it shows its tools only with other arguments, variables or rights.")
	}
}
