package registry

import (
	"cmp"
	"context"
	"slices"

	"github.com/mcpbelt/mcpbelt/registry/gate"
	"github.com/mcpbelt/mcpbelt/registry/ledger"
)

// Add adds native tools, all of them or, on error, none. The tools of a server are put in
// place by [Registry.Replace].
//
// A name that is taken, or given twice, fails with a [*DuplicateError]; a tool
// that cannot be listed, nil and one of a server included, fails with a [*DefinitionError].
func (r *Registry) Add(tools ...Tool) error { return r.addAll(tools, false) }

// AddHidden adds native tools that can be called by name and are not listed: neither
// [Snapshot.Tools] nor [Registry.Callable] has them. Calls of them need no approval, so
// they must show or do nothing that the user of the context may not see or do. They
// stay when the native tools are replaced. Package registry/toolset adds the tools by
// which a model finds others. A call of a hidden tool with the method
//
//	Target(args json.RawMessage) (name string, inner json.RawMessage, err error)
//
// is one of the tool that Target names.
//
// The errors are those of [Registry.Add].
func (r *Registry) AddHidden(tools ...Tool) error { return r.addAll(tools, true) }

func (r *Registry) addAll(tools []Tool, hidden bool) error {
	if err := r.made(); err != nil {
		return err
	}
	offers, err := r.newOffers("", tools)
	if err != nil {
		return err
	}
	for _, o := range offers {
		o.hidden = hidden
		if err := o.def.validate(); err != nil {
			return err
		}
		o.complete(nil, nil)
	}
	unlock, _ := r.replacing.Lock(context.Background(), "") // it fails if its context ends
	defer unlock()
	r.mu.Lock()
	defer r.mu.Unlock()
	before := r.current()
	taken := map[string]*offer{}
	for _, o := range offers {
		holder := taken[o.def.Name]
		if e := before.find(o.def.Name); e != nil {
			holder = e.offer
		}
		if holder != nil {
			return &DuplicateError{Name: o.def.Name, Holder: holder.def.Origin, Refused: o.def.Origin}
		}
		taken[o.def.Name] = o
	}
	if len(offers) == 0 {
		return nil
	}
	if s := r.catalogue.servers[""]; s != nil {
		offers = slices.Concat(s.offers, offers)
	}
	r.catalogue.servers[""] = &offering{offers: offers}
	r.publish("", new(Diff))
	return nil
}

// Replace makes tools all the tools of a server, in one step: every tool whose
// Origin.Server is its name is swapped for them. The facts about the server are replaced
// as well. A [Server] without a name stands for the native tools; its other fields have
// no effect.
//
// A tool whose name is held by another origin, or comes twice in tools, is
// rejected and the first holder keeps the name; so is a tool whose name or
// schema cannot be listed, or that the gate does not let in. The other tools are
// not affected. A rejected tool stays out, even if its name becomes free, until the
// next Replace offers it again.
//
// A tool that the [ledger.Ledger] holds back is not listed; [Snapshot.Quarantined] has
// it, and it is listed as soon as it is accepted.
//
// If no definition differs, no new version is published and no watcher is woken,
// yet the new Tool values are in place: a reconnected server's tools call its new
// client from now on. So hold on to names, not to tools, and call through
// [Registry.Call].
//
// A [*DefinitionError] means that nothing was done: a tool is nil, has no
// definition, or has an Origin.Server other than the name of the server. A [*ledger.Error] means that
// the ledger could not be written, and so approves nothing that is new: the tools
// are in place as the Diff says, and the new and changed ones are held back.
// Replace them again when that is put right.
//
// The tool read_result, see [result.Options], and hidden tools, see
// [Registry.AddHidden], are not among those that are replaced.
func (r *Registry) Replace(server Server, tools []Tool) (Diff, error) {
	name, facts := server.Name, &server
	if name == "" {
		facts = nil
	}
	if err := r.made(); err != nil {
		return Diff{}, err
	}
	offers, err := r.newOffers(name, tools)
	if err != nil {
		return Diff{}, err
	}
	unlock, _ := r.replacing.Lock(context.Background(), name)
	defer unlock()
	var diff Diff
	known := r.offering(name).offers
	offers = r.examine(facts, append(staying(known, offers), offers...), known, &diff)
	// A server that offers nothing is not made known by it, unless it has instructions: it may
	// only have gone away, before anything of it was seen.
	var unnoted error // the ledger does not let pass what it could not note
	if r.ledger != nil && facts != nil && (len(offers) > 0 || server.Instructions != nil && *server.Instructions != "") {
		unnoted = r.ledger.Record(context.Background(), server.ledger(), surfacesOf(offers))
	}

	r.mu.Lock()
	defer r.mu.Unlock()
	r.current()
	r.catalogue.set(name, &offering{server: facts, offers: offers})
	for _, refusal := range r.publish(name, &diff) {
		o := refusal.offer
		diff.reject(o.def.Name, &DuplicateError{Name: o.def.Name, Holder: refusal.holder.def.Origin, Refused: o.def.Origin})
	}
	diff.finish(r.catalogue.servers[name])
	return diff, unnoted
}

// staying returns offers to go on with of those before: hidden tools, and
// read_result if it is not in offers.
func staying(before, offers []*offer) []*offer {
	given := slices.ContainsFunc(offers, func(o *offer) bool { return isReader(o.tool) })
	var stay []*offer
	for _, o := range before {
		if o.hidden || isReader(o.tool) && !given {
			stay = append(stay, &offer{entry: o.entry, derived: o.derived})
		}
	}
	return stay
}

// Remove takes tools out of the catalogue, listed or not. Names that are not in it
// are ignored. A server's tools come back with its next [Registry.Replace].
func (r *Registry) Remove(names ...string) {
	r.mustBeMade()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.current()
	named := func(o *offer) bool { return slices.Contains(names, o.def.Name) }
	for _, s := range r.catalogue.servers {
		for _, o := range s.offers {
			if named(o) {
				r.catalogue.withdraw(o)
			}
		}
		s.offers = slices.DeleteFunc(slices.Clone(s.offers), named)
	}
	if len(r.catalogue.gone) > 0 {
		r.publish("", new(Diff))
	}
}

// offering returns what is known of a server, and what it offers.
func (r *Registry) offering(name string) offering {
	r.mu.Lock()
	defer r.mu.Unlock()
	if s := r.catalogue.servers[name]; s != nil {
		return *s
	}
	return offering{}
}

// examine completes offers of a server, and returns those that can be listed.
// Before are its offers up to now.
func (r *Registry) examine(server *Server, offers, before []*offer, diff *Diff) []*offer {
	type origin struct{ name, tool string }
	known := make(map[origin]*offer, len(before))
	for _, o := range before {
		known[origin{o.def.Name, o.def.Origin.Tool}] = o
	}
	said := make([]*ledger.Tool, len(offers)) // which is what the gate looks at
	for i, o := range offers {
		said[i] = o.def.said()
	}
	var excess, looks map[*ledger.Tool]gate.Finding
	var other func(string) (string, bool)
	if server != nil {
		excess = gate.Admit(said)
		looks = gate.Lookalikes(said)
		other = r.Snapshot().others(server.Name, said)
	}
	served := map[string]*offer{}
	stays := make([]*offer, 0, len(offers))
	for i, o := range offers {
		if err := o.def.validate(); err != nil {
			diff.reject(o.def.Name, err)
			continue
		}
		offered := o.def
		if server != nil {
			o.tool, o.def = listedForm(o.tool, o.def, server.Trusted)
		}
		like := known[origin{o.def.Name, o.def.Origin.Tool}]
		o.complete(server, like)
		if server != nil {
			if f, ok := excess[said[i]]; ok {
				o.findings = []gate.Finding{f}
			}
			if len(o.findings) == 0 || o.findings[0].Severity < gate.Block {
				if o.as(like) {
					o.checked = like.checked
				} else {
					o.checked = gate.Check(said[i])
					o.memory.examined = o.def == offered
				}
				if f, ok := looks[said[i]]; ok {
					o.findings = append([]gate.Finding{f}, o.findings...)
				}
				o.findings = gate.Merge(o.findings, o.checked, gate.References(server.Name, said[i], other))
			}
			if len(o.findings) > 0 && o.findings[0].Severity >= gate.Block {
				diff.reject(o.def.Name, &gate.Error{Server: server.Name, Tool: o.def.called(), Findings: o.findings})
				continue
			}
			// The server has this tool twice, and says two things of it.
			called := o.surface.Tool
			if first := served[called]; first != nil && first.surface.Hash != o.surface.Hash {
				diff.reject(o.def.Name, &DuplicateError{Name: o.def.Name, Holder: first.def.Origin, Refused: o.def.Origin})
				continue
			}
			served[called] = o
		}
		stays = append(stays, o)
	}
	return stays
}

// surfacesOf returns what a server says of its tools.
func surfacesOf(offers []*offer) []*ledger.Surface {
	surfaces := make([]*ledger.Surface, len(offers))
	for i, o := range offers {
		surfaces[i] = o.surface
	}
	return surfaces
}

// A Diff tells what [Registry.Replace] did to the catalogue. All lists are sorted
// by name.
type Diff struct {
	Added    []string    // names that are new
	Removed  []string    // names that are gone
	Changed  []string    // names whose definition is a different one now
	Rejected []Rejection // tools that are not known to the registry
	// Quarantined are the tools of the server that wait for approval,
	// whether they were known before or not.
	Quarantined []Quarantined
}

// A Rejection is a tool that [Registry.Replace] did not take.
type Rejection struct {
	Name string // name of the tool
	Err  error  // why: a [*DuplicateError], a [*DefinitionError] or a [*gate.Error]
}

// reject adds a rejection.
func (d *Diff) reject(name string, err error) {
	d.Rejected = append(d.Rejected, Rejection{name, err})
}

// compare notes the differences between two sorted lists, and reports whether
// there are any, in quarantine or out of it.
func (d *Diff) compare(before, after []*entry) (differs bool) {
	for len(before) > 0 || len(after) > 0 {
		var b, a *entry // of one name; nil: there is none
		if len(after) == 0 || len(before) > 0 && before[0].def.Name <= after[0].def.Name {
			b, before = before[0], before[1:]
		}
		if len(after) > 0 && (b == nil || b.def.Name == after[0].def.Name) {
			a, after = after[0], after[1:]
		}
		if b == a {
			continue
		}
		was, is := b != nil && b.change == nil, a != nil && a.change == nil
		switch {
		case was && !is:
			d.Removed = append(d.Removed, b.def.Name)
		case is && !was:
			d.Added = append(d.Added, a.def.Name)
		case b == nil || a == nil: // it is, or was, in quarantine
		case !b.def.equal(a.def):
			if is {
				d.Changed = append(d.Changed, a.def.Name)
			}
		case b.change.Same(a.change):
			continue
		}
		differs = true
	}
	return differs
}

// finish completes a diff for what a server offers; nil: nothing.
func (d *Diff) finish(s *offering) {
	if s != nil {
		for _, o := range s.offers {
			if e := o.placed.Load(); e != nil && e.change != nil {
				d.Quarantined = append(d.Quarantined, Quarantined{Tool: e.def, Change: e.change})
			}
		}
	}
	slices.SortFunc(d.Quarantined, func(a, b Quarantined) int { return cmp.Compare(a.Tool.Name, b.Tool.Name) })
	slices.SortStableFunc(d.Rejected, func(a, b Rejection) int { return cmp.Compare(a.Name, b.Name) })
}

// A Preview is what [Registry.Replace] would make of the tools of a server.
// All lists are in the order in which the tools were given.
type Preview struct {
	// Listed are the tools that would be listed.
	Listed []Previewed
	// Quarantined are those that the ledger would hold back.
	Quarantined []Quarantined
	// Rejected are those that would not be taken.
	Rejected []Rejection
}

// A Previewed is a tool that would be listed.
type Previewed struct {
	Tool *Definition // under the name that it would have
	// Findings is what the gate would say of it, though it would let it in.
	Findings []gate.Finding
}

// Preview says what would become of the tools of a server if they were given to
// [Registry.Replace] now. It changes nothing: neither the catalogue nor the
// ledger, of which it asks what it knows by now, without reading its file again.
func (r *Registry) Preview(server Server, tools []Tool) (Preview, error) {
	if err := r.made(); err != nil {
		return Preview{}, err
	}
	offers, err := r.newOffers(server.Name, tools)
	if err != nil {
		return Preview{}, err
	}
	var diff Diff
	offers = r.examine(&server, offers, nil, &diff)
	judge := func(*ledger.Surface) *ledger.Change { return nil }
	if r.ledger != nil && len(offers) > 0 {
		judge = r.ledger.Foresee(server.ledger(), surfacesOf(offers))
	}
	holders := map[string]Origin{}
	snapshot := r.Snapshot()
	var p Preview
	for _, o := range offers {
		holder, taken := holders[o.def.Name]
		if e := snapshot.find(o.def.Name); e != nil && e.def.Origin.Server != server.Name {
			holder, taken = e.def.Origin, true
		}
		if taken {
			diff.reject(o.def.Name, &DuplicateError{Name: o.def.Name, Holder: holder, Refused: o.def.Origin})
			continue
		}
		holders[o.def.Name] = o.def.Origin
		if change := judge(o.surface); change != nil {
			p.Quarantined = append(p.Quarantined, Quarantined{Tool: o.def, Change: change})
			continue
		}
		p.Listed = append(p.Listed, Previewed{Tool: o.def, Findings: o.findings})
	}
	p.Rejected = diff.Rejected
	return p, nil
}
