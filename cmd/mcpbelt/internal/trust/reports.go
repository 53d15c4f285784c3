package trust

import (
	"cmp"
	"encoding/xml"
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

// The elements of a JUnit report.
type (
	junitSuites struct {
		XMLName xml.Name `xml:"testsuites"`
		junitCounts
		Suites []junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name string `xml:"name,attr"`
		junitCounts
		Cases []junitCase `xml:"testcase"`
	}
	junitCounts struct {
		Tests    int `xml:"tests,attr"`
		Failures int `xml:"failures,attr"`
		Errors   int `xml:"errors,attr"`
	}
	junitCase struct {
		Class   string        `xml:"classname,attr"`
		Name    string        `xml:"name,attr"`
		Failure *junitFailure `xml:"failure,omitempty"`
		Error   *junitFailure `xml:"error,omitempty"`
	}
	junitFailure struct {
		Type    string `xml:"type,attr"`
		Message string `xml:"message,attr"`
	}
)

// writeJUnit writes findings as a JUnit report: a suite for each server, with a case for
// each tool and for what is about the server itself.
func writeJUnit(b *belt.Belt, findings []*finding) error {
	var all junitSuites
	for _, f := range findings {
		suite := junitSuite{Name: plain.Text(f.Server)}
		failed := map[string]*junitFailure{}
		names := []string{"server"}
		for i := range f.Changes {
			c := &f.Changes[i]
			name := "tool " + c.Tool
			if c.Tool == "" {
				name = "server"
			} else if c.Kind == ledger.ToolRemoved {
				names = append(names, name)
			}
			failed[name] = &junitFailure{string(c.Kind), explained(c)}
		}
		for _, tool := range f.Tools {
			names = append(names, "tool "+tool)
		}
		for _, name := range names {
			test := junitCase{Class: plain.Text(f.Server), Name: plain.Text(name), Failure: failed[name]}
			if name == "server" && f.Error != "" {
				test.Error = &junitFailure{"unreachable", plain.Text(f.Error)}
				suite.Errors++
			}
			if test.Failure != nil {
				suite.Failures++
			}
			suite.Cases = append(suite.Cases, test)
		}
		suite.Tests = len(suite.Cases)
		all.Tests += suite.Tests
		all.Failures += suite.Failures
		all.Errors += suite.Errors
		all.Suites = append(all.Suites, suite)
	}
	data, err := xml.MarshalIndent(all, "", "  ")
	if err != nil {
		return err
	}
	b.Out.Exactly(plain.Text(xml.Header + string(data) + "\n")) // also with --json
	return nil
}
