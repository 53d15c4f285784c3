package profile_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/providercheck"
)

// withoutMember returns a copy of a value without one of its members.
func withoutMember(n, gone *node, key string) *node {
	c := *n
	if n.Members != nil {
		c.Members, c.Names = map[string]*node{}, nil
		for _, name := range n.Names {
			if n == gone && name == key {
				continue
			}
			c.Members[name] = withoutMember(n.Members[name], gone, key)
			c.Names = append(c.Names, name)
		}
	}
	if n.Items != nil {
		c.Items = nil
		for _, item := range n.Items {
			c.Items = append(c.Items, withoutMember(item, gone, key))
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
		n := assert.Value(providercheck.Read([]byte(schema)))(t)
		if silent := audit(n, n, nil); len(silent) > 0 {
			t.Errorf("%v of what is the same: %s", silent, schema)
		}
		providercheck.EachSchema("", n, func(place string, s *node) bool {
			if def, ok := corpusDefinition(place); ok && !strings.Contains(schema, `"#`+def+`"`) {
				return true // nothing refers to it, so nobody gets it
			}
			for _, key := range s.Names {
				switch v := s.Get(key); {
				case strings.HasPrefix(key, "$"), key == "definitions", corpusEmpty(key, v), key == "anyOf", key == "oneOf", key == "allOf":
				case v.Is('t') && v.Text == "true", v.Is('{') && len(v.Names) == 0, v.Is('[') && len(v.Items) == 0: // as if it were not there
				case v.Is('{') && !slices.ContainsFunc(v.Names, func(name string) bool { c := v.Get(name); return !c.Is('{') || len(c.Names) > 0 }):
				default:
					removed++
					if len(audit(n, withoutMember(n, s, key), nil)) == 0 {
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
