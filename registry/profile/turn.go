package profile

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/toolset"
)

// TurnOptions are the options of a [Turn]. Nil and the zero value mean the defaults.
type TurnOptions struct {
	// Options say how the tools are compiled.
	Options
	// Finder lets the model search for tools if there are too many for one request. It
	// is one of the registry. Nil: all tools go with the request, and it is an error if they
	// are more than the provider takes: 128 for [OpenAI] and [OpenAIStrict], deferred ones
	// not counted, and 512 for [Gemini].
	Finder *toolset.Finder
	// Toolset says when there are too many tools for one request. Without a Finder or
	// ProviderSearch it has one effect: MaxTools, if it is negative or more than the provider
	// is known to take, says that the server takes as many as there are. Nil: its defaults.
	Toolset *toolset.SetOptions
	// ProviderSearch lets the provider search in place of the Finder, which may be nil:
	// all tools go with the request, and those that it would have to search for are deferred. It has an
	// effect on [OpenAI], [OpenAIStrict] and [Anthropic], in the API of the latter and
	// the Responses API of the former; the adapter adds the provider's search tool.
	ProviderSearch bool
	// Keep leaves out the tools for which it returns false. A model that names one of
	// them may call it all the same: the registry decides what may be called. Nil: all.
	Keep func(*registry.Definition) bool
	// TextOnly says that the model takes nothing but text: of images and files it gets
	// one line each.
	TextOnly bool
	// Direct gets each result that is for the user and not for the model, see
	// [registry.Definition].ReturnDirect, and the model gets [result.Withheld]. It is
	// called while the call runs, from several goroutines at the same time, and not for
	// results with IsError. Nil: there is no such way to the user, and the model gets the
	// result.
	Direct func(ctx context.Context, a Answer)
	// Progress gets what the tools report while a call runs, with that call: two calls of
	// one tool are told apart by their IDs. It is called as the function of
	// [registry.WithProgress] is, in whose place it stands: for each call in order, and
	// for several calls at the same time. A call that waited for an approval reports to
	// the context of [registry.Registry.Approve] instead. Nil: the function of the context,
	// if there is one.
	Progress func(c Call, p *mcp.ProgressParams)
	// MaxParallel is how many calls of one message run at the same time; 1: one after
	// the other. Default: 16; negative: any number.
	MaxParallel int
}

const defaultParallel = 16

// A Turn is what a model is told of in one request, and the way back of the calls
// that it answers with. Make one for each request: it has the tools that are listed,
// and that the user of the context may call, at that moment. It does not change, and is
// safe for concurrent use.
type Turn struct {
	set      *Set
	registry *registry.Registry
	parallel int
	direct   func(context.Context, Answer)
	progress func(Call, *mcp.ProgressParams)
}

// NewTurn returns the tools of a registry for the user of ctx, as a provider takes
// them. The registry remembers the compiled form of a tool until the tool changes, in at
// most 8 forms: one for each provider and use by programs. The error says that the provider
// is not known, or that there are more tools than it takes.
func NewTurn(ctx context.Context, r *registry.Registry, p Provider, opts *TurnOptions) (*Turn, error) {
	o := *cmp.Or(opts, new(TurnOptions))
	if ctx == nil || r == nil {
		return nil, errors.New("profile: NewTurn: the context or the registry is nil")
	}
	if o.Finder != nil && o.Finder.Registry() != r {
		return nil, errors.New("profile: NewTurn: the finder is of another registry")
	}
	d, ok := rulesOf(p)
	if !ok {
		return nil, unknownProvider(p)
	}
	switch {
	case o.MaxParallel == 0:
		o.MaxParallel = defaultParallel
	case o.MaxParallel < 0:
		o.MaxParallel = math.MaxInt
	}
	snapshot := r.Snapshot()
	most := d.toolsMost
	if o.Toolset != nil && (o.Toolset.MaxTools < 0 || o.Toolset.MaxTools > most) {
		most = 0
	}
	tools := o.offered(ctx, r, o.ProviderSearch && d.deferral, most)
	if o.Keep != nil {
		tools = slices.DeleteFunc(slices.Clone(tools), func(t registry.Tool) bool { return !o.Keep(t.Definition()) })
	}
	set, err := compileFrom(snapshot, p, tools, &o.Options)
	if err != nil {
		return nil, err
	}
	told := 0
	for _, tool := range set.Tools() {
		if !tool.Deferred {
			told++
		}
	}
	if most > 0 && told > most {
		return nil, fmt.Errorf("profile: %s takes %d tools in one request, and there are %d: set TurnOptions.Finder, by which the model searches for them, "+
			"leave some out by Keep, or set Toolset.MaxTools if the server takes more", p, most, told)
	}
	set.textOnly = o.TextOnly
	return &Turn{set: set, registry: r, parallel: o.MaxParallel, direct: o.Direct, progress: o.Progress}, nil
}

// offered returns the tools that the model is told of, of which a request takes so many; 0:
// any number. If the provider searches, these are all callable ones, and those that it
// searches for are deferred.
func (o *TurnOptions) offered(ctx context.Context, r *registry.Registry, search bool, most int) []registry.Tool {
	if o.Finder == nil && !search {
		return r.Callable(ctx)
	}
	var how toolset.SetOptions
	if o.Toolset != nil {
		how = *o.Toolset
	}
	how.ProviderSearch = search
	sets := func() *toolset.Set { return toolset.Of(ctx, r, &how) }
	if o.Finder != nil {
		sets = func() *toolset.Set { return o.Finder.Toolset(ctx, &how) }
	}
	set := sets()
	if most > 0 && len(set.Tools) > most {
		how.MaxTokens = 1 // it has to search, whatever they say
		set = sets()
	}
	if most > 0 && len(set.Tools) > most && how.Always == nil {
		how.Always = func(*registry.Definition, registry.Hints) bool { return false } // for native tools, too
		set = sets()
	}
	if !search || !set.Searching {
		return set.Tools
	}
	rest := make(map[*registry.Definition]bool, len(set.Deferred))
	for _, t := range set.Deferred {
		rest[t.Definition()] = true
	}
	also := o.Deferred
	o.Deferred = func(d *registry.Definition) bool { return rest[d] || also != nil && also(d) }
	all := slices.Concat(set.Tools, set.Deferred)
	slices.SortFunc(all, func(a, b registry.Tool) int { return strings.Compare(a.Definition().Name, b.Definition().Name) })
	return all
}

// Set returns the tools as the provider takes them.
func (t *Turn) Set() *Set { return t.set }
