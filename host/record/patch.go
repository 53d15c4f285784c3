package record

import (
	"errors"

	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/internal/dialect"
	"github.com/mcpbelt/mcpbelt/internal/mask"
)

// Apply returns the record that p makes of r, which stays as it is. If p makes a
// remote server of a local one or the other way round, what only the former has is
// cleared.
//
// A secret that p has masked, as r showed it, stays what it is in r, each for itself:
// the value of a header, of a variable, an argument, the URL as a whole. That holds only
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
	for _, f := range p.fields(c) {
		f.apply()
	}
	if p.Transport.Set {
		c.Transport = dialect.Transport(c.Transport)
	}
	return c.clone() // shares nothing with p
}
