package policy_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/registry/approval"
	"github.com/mcpbelt/mcpbelt/registry/policy"
)

func TestParsePolicy(t *testing.T) {
	p := assert.Value(policy.Parse([]byte("\ufeff" + `{
		// comments
		"default": "ask", /* too */
		"rules": [
			{"verdict": "deny", "server": "a", "tool": "b", "user": "c", "native": false, "trusted": true, "annotated": true, "reason": "because"},
			{"verdict": "allow", "read_only": true, "destructive": false, "idempotent": true, "open_world": false, "side_effects": false, "execution_time": "fast"},
			{"verdict": "allow_for_session", "readOnly": true, "openWorld": true, "sideEffects": false, "executionTime": "slow"},
			{"verdict": "ask", "readOnlyHint": true, "destructiveHint": false, "idempotentHint": true, "openWorldHint": false, "sideEffectsHint": false, "executionTimeHint": "medium"},
			{"verdict": "ask", "read_only_hint": false, "destructive_hint": false, "idempotent_hint": true, "open_world_hint": false, "side_effects_hint": false, "execution_time_hint": "medium",},
		],
	}`)))(t)
	text := assert.Value(json.Marshal(p))(t)
	want := `{"rules":[` +
		`{"verdict":"deny","server":"a","tool":"b","user":"c","native":false,"trusted":true,"annotated":true,"reason":"because"},` +
		`{"verdict":"allow","readOnly":true,"destructive":false,"idempotent":true,"openWorld":false,"sideEffects":false,"executionTime":"fast"},` +
		`{"verdict":"allow_for_session","readOnly":true,"openWorld":true,"sideEffects":false,"executionTime":"slow"},` +
		`{"verdict":"ask","readOnly":true,"destructive":false,"idempotent":true,"openWorld":false,"sideEffects":false,"executionTime":"medium"},` +
		`{"verdict":"ask","readOnly":false,"destructive":false,"idempotent":true,"openWorld":false,"sideEffects":false,"executionTime":"medium"}` +
		`],"default":"ask"}`
	assert.Equal(t, string(text), want)

	for _, text := range []string{`{"default":"deny"}`, `{"default":"deny","rules":[]}`} {
		assert.Equal(t, assert.Value(policy.Parse([]byte(text)))(t).Decide(annotated("", true)).Verdict, approval.Deny, "%s", text)
	}
	for _, p := range []*policy.Policy{nil, {}} {
		assert.Equal(t, string(assert.Value(p.MarshalJSON())(t)), `{"rules":[],"default":"deny"}`)
	}
}

func TestParsePolicyErrors(t *testing.T) {
	const tail = `], "default": "ask"}`
	for text, want := range map[string]string{
		``:                                     `1:1: `,
		`{"default": "ask"`:                    `1:1: the object is not closed`,
		`[]`:                                   `1:1: must be an object, not an array`,
		`{}`:                                   `1:1: "default" is missing`,
		`{"default": "ask", "rule": []}`:       `1:20: rule: there is no such key; did you mean "rules"?`,
		`{"default": "ask", "comments": 1}`:    `1:20: comments: there is no such key; there are rules, default`,
		`{"default": "ask", "default": "ask"}`: `1:20: `,
		`{"Default": "ask"}`:                   `1:2: Default: there is no such key; did you mean "default"?`,
		`{"default": "Ask"}`:                   `1:13: default: there is no such verdict`,
		`{"default": null}`:                    `1:13: default: must be a string, not null`,
		`{"default": "ask", "rules": {}}`:      `1:29: rules: must be an array, not an object`,
		`{"default": "ask", "rules": null}`:    `1:29: rules: must be an array, not null`,
		`{"rules": [null` + tail:               `1:12: rules[0]: must be an object, not null`,
		"{\"rules\": [\n\t{}\n" + tail:         `2:2: rules[0]: "verdict" is missing`,

		`{"rules": [{"verdict": "alow"}` + tail:                                           `1:24: rules[0].verdict: there is no such verdict: use "deny"`,
		`{"rules": [{"verdict": true}` + tail:                                             `1:24: rules[0].verdict: must be a string, not a boolean`,
		`{"rules": [{"verdict": "deny", "Server": "a"}` + tail:                            `1:32: rules[0].Server: there is no such key; did you mean "server"?`,
		`{"rules": [{"verdict": "deny", "sever": "a"}` + tail:                             `1:32: rules[0].sever: there is no such key; did you mean "server"?`,
		`{"rules": [{"verdict": "deny", "readonly": true}` + tail:                         `1:32: rules[0].readonly: there is no such key; did you mean "readOnly"?`,
		`{"rules": [{"verdict": "deny", "trustedHint": true}` + tail:                      `1:32: rules[0].trustedHint: there is no such key`,
		`{"rules": [{"verdict": "deny", "zzzzzzzz": true}` + tail:                         `1:32: rules[0].zzzzzzzz: there is no such key; there are verdict, server,`,
		`{"rules": [{"verdict": "deny", "server": ""}` + tail:                             `1:42: rules[0].server: is empty: remove the key`,
		`{"rules": [{"verdict": "deny", "server": null}` + tail:                           `1:42: rules[0].server: must be a string, not null`,
		`{"rules": [{"verdict": "deny", "server": ["a"]}` + tail:                          `1:42: rules[0].server: must be a string, not an array`,
		`{"rules": [{"verdict": "deny", "readOnly": "true"}` + tail:                       `1:44: rules[0].readOnly: must be a boolean, not a string`,
		`{"rules": [{"verdict": "deny", "readOnly": 1}` + tail:                            `1:44: rules[0].readOnly: must be a boolean, not a number`,
		`{"rules": [{"verdict": "deny", "readOnly": true, "read_only_hint": true}` + tail: `1:50: rules[0].read_only_hint: says again what another key`,

		`{"rules": [{"verdict": "deny", "server": "["}` + tail:            `1:42: rules[0].server: the pattern "[" has a [`,
		`{"rules": [{"verdict": "deny", "executionTime": "quick"}` + tail: `1:49: rules[0].executionTime: no tool takes "quick"`,
	} {
		_, err := policy.Parse([]byte(text))
		assert.Contains(t, "^"+fmt.Sprint(err), "^policy:"+want, "%s", text)
	}

	_, err := policy.Parse([]byte("{\"rules\": [\n{\"verdict\": \"deny\", \"tool\": \"{\"},\n{\"verdict\": \"deny\", \"tool\": \"]\"}], \"default\": \"ask\"}"))
	if lines := strings.Split(err.Error(), "\n"); len(lines) != 2 || !strings.Contains(lines[0], ":2:") || !strings.Contains(lines[1], ":3:") {
		t.Errorf("two faults: %v", err)
	}
}

func FuzzParsePolicy(f *testing.F) {
	f.Add([]byte(`{"default":"ask","rules":[{"verdict":"deny","server":"a*","readOnly":true,},]}`))
	f.Add([]byte(`{"default":"ask","rules":[{"verdict":"allow","tool":"{a,b}","trusted":false}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := policy.Parse(data)
		if err != nil {
			_ = err.Error()
			return
		}
		text := assert.Value(p.MarshalJSON())(t)
		again := assert.Value(policy.Parse(text))(t)
		second, _ := again.MarshalJSON()
		assert.Equal(t, string(second), string(text))
	})
}
