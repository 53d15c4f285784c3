package mcp

//lint:file-ignore SA1019 sampling and roots are deprecated and in use.

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"math"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/protocol"
)

// maxServing bounds the requests of the server that are served at a time, unless the program
// handles more. Further ones are not answered.
const maxServing = 64

// ClientOptions configure a [Client]. The zero value, and nil, mean the
// defaults named here. A limit, of time, number or size, that is 0 is the default, and a
// negative one means that there is none.
type ClientOptions struct {
	// Implementation names this program to the server.
	// Default: mcpbelt, version 0.
	Implementation *Implementation
	// Logger receives violations of the protocol by the server, and the beginnings and
	// ends of connections. Default: nothing is logged.
	Logger *slog.Logger
	// Elicit handles elicitation/create requests for forms. If nil, the elicitation
	// capability for forms is not declared.
	//
	// It may be called concurrently, on goroutines of the connection or on that of a
	// CallTool, and must return when its context ends. The server does not see an error
	// that is no [*JSONRPCError].
	Elicit func(context.Context, *ElicitRequest) (*ElicitResult, error)
	// ElicitURL handles elicitation/create requests for a URL: it asks the user for
	// consent, and has the page opened. The client neither opens nor fetches it. If
	// nil, the elicitation capability for URLs is not declared. It is called as Elicit
	// is.
	ElicitURL func(context.Context, *ElicitURLRequest) (*ElicitResult, error)
	// Sample handles sampling/createMessage requests. If nil, the sampling capability
	// is not declared. It is called as Elicit is. A human should see the request and
	// the answer.
	//
	// Deprecated: Protocol revision 2026-07-28 deprecates sampling (SEP-2577). It works
	// with older servers, and with newer ones that still use it.
	Sample func(context.Context, *SampleRequest) (*SampleResult, error)
	// SampleTools declares that Sample can handle tools.
	//
	// Deprecated: As Sample.
	SampleTools bool
	// MaxQuestions bounds the elicitation and sampling requests together that a server
	// can make in the course of one call or another request of the client. On each
	// connection it can make four times as many at once, and one more each second, in
	// any requests or outside of them. Further ones are declined and the user is not
	// asked: an elicitation with the action decline, a sampling request with an error.
	// A question of which it is not known what caused it counts for the connection alone.
	// Logger and QuestionsDeclined of [State] report it. Default: 16. Negative: no limit, and as
	// many are handled at a time as requests can be under way, in place of 16: this is for
	// programs with many users, which count those of each.
	MaxQuestions int
	// ListRoots handles roots/list requests: it returns the folders and files that the server
	// may know of, each a file URI. If nil, the roots capability is not declared. A root that
	// is no plain file URI, or has a percent sign or a backslash in its path, is left out and
	// logged. It is called as Elicit is, and its context has the values of that of the request
	// that made the server ask, as for an [ElicitRequest]. See [Client.RootsChanged].
	//
	// Deprecated: Protocol revision 2026-07-28 deprecates roots (SEP-2577). They work
	// with older servers, and with newer ones that still use them.
	ListRoots func(context.Context) ([]*Root, error)
	// Tasks lets a server of revision 2026-07-28 answer a call of a tool with a task,
	// for which CallTool then waits. For revision 2025-11-25, where the client asks for
	// one, see [TaskOptions].
	Tasks bool
	// Extensions declares extensions of the protocol by their identifiers, such
	// as "com.example/feature", each with its settings or nil. See
	// [Client.Request]. Default: none.
	Extensions map[string]map[string]any
	// LogLevel asks the server for log messages of this severity and above. Default:
	// for none. A level that does not exist asks for none, too, and is logged. See
	// [Client.SetLogLevel].
	//
	// Deprecated: Protocol revision 2026-07-28 deprecates logging (SEP-2577). It works
	// with older servers, and with newer ones that still use it.
	LogLevel LoggingLevel
	// Log receives the server's log messages, in order, one at a time, on a goroutine
	// of the connection. If it is slow up to 256 wait, at most 4 MiB of them; the
	// oldest are dropped. Default: they go to Logger, cut to 500 characters and without control
	// characters.
	//
	// Deprecated: As LogLevel.
	Log func(*LogMessage)
	// Tracer observes every request and notification, in both directions. Nil disables
	// tracing at no cost.
	Tracer Tracer

	// ProtocolVersion pins the protocol revision, such as [Revision20251125]: no other is
	// offered or asked for, and the connection to a server that speaks another fails with
	// a [*ProtocolVersionError]. Default: the newest that the server speaks.
	ProtocolVersion string

	// ConnectTimeout bounds the making of a connection, handshake included. A server that
	// does not answer discover, with which revision 2026-07-28 begins, within a third of it
	// is sent initialize. Default: 30 s.
	ConnectTimeout time.Duration
	// IdleTimeout is how long a call may go without an answer or progress.
	// Default: 60 s.
	IdleTimeout time.Duration
	// CallTimeout bounds a call as a whole, whatever its progress.
	// Default: 10 min.
	CallTimeout time.Duration

	// HealthInterval is how long the server may be silent before it is asked for
	// a sign of life, if nothing is asked of it otherwise. A server that leaves
	// three pings in a row unanswered, while no request is on its way or may
	// still run and its process does no work, gets a new connection. After three
	// requests in a row that were given up without a sign of life since, only
	// requests from before the first of them count, as long as they are not given up.
	// Connections without state are not pinged. A request that was given up may still run
	// for as long as CallTimeout. Default: 1 min. Negative: never.
	HealthInterval time.Duration

	Limits

	// TrustAnnotations lets the client repeat a call of unknown outcome if the server
	// annotates the tool as read-only or idempotent. Set it only for a trusted server.
	TrustAnnotations bool
}

// Limits bound what a client sends and keeps. Zero: the default. Negative: none.
type Limits struct {
	// MaxInFlight bounds the requests that wait for the server at one time;
	// further ones wait for their turn. Default: 64.
	MaxInFlight int
	// MaxQueued bounds those that wait for their turn; further ones fail with a [*BusyError],
	// and so do those whose parameters would make more than 64 MiB wait. Where users share
	// the client, see session.WithUser, requests are sent in turns, one of each user, who may
	// have as many waiting, in number and bytes, as are left for the others: half of the queue
	// alone, a third beside one other. Requests of no user can fill it. Default: 1,024.
	MaxQueued int
	// MaxArguments bounds the parameters of a request, such as the arguments of a tool, and what
	// a handler answers a server, in bytes. More is not sent, and fails with a [*LimitError]: many
	// servers end at a message that is too large for them, with the calls of all users. The
	// official libraries for TypeScript and Go take 10 and 16 MiB. Default: 8 MiB.
	MaxArguments int64
	// MaxTools bounds the server's list of tools. Default: 5,000.
	MaxTools int
}

const (
	defaultConnectTimeout = 30 * time.Second
	// closeTimeout is how long Close waits for handlers, such as Elicit, that do not return
	// when their context ends.
	closeTimeout = 5 * time.Second
	// maxQueuedBytes bounds the parameters of the requests that wait for their turn.
	maxQueuedBytes = 64 << 20
	// maxPages bounds the pages of each of the server's lists, and maxCatalog their bytes.
	maxPages   = 1_000
	maxCatalog = 32 << 20

	// noTimeout is a limit of time that is none: one that is never over, and that can
	// be added to a time without overflow.
	noTimeout = 100 * 365 * 24 * time.Hour
)

// withDefaults returns a copy of o in which every limit is set.
func (o *ClientOptions) withDefaults() ClientOptions {
	var c ClientOptions
	if o != nil {
		c = *o
	}
	c.Implementation = cmp.Or(c.Implementation, &Implementation{Name: "mcpbelt", Version: "0"})
	c.Logger = cmp.Or(c.Logger, slog.New(slog.DiscardHandler))
	setLimit(&c.ConnectTimeout, defaultConnectTimeout, noTimeout)
	setLimit(&c.IdleTimeout, time.Minute, noTimeout)
	setLimit(&c.CallTimeout, 10*time.Minute, noTimeout)
	c.HealthInterval = cmp.Or(c.HealthInterval, time.Minute)
	setLimit(&c.MaxInFlight, 64, math.MaxInt)
	setLimit(&c.MaxQueued, 1_024, math.MaxInt)
	setLimit(&c.MaxArguments, 8<<20, math.MaxInt64)
	setLimit(&c.MaxTools, 5_000, math.MaxInt)
	setLimit(&c.MaxQuestions, 16, math.MaxInt)
	if c.LogLevel != "" {
		if err := validLevel(c.LogLevel); err != nil {
			c.Logger.Warn("mcp: the server will not be asked to log", "error", err)
			c.LogLevel = ""
		}
	}
	return c
}

// probeTimeout is how long the server may take to answer discover.
func (o *ClientOptions) probeTimeout() time.Duration {
	if o.ConnectTimeout == noTimeout {
		return defaultConnectTimeout / 3
	}
	return o.ConnectTimeout / 3
}

// setLimit sets a limit that is 0 to its default, and a negative one to none, a value
// that nothing exceeds.
func setLimit[N ~int | ~int64](limit *N, standard, none N) {
	switch {
	case *limit == 0:
		*limit = standard
	case *limit < 0:
		*limit = none
	}
}

// protocol.ExtensionTasks is the extension of revision 2026-07-28 that lets a server
// answer with a task.

// capabilities returns what the client declares: for revision 2026-07-28, which is modern,
// or for the older ones.
func (o *ClientOptions) capabilities(modern bool) map[string]any {
	type set map[string]any
	caps := set{}
	if o.Elicit != nil || o.ElicitURL != nil {
		modes := set{}
		if o.Elicit != nil {
			modes["form"] = set{}
		}
		if o.ElicitURL != nil {
			modes["url"] = set{}
		}
		caps["elicitation"] = modes
	}
	if o.Sample != nil {
		sampling := set{}
		if o.SampleTools {
			sampling["tools"] = set{}
		}
		caps["sampling"] = sampling
	}
	if o.declares(protocol.ListRoots) {
		roots := set{}
		if !modern {
			roots["listChanged"] = true
		}
		caps["roots"] = roots
	}
	extensions := set{}
	if o.Tasks && modern {
		extensions[protocol.ExtensionTasks] = set{}
	}
	for name, settings := range o.Extensions {
		if extensions[name] = settings; settings == nil {
			extensions[name] = set{}
		}
	}
	if len(extensions) > 0 {
		caps["extensions"] = extensions
	}
	return caps
}

// requestMeta returns what a stateless revision wants in _meta of every request.
func (o *ClientOptions) requestMeta(version string) []byte {
	meta := []byte{}
	add := func(key string, value any) {
		if text, err := json.Marshal(value); err == nil { // but for settings of an extension all can be encoded
			meta = fmt.Appendf(meta, "%q:%s,", key, text)
		}
	}
	add(protocol.MetaVersion, version)
	add(protocol.MetaClient, o.Implementation)
	add(protocol.MetaCapabilities, o.capabilities(true))
	return meta
}

// initializeParams returns the parameters of initialize, with which the client offers a
// revision.
func (o *ClientOptions) initializeParams(revision string) (json.RawMessage, error) {
	return json.Marshal(map[string]any{
		"protocolVersion": revision,
		"capabilities":    o.capabilities(false),
		"clientInfo":      o.Implementation,
	})
}

// fits returns the error of a request with so many bytes of parameters, or nil.
func (o *ClientOptions) fits(bytes int64) error {
	if bytes <= o.MaxArguments {
		return nil
	}
	return WithOutcome(fmt.Errorf("it has %d bytes of arguments: %w: set maxArgumentBytes in \"limits\" of the server's entry, or MaxArguments of ClientOptions, if the server takes more",
		bytes, &LimitError{"argument bytes", o.MaxArguments}), NotSent)
}

// pinned reports whether the client speaks one revision only.
func (o *ClientOptions) pinned() bool { return o.ProtocolVersion != "" }

// declares reports whether the server was told that there is a handler for the method.
func (o *ClientOptions) declares(method string) bool {
	switch method {
	case protocol.Elicit:
		return o.Elicit != nil || o.ElicitURL != nil
	case protocol.Sample:
		return o.Sample != nil
	case protocol.ListRoots:
		return o.ListRoots != nil
	}
	return false
}

// maxHandlers is how many handlers run at a time: as many as requests can be under way, if the
// program wants no limit to what servers ask, since it has many users.
func (o *ClientOptions) maxHandlers() int {
	if o.MaxQuestions < math.MaxInt {
		return maxServerRequests
	}
	return min(max(maxServing, o.MaxInFlight), 4096)
}

func (o *ClientOptions) maxQuestions() int64 {
	const most = 1 << 20 // more is no bound
	return int64(min(o.MaxQuestions, most))
}

// declaresTasks reports whether a server of revision 2026-07-28 is told that it
// may answer with a task.
func (o *ClientOptions) declaresTasks() bool {
	_, by := o.Extensions[protocol.ExtensionTasks]
	return o.Tasks || by
}
