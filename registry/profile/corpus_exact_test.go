package profile_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/providercheck"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/profile"
)

func corpusCompile(t *testing.T, p profile.Provider, schema string) *profile.Tool {
	t.Helper()
	set, err := profile.Compile(p, []registry.Tool{corpusTool("t", "", schema)}, nil)
	if err != nil || len(set.Tools()) != 1 {
		t.Fatal(err, set.Rejected())
	}
	return set.Tools()[0]
}

// What was not written in another form keeps its bytes.
func TestCorpusExact(t *testing.T) {
	const lax = `{"type":"object","properties":{"n":{"type":"number"},"s":{"type":"string"},"o":{"type":"object","properties":{"k":{"type":"array","items":{"type":"integer"}}}}}}`
	for _, args := range []string{
		`{}`, ` { } `, `{"n":1e400}`, `{"n":-0}`, `{"n":1.0}`, `{"n":1E+2}`, `{"n":12345678901234567890123456789}`, `{"n":0.1000000000000000055511151231257827}`,
		`{"s":"\u00e9\/\ud83d\ude00"}`, `{"s":"é😀"}`, `{"s":"\u0000\u2028"}`, `{"s":"</script>&"}`, "{\"s\":\"\u2028\"}",
		`{"o":{"k":[1, 2,3 ]} ,"n" :1}`, "{\n\t\"o\" : {\r\n \"k\":[ ]}}", `{"z":1,"a":2,"m":{"z":1,"a":2}}`, `{"\u006e":1}`, `{"":null}`, `{"unknown":[1e400,{"x":-0.0}]}`, `{"n":null}`,
	} {
		for _, p := range corpusProviderNames() {
			if p == profile.OpenAIStrict {
				continue // see below
			}
			back, err := corpusCompile(t, p, lax).Unmap(json.RawMessage(args))
			if err != nil || string(back) != args {
				t.Errorf("%s: %q became %q, %v", p, args, back, err)
			}
		}
	}
	strict := `{"type":"object","properties":{"n":{"type":"number"},"s":{"type":"string"},"free":{"type":"boolean"},"o":{"type":"object","properties":{"k":{"type":"array","items":{"type":"number"}}},"required":["k"]}},"required":["n"]}`
	for args, want := range map[string]string{
		`{"n":1e400,"s":null,"free":null,"o":null}`:                         `{"n":1e400}`,
		`{"n":-0.0,"s":"\u00e9","free":null,"o":null}`:                      `{"n":-0.0,"s":"\u00e9"}`,
		`{"s":null,"n":1,"free":null,"o":{"k":[1E2,12345678901234567890]}}`: `{"n":1,"o":{"k":[1E2,12345678901234567890]}}`,
		`{"o":null,"free":null,"s":null,"n":1.50}`:                          `{"n":1.50}`,
	} {
		back, err := corpusCompile(t, profile.OpenAIStrict, strict).Unmap(json.RawMessage(args))
		if err != nil || string(back) != want {
			t.Errorf("%q became %q, %v; want %q", args, back, err, want)
		}
	}
}

// Where a property got another name, that name is turned back and nothing else.
func TestCorpusExactNames(t *testing.T) {
	const schema = `{"type":"object","properties":{"a b":{"type":"number"},"ok":{"type":"object","properties":{"a b":{"type":"number"}}},"é":{"type":"string"},"":{"type":"string"}},"required":["a b"]}`
	for _, p := range []profile.Provider{profile.Anthropic, profile.Bedrock} {
		compiled := corpusCompile(t, p, schema)
		n := assert.Value(providercheck.Read(compiled.Schema))(t)
		names := n.Get("properties").Names
		if len(names) != 4 || names[1] != "ok" || !n.Get("required").Items[0].Says(names[0]) {
			t.Fatalf("%s: %v", p, names)
		}
		args := strings.NewReplacer("A", names[0], "B", names[2], "C", names[3]).Replace(`{ "ok" : {"a b":1e400, "A":2} ,"A":-0.0,"x y":[ ],"B":"\u00e9","C":"A"}`)
		want := strings.NewReplacer("A", names[0]).Replace(`{ "ok" : {"a b":1e400, "A":2} ,"a b":-0.0,"x y":[ ],"é":"\u00e9","":"A"}`)
		if back, err := compiled.Unmap(json.RawMessage(args)); err != nil || string(back) != want {
			t.Errorf("%s: %s became %s, %v; want %s", p, args, back, err, want)
		}
		natural := `{"a b":1e400,"ok":{"a b":1},"é":"","":"x"}`
		if back, err := compiled.Unmap(json.RawMessage(natural)); err != nil || string(back) != natural {
			t.Errorf("%s: %s became %s, %v", p, natural, back, err)
		}
		both := `{"a b":1,"` + names[0] + `":2}` // which of them is meant?
		if back, err := compiled.Unmap(json.RawMessage(both)); err == nil {
			if _, err := providercheck.Read(back); err != nil {
				t.Errorf("%s: %s became %s: %v", p, both, back, err)
			}
		}
	}
}

// Nothing that a model writes brings the way back down.
func TestCorpusHostileArguments(t *testing.T) {
	deep := strings.Repeat(`{"a":`, 10_000) + `1` + strings.Repeat(`}`, 10_000)
	for _, p := range corpusProviderNames() {
		for _, schema := range []string{
			`{"type":"object"}`, `{"type":"object","additionalProperties":{}}`, `{"type":"object","properties":{"a":{"$ref":"#"}}}`,
			`{"type":"object","properties":{"a b":{"type":"object","additionalProperties":{"type":"string"}},"a":{}}}`,
		} {
			compiled := corpusCompile(t, p, schema)
			for _, args := range []string{
				`[1]`, `"x"`, `1`, `true`, `{`, `{"a":}`, `{"a":1}x`, `{"a":1,"a":2}`, `{"a":1,"\u0061":2}`, "{\"a\":\"\xff\"}", "\ufeff{}", `{"a":01}`, `{"a":+1}`, `{"a":NaN}`, `{'a':1}`, `{"a":"\x"}`,
				"{\"a\":\"\x01\"}", deep, strings.Repeat(`[`, 100_000), `{"a":"` + strings.Repeat(`{`, 10_000) + `"}`, `{"a b":"` + strings.Repeat(`[`, 10_000) + `"}`,
			} {
				back, err := compiled.Unmap(json.RawMessage(args))
				var bad *registry.ArgumentsError
				if err != nil && !errors.As(err, &bad) {
					t.Errorf("%s: %.40q: %T %v", p, args, err, err)
				}
				if err == nil && !json.Valid(back) && json.Valid([]byte(args)) {
					t.Errorf("%s: %.40q became %.40q", p, args, back)
				}
				if err != nil && len(err.Error()) > 2_000 {
					t.Errorf("%s: %.40q: an error of %d bytes", p, args, len(err.Error()))
				}
			}
			for _, none := range []json.RawMessage{nil, {}, json.RawMessage(`null`)} {
				if back, err := compiled.Unmap(none); err != nil {
					t.Errorf("%s: %q: %q, %v", p, none, back, err)
				}
			}
		}
	}
}
