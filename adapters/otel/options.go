package otel

import (
	"cmp"
	"context"
	"slices"

	api "go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// Options configure a [Telemetry]. The zero value, and nil, mean the defaults.
type Options struct {
	// TracerProvider makes the spans. Default: the global one.
	TracerProvider trace.TracerProvider
	// MeterProvider takes the measurements. Default: the global one.
	MeterProvider metric.MeterProvider
	// Propagator writes the context of a trace into requests, and reads it from
	// them. Default: the global one or, as long as that is not set,
	// [propagation.TraceContext]. Baggage goes out to all servers, trusted or not, if the
	// propagator knows baggage.
	Propagator propagation.TextMapPropagator
	// Attributes are those that may be recorded, of spans and of metrics; no other
	// is. Default: [DefaultAttributes].
	Attributes []attribute.Key
	// MaxNames bounds how many names of tools, prompts and methods of each server
	// are told apart, in metrics and in the names of spans. All others are _OTHER
	// there. Default: 500. Negative: none is.
	MaxNames int
}

const defaultMaxNames = 500

// The attributes of the conventions that are recorded by default, and our own.
const (
	keyMethod       = attribute.Key("mcp.method.name")
	keyProtocol     = attribute.Key("mcp.protocol.version")
	keyResource     = attribute.Key("mcp.resource.uri")
	keyOperation    = attribute.Key("gen_ai.operation.name")
	keyTool         = attribute.Key("gen_ai.tool.name")
	keyToolType     = attribute.Key("gen_ai.tool.type")
	keyCallID       = attribute.Key("gen_ai.tool.call.id")
	keyPrompt       = attribute.Key("gen_ai.prompt.name")
	keyRequestID    = attribute.Key("jsonrpc.request.id")
	keyStatus       = attribute.Key("rpc.response.status_code")
	keyError        = attribute.Key("error.type")
	keyTransport    = attribute.Key("network.transport")
	keyNetwork      = attribute.Key("network.protocol.name")
	keyAddress      = attribute.Key("server.address")
	keyPort         = attribute.Key("server.port")
	keyServer       = attribute.Key("mcpbelt.server.name")
	keyAttempts     = attribute.Key("mcpbelt.request.attempts")
	keyApproval     = attribute.Key("mcpbelt.tool.approval")
	executeTool     = "execute_tool"
	other           = "_OTHER"
	approvalWaiting = "required"
)

const (
	// SessionID is the attribute for the id of a session over HTTP. It is not among
	// [DefaultAttributes]: a reader who knows the id may get into the session of a server
	// without a login.
	SessionID = attribute.Key("mcp.session.id")
	// ToolArguments is the attribute for the arguments of a tool, as JSON. It is not
	// among [DefaultAttributes]. Secrets that can be told by their form are hidden,
	// and no more than 4 KiB are recorded.
	ToolArguments = attribute.Key("gen_ai.tool.call.arguments")
	// ToolResult is the attribute for the result of a tool, as JSON, and lets
	// messages of errors be the description of a span's status. The note on
	// [ToolArguments] holds here too.
	ToolResult = attribute.Key("gen_ai.tool.call.result")
)

// DefaultAttributes returns the attributes that are recorded if [Options] do not say
// otherwise, in a slice of the caller's own.
func DefaultAttributes() []attribute.Key {
	return []attribute.Key{
		keyMethod, keyProtocol, keyResource, keyOperation, keyTool, keyToolType, keyCallID, keyPrompt, keyRequestID, keyStatus,
		keyError, keyTransport, keyNetwork, keyAddress, keyPort, keyServer, keyAttempts, keyApproval,
	}
}

func (o *Options) withDefaults() Options {
	var c Options
	if o != nil {
		c = *o
	}
	c.TracerProvider = cmp.Or(c.TracerProvider, api.GetTracerProvider())
	c.MeterProvider = cmp.Or(c.MeterProvider, api.GetMeterProvider())
	c.Propagator = cmp.Or[propagation.TextMapPropagator](c.Propagator, globalPropagator{})
	if c.Attributes == nil {
		c.Attributes = DefaultAttributes()
	}
	c.Attributes = slices.Clone(c.Attributes)
	c.MaxNames = cmp.Or(c.MaxNames, defaultMaxNames)
	return c
}

// A globalPropagator is the global one, which may be set later.
type globalPropagator struct{}

func (globalPropagator) present() propagation.TextMapPropagator {
	if p := api.GetTextMapPropagator(); len(p.Fields()) > 0 {
		return p
	}
	return propagation.TraceContext{}
}

func (g globalPropagator) Inject(ctx context.Context, c propagation.TextMapCarrier) {
	g.present().Inject(ctx, c)
}

func (g globalPropagator) Extract(ctx context.Context, c propagation.TextMapCarrier) context.Context {
	return g.present().Extract(ctx, c)
}

func (g globalPropagator) Fields() []string { return g.present().Fields() }
