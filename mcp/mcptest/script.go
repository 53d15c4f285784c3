package mcptest

import (
	"cmp"
	"encoding/json"
	"fmt"

	"github.com/mcpbelt/mcpbelt/internal/protocol"
)

// A Script says what a server does for each method, of requests as well as of
// notifications.
type Script map[string]Handler

// A Handler deals with one message of the client, on a goroutine of its own. A
// request that it does not answer stays unanswered.
type Handler func(*Call)

// Result answers with a result, given as JSON. It is sent as it is, right or
// wrong.
func Result(result string) Handler { return func(c *Call) { c.Result(result) } }

// Error answers with an error.
func Error(code int64, message string) Handler {
	return func(c *Call) { c.Error(code, message) }
}

// Hang does not answer, and returns when the request is cancelled or its connection ends.
func Hang(c *Call) { <-c.Context().Done() }

// Disconnect ends the connection without an answer.
func Disconnect(c *Call) { c.Disconnect() }

// Sequence deals with the first message of its method by the first handler,
// with the second by the second, and with all that come after the last by the
// last. It counts in the order in which they came, across connections.
func Sequence(first Handler, others ...Handler) Handler {
	handlers := append([]Handler{first}, others...)
	return func(c *Call) { handlers[min(c.Number, len(handlers))-1](c) }
}

// Handshake returns the script of a server that speaks the given revision and
// offers the given capabilities, as JSON. Without any it offers tools, with
// notifications of their changes. It answers pings if the revision has them.
func Handshake(revision, capabilities string) Script {
	capabilities = cmp.Or(capabilities, `{"tools":{"listChanged":true}}`)
	const info = `{"name":"scripted","version":"1"}`
	if protocol.IsStateless(revision) {
		return Script{
			"server/discover": Result(fmt.Sprintf(
				`{"resultType":"complete","supportedVersions":[%q],"capabilities":%s,"instructions":"Be nice.","_meta":{"io.modelcontextprotocol/serverInfo":%s}}`,
				revision, capabilities, info)),
			"subscriptions/listen": Hang,
		}
	}
	return Script{
		"initialize": Result(fmt.Sprintf(
			`{"protocolVersion":%q,"capabilities":%s,"serverInfo":%s,"instructions":"Be nice."}`, revision, capabilities, info)),
		"ping": Result(`{}`),
	}
}

func raw(text string) json.RawMessage {
	if text == "" {
		return nil
	}
	return json.RawMessage(text)
}
