package registry

import (
	"github.com/mcpbelt/mcpbelt/registry/gate"
	"github.com/mcpbelt/mcpbelt/registry/ledger"
)

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
