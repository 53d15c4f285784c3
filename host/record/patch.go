package record

import (
	"errors"
	"maps"
	"slices"

	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/internal/dialect"
	"github.com/mcpbelt/mcpbelt/internal/mask"
)

// Apply returns the record that p makes of r, which stays as it is. If p makes a
// remote server of a local one or the other way round, what only the former has is
// cleared.
//
// A secret that p has masked, as r showed it, stays what it is in r, each for itself:
// the value of a header, of a variable, an argument, a part of the URL. That holds only
// while scheme and host of the URL stay the same, or the command (and the image that it
// runs in): else a user who sees no secret could have one sent to any place. For the
// same reason a change of these is an error of [CodeSecretMoved] if r has secrets that
// p neither says anew nor clears; a reference is no secret. A mask of nothing that is
// stored is an error of [CodeMaskUnmatched].
//
// The result is validated, but for a name that stays: files have names that no new
// record may have. The error is of [*Error]s, joined.
func (r *Record) Apply(p *Patch) (*Record, error) {
	if p == nil {
		p = &Patch{}
	}
	next := p.onto(r)
	e := &echo{old: r, next: next, masker: mask.New()}
	e.restore(p)
	if p.builtin.Set && p.builtin.Value != r.Builtin {
		e.fail(CodeBuiltinReadOnly, "builtin")
	}
	errs := append(e.errs, next.faults(next.Name != r.Name)...)
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return next, nil
}

// onto returns r with what p says, masks as they are.
func (p *Patch) onto(r *Record) *Record {
	c := r.clone()
	kind := dialect.Transport(p.Transport.Value)
	remote := p.URL.Value != "" || kind != "" && kind != config.TransportStdio
	local := p.Command.Value != "" || kind == config.TransportStdio
	switch {
	case remote && !local && r.Command != "":
		c.Command, c.Args, c.Env, c.Cwd, c.Isolation, c.Transport = "", nil, nil, "", nil, ""
	case local && !remote && r.URL != "":
		c.URL, c.Headers, c.Auth, c.Transport = "", nil, nil, ""
		c.Proxy, c.TLS = "", nil
		c.UserHeader = ""
		if c.Identity == config.IdentityHeader {
			c.Identity = ""
		}
	}
	c.Name = p.Name.or(c.Name)
	c.Description = p.Description.or(c.Description)
	if p.Transport.Set {
		c.Transport = dialect.Transport(p.Transport.Value)
	}
	c.URL = p.URL.or(c.URL)
	c.Headers = maps.Clone(p.Headers.or(c.Headers))
	c.Command = p.Command.or(c.Command)
	c.Args = slices.Clone(p.Args.or(c.Args))
	c.Env = maps.Clone(p.Env.or(c.Env))
	c.Cwd = p.Cwd.or(c.Cwd)
	c.Disabled = p.Disabled.or(c.Disabled)
	c.Proposed = p.Proposed.or(c.Proposed)
	c.Required = p.Required.or(c.Required)
	c.Lazy = p.Lazy.or(c.Lazy)
	c.Trust = p.Trust.or(c.Trust)
	c.Quarantined = p.Quarantined.or(c.Quarantined)
	c.Ledger = p.Ledger.or(c.Ledger)
	c.ConnectTimeout = p.ConnectTimeout.or(c.ConnectTimeout)
	c.ReadTimeout = p.ReadTimeout.or(c.ReadTimeout)
	c.IdleTimeout = p.IdleTimeout.or(c.IdleTimeout)
	c.Identity = p.Identity.or(c.Identity)
	c.UserHeader = p.UserHeader.or(c.UserHeader)
	c.Proxy = p.Proxy.or(c.Proxy)
	c.TLS = p.TLS.or(c.TLS)
	c.Auth = p.Auth.or(c.Auth)
	c.Isolation = p.Isolation.or(c.Isolation)
	c.Limits = p.Limits.or(c.Limits)
	c.Tools = p.Tools.or(c.Tools)
	return c.clone() // shares nothing with p
}
