package registry

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/share"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry/approval"
)

// A phase is the state of a call that needs approval. Its text says why a call can no longer
// be approved.
type phase string

const (
	waits    phase = "" // for an answer
	runs     phase = "it was approved and is being made"
	done     phase = "it was approved and made" // res and err tell
	refused  phase = "it was refused"
	expired  phase = "no answer came in time"
	over     phase = "the conversation has ended"
	stale    phase = "the tool has changed, or the call is not allowed any more"
	repeated phase = "it was approved when the call was made again, and is not made twice" // see [WithAsk]
)

// A callKey tells calls apart. Models repeat themselves: a call that waits already
// is not put before the user a second time.
type callKey struct {
	grantKey
	args [sha256.Size]byte
}

func callKeyOf(ctx context.Context, e *entry, args json.RawMessage) callKey {
	return callKey{grantOf(ctx, e), sha256.Sum256(args)}
}

// A pending is a call that needs approval. All fields but those below
// mu are set once.
type pending struct {
	req    ApprovalRequest // Args are the call's own and not shared
	key    callKey
	server string        // whose tool it is; empty: a native one
	parent string        // what the call is a part of, see [WithCallID]
	whole  bool          // its result goes to a program, see [result.WithWhole]
	shows  bool          // the caller shows apps, or is one
	app    bool          // it is an app of the server
	ended  chan struct{} // closed when the outcome is set

	// The following need the lock of the approvals, except that the outcome may be
	// read once ended is closed.
	phase   phase
	dropped bool // the conversation ended while it was running
	memory  int  // what is accounted for: the call or, in ended, its outcome
	outcome outcome
	kept    time.Time // until when the outcome is kept
}

// An outcome is what came of a call.
type outcome struct {
	res    *mcp.CallToolResult
	err    error
	memory int // about how many bytes it takes
}

// newOutcome returns what comes of a call, to be kept.
func newOutcome(res *mcp.CallToolResult, err error) (o outcome) {
	o = outcome{detached(res), err, maxKept + 1}
	defer func() { _ = recover() }() // of a native tool's own types: too large to be kept
	o.memory = memoryOfResult(res) + memoryOfError(err)
	return o
}

// callOverhead is what a call takes in memory beside what it holds, while it waits and
// when its outcome is kept.
const callOverhead = 1 << 10

// texts returns how long the names are that are kept with a call.
func (p *pending) texts() int {
	return len(p.key.owner) + len(p.key.conversation) + len(p.key.tool) + len(p.req.CallID) + len(p.parent)
}

// owner returns whose outcome it is.
func (p *pending) owner() share.Owner {
	return share.Owner{User: p.key.owner, Server: p.server}
}

func (p *pending) denied(reason string) outcome {
	return newOutcome(nil, &approval.DeniedError{Tool: p.key.tool, Reason: reason})
}

// maxKept bounds the calls that wait, and the outcomes that are kept for
// [Registry.Await], each together and in bytes of memory.
const maxKept = 64 << 20

// How much memory something takes is estimated, rather as more than as less.

// memoryOfResult returns about how many bytes a result takes: its texts and bytes, and 64
// times what is left as JSON, for so much a decoded _meta can take. It panics for holes.
func memoryOfResult(res *mcp.CallToolResult) int {
	if res == nil {
		return 0
	}
	total, rest := 0, *res
	rest.Content = make([]mcp.Content, len(res.Content))
	for i, block := range res.Content {
		switch c := block.(type) {
		case *mcp.TextContent:
			b := *c
			total, b.Text, block = total+len(b.Text), "", &b
		case *mcp.ImageContent:
			b := *c
			total, b.Data, block = total+len(b.Data), nil, &b
		case *mcp.AudioContent:
			b := *c
			total, b.Data, block = total+len(b.Data), nil, &b
		case *mcp.EmbeddedResource:
			b, r := *c, *c.Resource
			total += len(r.Text) + len(r.Blob)
			r.Text, r.Blob, b.Resource, block = "", nil, &r, &b
		}
		rest.Content[i] = block
	}
	if raw, ok := res.StructuredContent.(json.RawMessage); ok {
		total, rest.StructuredContent = total+len(raw), nil
	}
	data, err := json.Marshal(&rest)
	if err != nil {
		return maxKept + 1
	}
	return total + 64*len(data)
}

// memory returns about how many bytes a definition takes.
func (d *Definition) memory() int {
	total := len(d.called()) + len(d.Title) + len(d.Description) + len(d.InputSchema) + len(d.OutputSchema) + len(d.RawAnnotations) + len(d.Raw)
	if d.served != nil {
		total += d.served.memory()
	}
	return total
}

// memoryOfError returns about how many bytes an error takes, as far as that can be
// known: those that hold what a server sent are.
func memoryOfError(err error) int {
	if err == nil {
		return 0
	}
	total := 512 + len(err.Error()) // what it takes beside what it holds, and its text
	if answered, _ := errors.AsType[*mcp.JSONRPCError](err); answered != nil {
		total += len(answered.Message) + len(answered.Data)
	}
	if output, _ := errors.AsType[*mcp.OutputError](err); output != nil {
		total += memoryOfResult(output.Result)
	}
	if unusable, _ := errors.AsType[*ResultError](err); unusable != nil {
		total += memoryOfResult(unusable.Result)
	}
	if panicked, _ := errors.AsType[*PanicError](err); panicked != nil {
		total += len(panicked.Stack)
	}
	return total
}

// detached returns a copy of a result, which shares its blocks, has no raw form, and does
// not keep the whole message alive that it came in.
func detached(res *mcp.CallToolResult) *mcp.CallToolResult {
	res = shared(res).CheckRaw(func(json.RawMessage) bool { return false })
	if res != nil {
		if raw, ok := res.StructuredContent.(json.RawMessage); ok {
			res.StructuredContent = json.RawMessage(bytes.Clone(raw))
		}
	}
	return res
}

// shared returns a copy of a result for one of several who get it.
func shared(res *mcp.CallToolResult) *mcp.CallToolResult {
	if res == nil {
		return nil
	}
	c := *res
	c.Content = slices.Clone(res.Content)
	return &c
}
