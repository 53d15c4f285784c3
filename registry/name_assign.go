package registry

// A candidate is a tool that wants a name.
type candidate struct {
	server, tool string // which tool; the tool by its alias if it has one
	explicit     string // the name that it has been given by hand; empty: none
}

// dependent reports whether the name of a tool depends on the other tools.
func (n Names) dependent() bool { return n.Custom != nil || n.Scheme == BareTool }

// assign returns a name for each candidate, by index. It depends on the set of
// candidates and not on their order. Two names are equal only if two candidates
// are the same tool, or were given the same name by hand.
//
// Names given by hand stay. Of the others, all that want the same name go on to
// their next one, unless one of them alone has come the farthest: then it is that one's. So
// no tool can take "github__create_issue" from the server github by being called
// that.
func (n Names) assign(candidates []candidate) []string {
	names := make([]string, len(candidates))
	steps := make([]int, len(candidates))
	for i, c := range candidates {
		if names[i] = c.explicit; c.explicit == "" {
			names[i] = n.step(c, 0)
		}
	}
	demands := make(map[string]demand, len(candidates))
	for {
		settled := true
		for i := range candidates {
			after := demands[names[i]].with(&candidates[i], steps[i])
			demands[names[i]] = after
			settled = settled && !after.contested()
		}
		if settled {
			return names
		}
		for i, c := range candidates {
			if c.explicit == "" && demands[names[i]].yields(steps[i]) {
				steps[i]++
				names[i] = n.step(c, steps[i])
			}
		}
		clear(demands)
	}
}

// step returns the name that a tool wants if it does not get its first, second
// and so on. The last steps are hashes, each another one, so that they end.
func (n Names) step(c candidate, i int) string {
	if i > 0 && n.Custom == nil && n.Scheme == BareTool {
		n.Scheme = ServerTool
		i--
	}
	if i == 0 {
		name, _ := n.Name(c.server, c.tool)
		return name
	}
	s := n.spell(c.server, c.tool)
	return s.clean().hashed(n.limit(), hash(s.scheme, c.server, c.tool, i-1))
}

// A demand is what candidates want of one name.
type demand struct {
	byHand  bool       // a candidate was given it by hand
	first   *candidate // the first that wants it by the scheme; nil: none does
	several bool       // so do other tools
	least   int        // the least step of those that do
}

func (d demand) with(c *candidate, step int) demand {
	switch {
	case c.explicit != "":
		d.byHand = true
	case d.first == nil:
		d.first, d.least = c, step
	default:
		d.several = d.several || *c != *d.first
		d.least = min(d.least, step)
	}
	return d
}

func (d demand) contested() bool { return d.several || d.byHand && d.first != nil }

// yields reports whether a candidate at that step cannot have the name.
func (d demand) yields(step int) bool {
	return d.contested() && (d.byHand || step == d.least)
}
