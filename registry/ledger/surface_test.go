// Tests of surface.go and diff.go: what of a tool is compared.

package ledger

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

const fixtureSchema = `{"type":"object","title":"T","properties":{"a":{"type":"string","enum":["x","y\u00e9",null],"description":"d/\"e\" 😀"},
"b":{"type":"integer","minimum":-1.5,"maximum":9007199254740993,"default":0},"c":{"anyOf":[{"type":"null"},{"type":"array","items":{"const":true}}]}},
"required":["a","b"],"additionalProperties":false,"x-empty":{},"x-list":[],"x-text":""}`

func fixture() *Tool {
	return &Tool{
		Title: "Title", Description: "Desc\nription", InputSchema: json.RawMessage(fixtureSchema),
		OutputSchema: json.RawMessage(`{"type":"object","properties":{"ok":{"type":"boolean"}}}`),
		Annotations:  json.RawMessage(`{"readOnlyHint":true,"destructiveHint":false,"x":{"y":[1]}}`),
		Name:         "t",
	}
}

// decoded returns a value with its numbers as they are written.
func decoded(t *testing.T, raw json.RawMessage) (v any) {
	t.Helper()
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	assert.OK(t, dec.Decode(&v))
	return v
}

// mutations returns the value with one leaf, one key or one element changed, in
// every possible way.
func mutations(v any) []any {
	switch v := v.(type) {
	case map[string]any:
		var all []any
		with := func(edit func(map[string]any)) {
			c := maps.Clone(v)
			edit(c)
			all = append(all, c)
		}
		with(func(c map[string]any) { c["added"] = nil })
		for key, value := range v {
			with(func(c map[string]any) { delete(c, key) })
			with(func(c map[string]any) { delete(c, key); c[key+"2"] = value })
			for _, m := range mutations(value) {
				with(func(c map[string]any) { c[key] = m })
			}
		}
		return append(all, []any{}, nil)
	case []any:
		all := []any{append(append([]any{}, v...), nil), map[string]any{}, nil}
		for i, value := range v {
			for _, m := range mutations(value) {
				c := append([]any{}, v...)
				c[i] = m
				all = append(all, c)
			}
			if i > 0 && fmt.Sprint(v[i]) != fmt.Sprint(v[i-1]) {
				c := append([]any{}, v...)
				c[i], c[i-1] = c[i-1], c[i]
				all = append(all, c)
			}
		}
		return all
	case string:
		return []any{v + " ", v + "\u200b", strings.ToUpper(v) + "x", nil, map[string]any{}}
	case json.Number:
		return []any{json.Number(strings.TrimSuffix(v.String(), "0") + "1"), v.String(), json.Number(v.String() + "e1000"), nil}[:2]
	case bool:
		return []any{!v, nil, fmt.Sprint(v)}
	}
	return []any{false, "null", map[string]any{}}
}

// TestEveryChangeCounts changes one thing of a tool in all ways.
func TestEveryChangeCounts(t *testing.T) {
	seen := map[string]string{NewSurface(fixture()).Hash: "the fixture"}
	add := func(what string, def *Tool) {
		t.Helper()
		hash := NewSurface(def).Hash
		if other, ok := seen[hash]; ok {
			assert.Equal(t, other, what, "two of one hash")
		}
		seen[hash] = what
	}
	for field, raw := range map[string]func(*Tool) *json.RawMessage{
		"input":       func(d *Tool) *json.RawMessage { return &d.InputSchema },
		"output":      func(d *Tool) *json.RawMessage { return &d.OutputSchema },
		"annotations": func(d *Tool) *json.RawMessage { return &d.Annotations },
	} {
		for _, m := range mutations(decoded(t, *raw(fixture()))) {
			text := assert.Value(json.Marshal(m))(t)
			def := fixture()
			*raw(def) = text
			if m == nil && field == "annotations" {
				continue // says nothing, as none
			}
			add(field+" "+string(text), def)
		}
	}
	for name, edit := range map[string]func(*Tool){
		"name":             func(d *Tool) { d.Name = "t2" },
		"title":            func(d *Tool) { d.Title += "\u200b" },
		"no title":         func(d *Tool) { d.Title = "" },
		"title for text":   func(d *Tool) { d.Title, d.Description = d.Description, d.Title },
		"description":      func(d *Tool) { d.Description += "." },
		"bad UTF-8":        func(d *Tool) { d.Description += "\xff" },
		"replacement":      func(d *Tool) { d.Description += "\ufffd" },
		"other bad UTF-8":  func(d *Tool) { d.Description += "\xfe" },
		"no output":        func(d *Tool) { d.OutputSchema = nil },
		"no annotations":   func(d *Tool) { d.Annotations = nil },
		"no JSON":          func(d *Tool) { d.InputSchema = json.RawMessage(`{"a":1,"a":2}`) },
		"other no JSON":    func(d *Tool) { d.InputSchema = json.RawMessage(`{"a":2,"a":1}`) },
		"no JSON, as text": func(d *Tool) { d.InputSchema = json.RawMessage(`"{\"a\":1,\"a\":2}"`) },
		"deep":             func(d *Tool) { d.InputSchema = deep(101) },
		"deeper":           func(d *Tool) { d.InputSchema = deep(102) },
	} {
		def := fixture()
		edit(def)
		add(name, def)
	}
	assert.Between(t, len(seen), 150, math.MaxInt, "hashes")
}

func deep(n int) json.RawMessage {
	return json.RawMessage(strings.Repeat(`{"a":`, n) + "1" + strings.Repeat("}", n))
}

// TestSpellingDoesNotCount writes a tool in many ways.
func TestSpellingDoesNotCount(t *testing.T) {
	want := NewSurface(fixture()).Hash
	for seed := range uint64(assert.Cases(50, 200)) {
		r := rand.New(rand.NewPCG(seed, 0))
		def := fixture()
		for _, raw := range []*json.RawMessage{&def.InputSchema, &def.OutputSchema, &def.Annotations} {
			var out strings.Builder
			respell(r, &out, decoded(t, *raw))
			*raw = json.RawMessage(out.String())
		}
		if got := NewSurface(def).Hash; got != want {
			t.Fatalf("hash %s, want %s, of %s", got, want, def.InputSchema)
		}
	}
	none := fixture()
	none.Annotations = nil
	for _, raw := range []string{`null`, ` {  } `} {
		def := fixture()
		def.Annotations = json.RawMessage(raw)
		assert.Equal(t, NewSurface(def).Hash, NewSurface(none).Hash, "annotations")
	}
}

// respell writes a value with random white space, order, escapes and numbers.
func respell(r *rand.Rand, out *strings.Builder, v any) {
	space := func() { out.WriteString([]string{"", " ", "\n\t", "\r\n  "}[r.IntN(4)]) }
	text := func(s string) {
		out.WriteByte('"')
		for _, c := range s {
			switch {
			case c > 0xffff && r.IntN(2) == 0:
				c -= 0x10000
				fmt.Fprintf(out, `\u%04x\u%04X`, 0xd800+c>>10, 0xdc00+c&0x3ff)
			case c <= 0xffff && (r.IntN(3) == 0 || c < ' ' || c == '"' || c == '\\'):
				fmt.Fprintf(out, []string{`\u%04x`, `\u%04X`}[r.IntN(2)], c)
			case c == '/' && r.IntN(2) == 0:
				out.WriteString(`\/`)
			default:
				out.WriteRune(c)
			}
		}
		out.WriteByte('"')
	}
	space()
	switch v := v.(type) {
	case map[string]any:
		out.WriteByte('{')
		first := true
		for key, value := range v { // in any order
			if !first {
				out.WriteByte(',')
			}
			first = false
			space()
			text(key)
			space()
			out.WriteByte(':')
			respell(r, out, value)
		}
		space()
		out.WriteByte('}')
	case []any:
		out.WriteByte('[')
		for i, value := range v {
			if i > 0 {
				out.WriteByte(',')
			}
			respell(r, out, value)
		}
		space()
		out.WriteByte(']')
	case string:
		text(v)
	case json.Number:
		out.WriteString(v.String())
		if !strings.Contains(v.String(), ".") {
			out.WriteString([]string{"", ".0", ".000"}[r.IntN(3)])
		}
		out.WriteString([]string{"", "e0", "E+00", "e-0"}[r.IntN(4)])
	default:
		fmt.Fprint(out, map[any]string{nil: "null", true: "true", false: "false"}[v])
	}
	space()
}

// TestSurfaceIsKept: whatever a surface is, the file can hold it.
func TestSurfaceIsKept(t *testing.T) {
	path := ledgerPath(t)
	var defs []*Tool
	for i, raw := range []json.RawMessage{deep(99), deep(100), deep(101), deep(127), deep(5000), json.RawMessage(`{"a":1,"a":2}`), json.RawMessage("{\"a\":\"\xff\"}"),
		json.RawMessage(`{"a":"\ud800","b":1e999999999999}`), json.RawMessage(`null`), nil, json.RawMessage(`{`)} {
		defs = append(defs, surfaceTool(fmt.Sprint("t", i), func(d *Tool) { d.InputSchema, d.Description = raw, "\xff\x00" }))
	}
	mustRecord(t, openLedger(t, path, Pin), github, defs...)
	l := openLedger(t, path, Pin)
	for _, def := range defs {
		wantKind(t, l, github, "", def)
	}
}

func TestDiffIsBounded(t *testing.T) {
	long := strings.Repeat("ä", 2_000)
	before := surfaceTool("a", func(d *Tool) { d.Description = long + "1" + long })
	after := surfaceTool("a", func(d *Tool) {
		d.Description = long + "2\u202e" + long
		var props []string
		for i := range 100 {
			props = append(props, fmt.Sprintf(`"p%d%s/~":{"description":%q}`, i, strings.Repeat("k", 1000), long))
		}
		d.InputSchema = json.RawMessage(`{"properties":{` + strings.Join(props, ",") + `}}`)
	})
	var d Change
	d.compare(nil, NewSurface(before).canonical(), NewSurface(after).canonical())
	if len(d.Fields) != maxFieldChanges || len(d.Fields)+d.More != 105 { // the description, 4 that are gone, 100 that are new
		t.Errorf("%d fields and %d more", len(d.Fields), d.More)
	}
	f := d.Fields[0]
	assert.Equal(t, f.Field, "/description", "field")
	assert.Contains(t, f.Before, "ä1ä", "the difference")
	assert.Contains(t, f.After, `ä2\u202eä`, "the difference")
	for _, f := range d.Fields {
		assert.Between(t, len(f.Field), 0, 2*maxFieldPath, "long: field")
		assert.Between(t, utf8.RuneCountInString(f.Before), 0, maxFieldValue+20, "long")
		assert.Between(t, utf8.RuneCountInString(f.After), 0, maxFieldValue+20, "long")
	}
	var same Change
	same.compare(nil, NewSurface(before).canonical(), NewSurface(before).canonical())
	assert.True(t, same.Fields == nil, "a difference of the same: fields")
	assert.Equal(t, same.More, 0, "a difference of the same: more")
}
