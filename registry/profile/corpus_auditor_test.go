package profile_test

import (
	"slices"
	"strings"
	"testing"
)

// without returns a copy of a value without one of its members.
func (n *node) without(gone *node, key string) *node {
	c := *n
	if n.members != nil {
		c.members, c.names = map[string]*node{}, nil
		for _, name := range n.names {
			if n == gone && name == key {
				continue
			}
			c.members[name] = n.members[name].without(gone, key)
			c.names = append(c.names, name)
		}
	}
	if n.items != nil {
		c.items = nil
		for _, item := range n.items {
			c.items = append(c.items, item.without(gone, key))
		}
	}
	return &c
}

// corpusDefinition returns the place of the definition that a place is in.
func corpusDefinition(place string) (def string, ok bool) {
	for _, key := range []string{"/$defs/", "/definitions/"} {
		if after, found := strings.CutPrefix(place, key); found {
			name, _, _ := strings.Cut(after, "/")
			return key + name, true
		}
	}
	return "", false
}

// The auditor finds nothing where nothing was lost, and each keyword that was.
func TestCorpusAuditor(t *testing.T) {
	schemas := append(corpusMadeSchemas(150, 1), corpusMadeSchemas(60, 2)...)
	for _, schema := range corpusOddSchemas() {
		if len(schema) < 1_500/corpusShare {
			schemas = append(schemas, schema)
		}
	}
	removed, missed := 0, map[string]int{}
	for _, schema := range schemas {
		if corpusPassGate(schema) != nil {
			continue
		}
		n, err := readNode([]byte(schema))
		if err != nil {
			t.Fatal(err)
		}
		if silent := audit(n, n, nil); len(silent) > 0 {
			t.Errorf("%v of what is the same: %s", silent, schema)
		}
		eachSchema("", n, func(place string, s *node) bool {
			if def, ok := corpusDefinition(place); ok && !strings.Contains(schema, `"#`+def+`"`) {
				return true // nothing refers to it, so nobody gets it
			}
			for _, key := range s.names {
				switch v := s.get(key); {
				case strings.HasPrefix(key, "$"), key == "definitions", corpusEmpty(key, v), key == "anyOf", key == "oneOf", key == "allOf":
				case v.is('t') && v.text == "true", v.is('{') && len(v.names) == 0, v.is('[') && len(v.items) == 0: // as if it were not there
				case v.is('{') && !slices.ContainsFunc(v.names, func(name string) bool { c := v.get(name); return !c.is('{') || len(c.names) > 0 }):
				default:
					removed++
					if len(audit(n, n.without(s, key), nil)) == 0 {
						missed[key]++
					}
				}
			}
			return true
		})
	}
	t.Logf("%d keywords removed, not noticed: %v", removed, missed)
	total := 0
	for _, n := range missed {
		total += n
	}
	// What another branch of the same union says, too, is not noticed.
	if removed < 1_000/corpusShare || total > removed/12 {
		t.Errorf("%d of %d were not noticed", total, removed)
	}
}
