package gateway

//lint:file-ignore SA1019 Logging and sampling are deprecated since revision 2026-07-28, and work.

import (
	"cmp"
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/mcpbelt/mcpbelt/host/access"
	"github.com/mcpbelt/mcpbelt/host/gateway/internal/clients"
	"github.com/mcpbelt/mcpbelt/host/gateway/internal/message"
	"github.com/mcpbelt/mcpbelt/host/gateway/internal/modes"
	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
	"github.com/mcpbelt/mcpbelt/internal/onbehalf"
	"github.com/mcpbelt/mcpbelt/internal/protocol"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/session"
)

// A peer is a client of the gateway, as far as it is known: by the initialize request of its
// session, or by what one request of a stateless revision says. It does not change.
type peer struct {
	shown                   // what it sees
	caller   *access.Caller // not nil
	revision string
	client   mcp.Implementation
	can      abilities
	level    mcp.LoggingLevel // of a stateless revision: the log messages wanted, or none
	mode     string           // direct, search or code
	quirks   clients.Client   // what is known of the client
	session  *clientSession   // nil in stateless revisions
	requests *underWay        // which it can withdraw by their ids; nil: none
	base     string           // the URL by which the client reaches the gateway; empty: it is not known
	handsai  bool             // it has errors where the protocol has results of tools
}

// abilities are what a client can do for a server.
type abilities struct{ form, url, sampling, samplingTools, roots, tasks, apps bool }

// abilitiesOf reads the capabilities of a client.
func abilitiesOf(caps json.RawMessage) abilities {
	elicitation, sampling := jsonscan.Member(caps, "elicitation"), jsonscan.Member(caps, "sampling")
	a := abilities{
		url:      jsonscan.Member(elicitation, "url") != nil,
		sampling: message.IsObject(sampling), samplingTools: jsonscan.Member(sampling, "tools") != nil,
		roots: message.IsObject(jsonscan.Member(caps, "roots")), apps: message.IsObject(jsonscan.Member(caps, "extensions", protocol.ExtensionApps)),
	}
	// Before there were two forms of elicitation, it meant forms.
	a.form = message.IsObject(elicitation) && (jsonscan.Member(elicitation, "form") != nil || !a.url)
	return a
}

// lacks returns what a client cannot do for a server request, in words and as the capability that it does not have; nothing
// if it can.
func (a abilities) lacks(method string, params json.RawMessage) (what string, capability map[string]any) {
	mode, _ := message.Text(params, "mode")
	switch {
	case method == protocol.Elicit && mode == "url" && !a.url:
		return "elicitation of URLs", map[string]any{"elicitation": map[string]any{"url": struct{}{}}}
	case method == protocol.Elicit && mode != "url" && !a.form:
		return "elicitation", map[string]any{"elicitation": map[string]any{"form": struct{}{}}}
	case method == protocol.Sample && !a.sampling:
		return "sampling", map[string]any{"sampling": struct{}{}}
	case method == protocol.Sample && !a.samplingTools && len(jsonscan.Member(params, "tools")) > len("[]"):
		return "sampling with tools", map[string]any{"sampling": map[string]any{"tools": struct{}{}}}
	case method == protocol.ListRoots && !a.roots:
		return "roots", map[string]any{"roots": struct{}{}}
	}
	return "", nil
}

// implementationOf reads how a client calls itself. Text of an untrusted party.
func implementationOf(info json.RawMessage) mcp.Implementation {
	var impl mcp.Implementation
	impl.Name, _ = message.Text(info, "name")
	impl.Version, _ = message.Text(info, "version")
	const most = 200 // bytes: they are kept as long as the session
	impl.Name = strings.Clone(impl.Name[:min(len(impl.Name), most)])
	impl.Version = strings.Clone(impl.Version[:min(len(impl.Version), most)])
	return impl
}

// modern reports whether the client speaks a stateless revision.
func (p *peer) modern() bool { return p.session == nil }

// owns reports whether p may have what was begun by other: the same caller in the same view and, where there
// are sessions, in the same one.
func (p *peer) owns(other *peer) bool {
	return p.isOf(other.caller) && p.view == other.view && p.session == other.session
}

// isOf reports whether p is a client of the caller.
func (p *peer) isOf(caller *access.Caller) bool {
	return p.caller.User == caller.User && p.caller.Credential == caller.Credential
}

// context returns ctx with the user on whose behalf p makes calls or, without one, their owner.
func (p *peer) context(ctx context.Context) context.Context {
	if p.can.apps && cmp.Or(p.mode, modes.Direct) == modes.Direct {
		ctx = onbehalf.WithApps(ctx)
	}
	switch {
	case p.caller.User != "":
		return session.WithUser(ctx, p.caller.User)
	case p.caller.Credential != "":
		return onbehalf.WithOwner(ctx, p.caller.Owner())
	}
	return ctx
}

// room is how long the names of tools may be.
func (p *peer) room() int {
	prefix := p.view.gateway.limits.ClientPrefix
	room := 64 - prefix
	if most := p.quirks.NameBytes; most > 0 { // which counts the server's name alone
		room = min(room, most-max(prefix-len("mcp__"+"__"), 0))
	}
	return room
}

// answerWithin is after what time a call has to be answered with an id; 0: it has not.
func (p *peer) answerWithin() time.Duration {
	if d := p.view.gateway.limits.AnswerWithin; d != 0 {
		return max(d, 0)
	}
	if p.can.tasks {
		return soon
	}
	return time.Duration(p.quirks.AnswerWithinSeconds) * time.Second
}

// soon is when a call of a client with tasks is answered: some clients and proxies give a call up after a minute,
// whatever its progress.
const soon = 55 * time.Second

// awaits reports whether a call that takes too long is answered with an id for await_call.
func (p *peer) awaits() bool { return p.answerWithin() > 0 && !p.can.tasks }
