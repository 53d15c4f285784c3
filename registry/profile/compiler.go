package profile

import (
	"cmp"
	"errors"
	"strconv"

	"github.com/mcpbelt/mcpbelt/internal/schemagate"
)

const (
	// maxWork is how many schemas are looked at for one tool, those that references
	// are written out to counted each time. It is four times what the gate lets a
	// schema have of nodes.
	maxWork = 1 << 15
	// maxAlternatives is into how many alternatives a schema is taken apart.
	maxAlternatives = 128
	// mostUnrolled is how often a schema that contains itself is written out.
	mostUnrolled = 3
)

// A compiler makes of the schema of one tool what a provider takes.
type compiler struct {
	rules  *ruleset
	doc    *document
	losses ledger
	limit  int // bytes that the schema may have when references are written out
	unroll int

	work     int
	written  int // about how many bytes were made
	expanded int // about how many bytes of targets were made alternatives
	inlined  bool
	overflow bool          // a reference was cut for the limit
	depth    int           // schemas that are being made within each other
	within   int           // of these, in items
	open     map[*node]int // targets that are being written out
	defs     []*definition
	byTarget map[*node]*definition
	defNames map[string]int // the names of definitions, and the last number behind one
}

// A definition is what $defs has for a target of references.
type definition struct {
	name   string
	target *node
	out    *node
	codec  *codec
}

// A compiled is what the compiler makes.
type compiled struct {
	schema *node
	codec  *codec
	strict bool
}

var errNoObject = errors.New("takes no JSON object, and the arguments of a tool are one")

func newCompiler(d *ruleset, root *node) *compiler {
	return &compiler{rules: d, doc: newDocument(root), limit: maxSchemaBytes}
}

// compile makes the schema, with fewer references written out until it is small
// enough.
func (c *compiler) compile() (r *compiled, err error) {
	mark, most := c.losses.mark(), c.limit
	for i, try := range []struct{ unroll, limit int }{{mostUnrolled, most}, {1, most}, {1, most / 4}, {1, 0}} {
		c.losses.reset(mark)
		c.unroll, c.limit = try.unroll, try.limit
		c.work, c.written, c.expanded, c.inlined, c.overflow, c.depth, c.within = 0, 0, 0, false, false, 0, 0
		c.open, c.defs, c.byTarget, c.defNames = map[*node]int{}, nil, map[*node]*definition{}, map[string]int{}
		if c.rules.family == whole {
			r, err = c.wholeRoot()
		} else {
			r, err = c.formRoot()
		}
		if err != nil || !c.overflow && !c.inlined || (!c.overflow || i > 0) && len(r.schema.append(nil)) <= most {
			break
		}
	}
	return r, err
}

// spend counts what is looked at, and reports whether there was so much left.
func (c *compiler) spend(work int) bool {
	c.work += work
	return c.work <= maxWork
}

// enter marks the targets that n was made of as being written out, until leave.
func (c *compiler) enter(n *node) {
	for _, target := range n.via {
		c.open[target]++
	}
}

func (c *compiler) leave(n *node) {
	for _, target := range n.via {
		c.open[target]--
	}
}

// target returns what a reference is to be replaced by, or nil if it is cut.
func (c *compiler) target(ref *node) *node {
	target := c.doc.resolve(ref)
	switch {
	case target == nil:
		return nil // the gate refuses it
	case c.open[target] >= c.unroll:
		c.losses.reshaped(Looser, ref, "the schema contains itself; it is written out %d times within itself and then cut", c.unroll)
		return nil
	case c.written > c.limit && !c.rules.refs || c.expanded > c.limit || c.work > maxWork:
		c.overflow = true
		c.losses.reshaped(Looser, ref, "the schema is too large with all references written out; this one is not")
		return nil
	}
	c.inlined = true
	return target
}

// typeOnly returns what stands for a reference that was cut: the type of its target.
func (c *compiler) typeOnly(ref *node) *node {
	only := objectNode()
	placed(only, ref.parent)
	target := c.doc.resolve(ref)
	for _, keyword := range []string{"type", "description"} {
		value := target.get(keyword)
		if value == nil || c.written+c.expanded > c.limit && keyword == "description" {
			continue
		}
		only.set(keyword, value)
		c.expanded += value.size
	}
	if len(only.members) == 0 && target.get("properties") != nil {
		only.set("type", textNode("object"))
	}
	return only
}

// define returns the definition that references to a target lead to.
func (c *compiler) define(target *node) *definition {
	if d := c.byTarget[target]; d != nil {
		return d
	}
	name := nameRule{most: 40, dot: true}.clean(target.token)
	if target.parent == nil {
		name = "root"
	}
	name = cmp.Or(name, "def")
	unique := name
	for c.defNames[unique] > 0 {
		c.defNames[name]++
		unique = name + "_" + strconv.Itoa(c.defNames[name])
	}
	c.defNames[unique]++
	d := &definition{name: unique, target: target}
	c.byTarget[target] = d
	c.defs = append(c.defs, d)
	return d
}

// reference returns a reference to a definition.
func (d *definition) reference() *node {
	n := objectNode(member{"$ref", textNode("#/$defs/" + d.name)})
	n.def = d
	return n
}

// wrote counts about how many bytes a schema adds, without those within it.
func (c *compiler) wrote(schema *node) {
	for _, m := range schema.members {
		c.written += len(m.name) + 4
		switch schemas, byName := schemagate.Holds(m.name); {
		case !schemas && (m.value.kind == '{' || m.value.kind == '['):
			c.written += len(m.value.append(nil))
		case m.value.kind == '{' && byName:
			for _, sub := range m.value.members {
				c.written += len(sub.name) + 4
			}
		default:
			c.written += len(m.value.text) + 4
		}
	}
	c.written += 2
}
