package providercheck

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

//go:embed rules.json
var rulesJSON []byte

// rules returns the schemas of rules.json, by their names.
var rules = sync.OnceValue(func() map[string]*jsonschema.Schema {
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	for name, holds := range map[string]func(*Node) bool{"finite": finite, "count": isCount} {
		c.RegisterFormat(&jsonschema.Format{Name: name, Validate: func(v any) error {
			if number, ok := v.(json.Number); ok && !holds(&Node{Kind: '0', Text: number.String()}) {
				return errors.New("not " + name)
			}
			return nil
		}})
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(rulesJSON))
	if err == nil {
		err = c.AddResource("memory:rules", doc)
	}
	if err != nil {
		panic(err) // the kit's own
	}
	all := map[string]*jsonschema.Schema{}
	for name := range doc.(map[string]any)["$defs"].(map[string]any) {
		all[name] = c.MustCompile("memory:rules#/$defs/" + name)
	}
	return all
})

// Follow reads a value and returns it, and what keeps it from following a rule: a schema in
// the $defs of rules.json.
func Follow(rule string, data []byte) (*Node, []string) {
	n, err := Read(data)
	if err != nil {
		return nil, []string{fmt.Sprintf("not JSON: %v", err)}
	}
	if err := rules()[rule].Validate(n.plain()); err != nil {
		return n, strings.Split(err.Error(), "\n")[1:]
	}
	return n, nil
}

// violations are what a provider would refuse.
type violations struct{ list []string }

func (v *violations) add(place, format string, args ...any) {
	v.list = append(v.list, place+"/: "+fmt.Sprintf(format, args...))
}

// follow is Follow for a declaration. It returns its schema, too, which the steps lead to.
func follow(rule string, declaration []byte, steps ...string) (v *violations, schema *Node) {
	schema, problems := Follow(rule, declaration)
	for _, step := range steps {
		schema = schema.Get(step)
	}
	return &violations{problems}, schema
}

// checkDialect adds what is not a schema of JSON Schema 2020-12, and references
// that lead nowhere.
func (v *violations) checkDialect(schema *Node) {
	if err := compileDialect(schema); err != nil {
		v.add("", "not a schema of 2020-12: %v", err)
	}
	EachSchema("", schema, func(place string, n *Node) bool {
		if d := n.Get("$schema"); d != nil && !d.Says("https://json-schema.org/draft/2020-12/schema") {
			v.add(place, "another dialect: %s", d.Text)
		}
		return true
	})
}

// compileDialect returns why a value is no schema of 2020-12.
func compileDialect(schema *Node) error {
	c := jsonschema.NewCompiler()
	c.UseRegexpEngine(func(s string) (jsonschema.Regexp, error) { return anything(s), nil })
	if err := c.AddResource("memory:tool", schema.plain()); err != nil {
		return err
	}
	_, err := c.Compile("memory:tool")
	return err
}

// An anything is a regular expression that is never run.
type anything string

func (a anything) MatchString(string) bool { return true }
func (a anything) String() string          { return string(a) }

// checkValues adds names in lists that are no properties, and values of enums and constants
// that are not of the type.
func (v *violations) checkValues(schema *Node) {
	EachSchema("", schema, func(place string, n *Node) bool {
		for _, key := range []string{"required", "propertyOrdering"} {
			for _, name := range n.Get(key).List() {
				if n.Get("properties").Get(name.Text) == nil {
					v.add(Member(place, key), "%q is no property", name.Text)
				}
			}
		}
		values := n.Get("enum").List()
		if constant := n.Get("const"); constant != nil {
			values = append(values[:len(values):len(values)], constant)
		}
		for _, value := range values {
			if names := Types(n); len(names) > 0 && !Fits(value, names) {
				v.add(place, "%s is not of type %v", value.Write(), names)
			}
		}
		return true
	})
}
