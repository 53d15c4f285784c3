package trust

import (
	"cmp"
	"path/filepath"
	"strings"

	"github.com/mcpbelt/mcpbelt/cmd/mcpbelt/internal/belt"
	"github.com/mcpbelt/mcpbelt/internal/plain"
	"github.com/mcpbelt/mcpbelt/registry/ledger"
)

// explained returns a change as one line, with the values of its fields.
func explained(c *ledger.Change) string {
	text := belt.WhyHeld(c)
	for _, f := range c.Fields {
		text += "; " + f.Field + ": was " + cmp.Or(f.Before, "not there") + ", is " + cmp.Or(f.After, "not there")
	}
	return plain.Cut(plain.Text(text), 4000)
}

// writeSARIF writes findings in the Static Analysis Results Interchange Format 2.1.0.
func writeSARIF(b *belt.Belt, findings []*finding) error {
	type object = map[string]any
	rules := map[string]string{
		string(ledger.ToolNew): "A tool was never accepted", string(ledger.ToolChanged): "A tool has changed since it was accepted",
		string(ledger.ToolRejected): "A tool was rejected", string(ledger.ToolRemoved): "A tool that was accepted is gone",
		string(ledger.ServerChanged): "An entry leads to another server than the accepted one", string(ledger.ServerQuarantined): "A server is in quarantine",
		string(ledger.InstructionsChanged): "The instructions of a server have changed", "unreachable": "A server cannot be reached",
	}
	used, results := []object{}, []object{}
	seen := map[string]bool{}
	add := func(f *finding, rule, text, key string) {
		if !seen[rule] {
			seen[rule] = true
			used = append(used, object{"id": rule, "shortDescription": object{"text": cmp.Or(rules[rule], rule)}})
		}
		result := object{"ruleId": rule, "level": "error", "message": object{"text": text}, "partialFingerprints": object{"mcpbelt/v1": key}}
		if file := f.entry.Source.File; file != "" {
			region := object{"startLine": max(f.entry.Source.Line, 1)}
			result["locations"] = []object{{"physicalLocation": object{"artifactLocation": object{"uri": relative(b, file)}, "region": region}}}
		}
		results = append(results, result)
	}
	for _, f := range findings {
		if f.Error != "" {
			add(f, "unreachable", plain.Text(f.Error), f.Server)
		}
		for i := range f.Changes {
			c := &f.Changes[i]
			add(f, string(c.Kind), explained(c), f.Server+"/"+c.Tool+"/"+c.Hash)
		}
	}
	return b.Out.JSON(object{
		"$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0",
		"runs": []object{{"tool": object{"driver": object{"name": "mcpbelt verify", "rules": used}}, "results": results}},
	})
}

// relative returns a file as a URI: below the working folder as a relative one.
func relative(b *belt.Belt, file string) string {
	if rel, err := filepath.Rel(b.Env.Dir, file); err == nil && filepath.IsLocal(rel) {
		return filepath.ToSlash(rel)
	}
	return "file://" + map[bool]string{false: "/"}[strings.HasPrefix(file, "/")] + filepath.ToSlash(file)
}
