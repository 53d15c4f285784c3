package registry

import (
	"context"
	"slices"

	"github.com/mcpbelt/mcpbelt/registry/gate"
	"github.com/mcpbelt/mcpbelt/registry/ledger"
)

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
