package landlock

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/transport"
)

// Options are the options of [New]. Nil and the zero value mean the defaults.
type Options struct {
	// Read holds the absolute folders and files that servers may read and execute, in
	// addition to their mounts and their program. Nil: all. If it is set it must
	// hold what programs need, such as /usr, /lib, /lib64, /bin, /etc and /proc; what
	// does not exist is passed over.
	Read []string
}

// An isolator confines local servers.
type isolator struct {
	read []string
}

// New returns what confines local servers, to be used for the kind [config.IsolationLandlock]. It
// is safe for concurrent use.
func New(opts *Options) host.Isolator {
	i := &isolator{read: []string{"/"}}
	if opts != nil && opts.Read != nil {
		i.read = slices.Clone(opts.Read)
	}
	return i
}

// Isolate implements [host.Isolator]. It fails with a [*host.IsolationError] where
// the kernel cannot do what the entry wants, and if the entry wants what only a
// container has. The result is good for one start.
func (i *isolator) Isolate(ctx context.Context, e *config.Server, c *transport.Command) (*transport.Command, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if e == nil || e.Isolation == nil || c == nil {
		return nil, errors.New("landlock: an entry with an isolation and its command are required")
	}
	w := confinement{network: e.Isolation.Network, temp: !setsTemp(c.Env), read: i.read}
	err := w.mounts(e.Isolation)
	if err == nil {
		err = possible(&w)
	}
	if err != nil {
		return nil, &host.IsolationError{Server: e.Name, Source: e.Source.String(), Kind: config.IsolationLandlock, Err: err}
	}
	confined := *c
	p := &process{confinement: w, before: c.Ended}
	confined.Start, confined.Ended = p.start, p.ended
	return &confined, nil
}

// A confinement is what an entry asks for.
type confinement struct {
	read    []string // files and folders that may be read; what is not there is passed over
	see     []string // likewise, but they must be there
	write   []string // files and folders that may be changed
	network bool
	temp    bool // a temporary folder is to be made
}

// mounts takes over the mounts of an entry.
func (w *confinement) mounts(i *config.Isolation) error {
	if i.Image != "" || len(i.Args) > 0 {
		return errors.New("\"image\" and \"args\" are for the kind \"docker\": remove them")
	}
	for _, path := range w.read {
		if !filepath.IsAbs(path) {
			return fmt.Errorf("the path %q of Options.Read is not absolute", path)
		}
	}
	for _, m := range i.Mounts {
		switch {
		case !filepath.IsAbs(m.Path):
			return fmt.Errorf("the path %q of \"mounts\" is not absolute", m.Path)
		case m.Target != "" && m.Target != m.Path:
			return fmt.Errorf("the path %q of \"mounts\" cannot be seen as %q: only a container moves folders; remove \"target\"", m.Path, m.Target)
		}
		if _, err := os.Stat(m.Path); err != nil {
			return fmt.Errorf("a folder of \"mounts\": %w", err)
		}
		if m.Write {
			w.write = append(w.write, m.Path)
		} else {
			w.see = append(w.see, m.Path)
		}
	}
	return nil
}

const tempVariable = "TMPDIR"

// setsTemp reports whether the entry says itself where temporary files go.
func setsTemp(env []string) bool {
	return slices.ContainsFunc(env, func(v string) bool { return strings.HasPrefix(v, tempVariable+"=") })
}
