package toolset

import (
	"cmp"
	"errors"
	"sync/atomic"

	"github.com/mcpbelt/mcpbelt/registry"
)

// Options are the options of a [Finder]. Nil and the zero value mean the defaults.
type Options struct {
	// About returns what the host itself says of a tool, such as words that users have for
	// it, or a summary of what is described in another language than they speak. Tools are
	// found by it as by their descriptions; no model is shown it. A program may have a model write it when a tool is
	// accepted, and keep it with the digest of what was accepted. It is asked
	// about definitions that are new, during a search, and is a pure function, safe for
	// concurrent use. Nil, or
	// an empty text: nothing.
	About func(tool *registry.Definition) string
	// NoTools says that the Finder is for programs: it adds no tools to the registry, of
	// which there may be several Finders then.
	NoTools bool
}

// A Finder finds tools of one registry, for programs and for models. Make one with
// [New]. All methods are safe for concurrent use.
type Finder struct {
	registry *registry.Registry
	index    *searchIndex
	tools    []registry.Tool // call_tool, describe_tool and search_tools; nil: the model cannot search
	named    atomic.Pointer[namedFinder]
}

// New returns a Finder for a registry, and adds the tools search_tools, describe_tool
// and call_tool to the registry. They are hidden, see [registry.Registry.AddHidden]: a
// model is told of them by [Finder.Toolset]. The first two show what
// [registry.Registry.Callable] does, and need no approval; a call of the last is one of
// the tool that it names.
//
// A registry has one such Finder: New fails with a [*registry.DuplicateError] if a tool of
// one of these names is there, and changes nothing. With [Options].NoTools it adds none.
func New(r *registry.Registry, opts *Options) (*Finder, error) {
	if r == nil {
		return nil, errors.New("toolset: New: the registry is nil")
	}
	o := *cmp.Or(opts, new(Options))
	f := &Finder{registry: r, index: newSearchIndex(r.Names(), o.About)}
	if o.NoTools {
		return f, nil
	}
	var err error
	if f.tools, err = f.newTools(); err != nil {
		return nil, err
	}
	if err := r.AddHidden(f.tools...); err != nil {
		return nil, err
	}
	return f, nil
}

var errZero = errors.New("toolset: there is no Finder, or it is the zero one: make it with New")

// made returns errZero for the zero Finder.
func (f *Finder) made() error {
	if f == nil || f.registry == nil {
		return errZero
	}
	return nil
}

// Registry returns the registry whose tools are found.
func (f *Finder) Registry() *registry.Registry {
	if err := f.made(); err != nil {
		panic(err.Error())
	}
	return f.registry
}
