package record

import (
	"cmp"
	"errors"
	"reflect"
	"slices"

	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/internal/dialect"
)

// A Patch says what to change of a record: the fields that Keys names become what they are
// in Values, where the zero value clears; the others stay. Maps and lists are replaced as a whole.
//
// In JSON a patch is an object of the keys of [Encode]: an absent key stays and null
// clears.
type Patch struct {
	Values config.Server // of the fields that Keys names; no other field of it counts
	Keys   []string      // in JSON, such as "enabled" for Disabled; see the tags of [config.Server]

	// Revision, if not empty, is the one that the record must have, for functions that
	// apply the patch to a store. [Patch.Apply] does not look at it.
	Revision Revision
}

// Switch returns the patch that switches a server on or off.
func Switch(on bool) *Patch {
	return &Patch{Keys: []string{"enabled"}, Values: config.Server{Disabled: !on}}
}

// Says reports whether p changes the field of a key. A nil Patch changes none.
func (p *Patch) Says(key string) bool { return p != nil && slices.Contains(p.Keys, key) }

// Apply returns the record that p makes of r, which stays as it is. If p makes a
// remote server of a local one or the other way round, what only the former has is
// cleared.
//
// A secret that p has masked, as r showed it, stays what it is in r, each for itself:
// the value of a header, of a variable, an argument, the URL as a whole. That holds only
// while scheme and host of the URL stay the same, or the command (and the image that it
// runs in): else a user who sees no secret could have one sent to any place. For the
// same reason a change of these is an error of the code "secret_moved" if r has secrets that
// p neither says anew nor clears; a reference is no secret. A mask of nothing that is
// stored is an error of the code "mask_unmatched".
//
// The result is validated, but for a name that stays: files have names that no new
// record may have. The error is of [*Error] values, joined.
//
// A nil Patch changes nothing, and a nil record is an empty one.
func (p *Patch) Apply(r *config.Server) (*config.Server, error) {
	p, r = cmp.Or(p, new(Patch)), Of(cmp.Or(r, new(config.Server)))
	next := p.onto(r)
	e := &echo{old: r, next: next}
	e.restore(p.Says)
	if next.Builtin != r.Builtin {
		e.fail(CodeBuiltinReadOnly, "builtin")
	}
	for _, key := range p.Keys {
		if _, known := fieldOf(reflect.ValueOf(*r), key); !known {
			e.fail(codeFieldUnknown, key)
		}
	}
	errs := append(e.errs, faults(next, next.Title != r.Title)...)
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return next, nil
}

// onto returns r with what p says, masks as they are.
func (p *Patch) onto(r *config.Server) *config.Server {
	said, c := &config.Server{}, Of(r)
	p.copyTo(said)
	kind := dialect.Transport(said.Transport)
	remote := said.URL != "" || kind != "" && kind != config.TransportStdio
	local := said.Command != "" || kind == config.TransportStdio
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
	p.copyTo(c)
	if p.Says("transport") {
		c.Transport = kind
	}
	return called(c, c.Title)
}

// copyTo makes the fields of r that p names what they are in p, with which they share nothing.
func (p *Patch) copyTo(r *config.Server) {
	from, to := reflect.ValueOf(Of(&p.Values)).Elem(), reflect.ValueOf(r).Elem()
	for _, key := range p.Keys {
		if field, known := fieldOf(to, key); known {
			value, _ := fieldOf(from, key)
			field.Set(value)
		}
	}
}
