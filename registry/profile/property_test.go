package profile_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/canonjson"
	"github.com/mcpbelt/mcpbelt/internal/schemagate"
	"github.com/mcpbelt/mcpbelt/registry/profile"
)

func everyProvider() []profile.Provider {
	return []profile.Provider{profile.OpenAI, profile.OpenAIStrict, profile.Anthropic, profile.Gemini, profile.Bedrock, profile.Ollama}
}

func hasEffect(tool *profile.Tool, effect profile.Effect) bool {
	return slices.ContainsFunc(tool.Losses, func(l profile.Loss) bool { return l.Effect == effect })
}

func decoded(t testing.TB, raw []byte) any {
	t.Helper()
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		t.Fatalf("%v in %s", err, raw)
	}
	return v
}

func encoded(t testing.TB, v any) []byte {
	t.Helper()
	raw := assert.Value(json.Marshal(v))(t)
	return raw
}

func sameText(t testing.TB, raw []byte) string {
	t.Helper()
	c, err := canonjson.Append(nil, raw)
	if err != nil {
		t.Fatalf("%v in %s", err, raw)
	}
	return string(c)
}

// TestNothingIsLostSilently holds compiled tools to what their losses say. What the
// compiled schema takes is turned back into what the tool takes, unless a loss is
// Looser; and what the tool takes can be written, unless a loss is Narrower.
func TestNothingIsLostSilently(t *testing.T) {
	rounds := uint64(lossRounds)
	if testing.Short() {
		rounds = 60
	}
	for _, p := range everyProvider() {
		t.Run(string(p), func(t *testing.T) {
			t.Parallel()
			var sound, complete, checked int
			for seed := range rounds {
				maker := &schemaMaker{Rand: rand.New(rand.NewPCG(seed, 1))}
				raw := maker.root()
				if schemagate.Check(json.RawMessage(raw), schemagate.Limits{}) != nil {
					continue
				}
				set := assert.Value(profile.Compile(p, []registryTool{tool("t", raw)}, nil))(t)
				if len(set.Tools()) == 0 {
					continue
				}
				checked++
				s, c := holdToLosses(t, seed, raw, set.Tools()[0])
				sound += s
				complete += c
			}
			if checked < int(rounds)/2 || sound < int(rounds)/4 || complete < int(rounds)/4 {
				t.Errorf("only %d schemas, %d values of the provider's, %d of the tool's", checked, sound, complete)
			}
		})
	}
}

func holdToLosses(t *testing.T, seed uint64, raw string, compiled *profile.Tool) (sound, complete int) {
	t.Helper()
	own, err := schemagate.Compile(json.RawMessage(raw))
	if err != nil {
		return 0, 0
	}
	theirs, err := schemagate.Compile(compiled.Schema)
	if err != nil {
		t.Fatalf("seed %d: %v\nof      %s\ncompiled %s", seed, err, raw, compiled.Schema)
	}
	report := func(what string, args, back []byte) {
		t.Helper()
		t.Errorf("seed %d: %s\nown      %s\ncompiled %s\nlosses   %v\nargs     %s\nback     %s", seed, what, raw, compiled.Schema, compiled.Losses, args, back)
	}
	values := &valueMaker{rand.New(rand.NewPCG(seed, 2)), decoded(t, compiled.Schema)}
	if !hasEffect(compiled, profile.Looser) {
		for range 12 {
			args := encoded(t, values.value(values.root, 8))
			if args[0] != '{' || theirs.Validate(args) != nil {
				continue
			}
			sound++
			back, err := compiled.Unmap(args)
			if err != nil || own.Validate(back) != nil {
				report(fmt.Sprintf("the tool does not take it (%v)", err), args, back)
				return
			}
		}
	}
	values.root = decoded(t, json.RawMessage(raw))
	if hasEffect(compiled, profile.Narrower) {
		return
	}
	for range 12 {
		args := encoded(t, values.value(values.root, 8))
		if args[0] != '{' || own.Validate(args) != nil {
			continue
		}
		complete++
		if !canBeWritten(t, compiled, theirs, args) {
			report("the model cannot write it", args, nil)
			return
		}
	}
	return sound, complete
}
