package config

import (
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// The fingerprint says which server an entry leads to, and nothing else.
func TestFingerprint(t *testing.T) {
	t.Setenv("TOKEN", "first")
	base := `{"command":"npx","args":["-y","${TOKEN:-x}"],"cwd":"/a","env":{"A":"1","B":"${TOKEN}"}}`
	before := one(t, base).Fingerprint()
	if len(before) != 64 {
		t.Fatalf("fingerprint = %q", before)
	}
	t.Setenv("TOKEN", "second")
	for what, test := range map[string]struct {
		entry string
		same  bool
	}{
		"another value of a variable": {base, true},
		"another value in env":        {`{"command":"npx","args":["-y","${TOKEN:-x}"],"cwd":"/a","env":{"B":"2","A":"1"}}`, true},
		"timeouts, trust, tools":      {`{"trust":true,"timeout":5000,"description":"d","tools":{"deny":["x"]},` + base[1:], true},
		"another command":             {`{"command":"npm","args":["-y","${TOKEN:-x}"],"cwd":"/a","env":{"A":"1","B":""}}`, false},
		"other arguments":             {`{"command":"npx","args":["-y"],"cwd":"/a","env":{"A":"1","B":""}}`, false},
		"joined arguments":            {`{"command":"npx","args":["-y${TOKEN:-x}"],"cwd":"/a","env":{"A":"1","B":""}}`, false},
		"another folder":              {`{"command":"npx","args":["-y","${TOKEN:-x}"],"cwd":"/b","env":{"A":"1","B":""}}`, false},
		"another isolation":           {`{"isolation":{"kind":"landlock"},` + base[1:], false},
		"another identity":            {`{"identity":"user",` + base[1:], false},
		"the same identity":           {`{"identity":"shared",` + base[1:], true},
		"a file of variables":         {`{"envFile":"x",` + base[1:], false},
		"limits":                      {`{"limits":{"maxTools":1},` + base[1:], true},
		"another name in env":         {`{"command":"npx","args":["-y","${TOKEN:-x}"],"cwd":"/a","env":{"A":"1","C":""}}`, false},
	} {
		if same := one(t, test.entry).Fingerprint() == before; same != test.same {
			t.Errorf("%s: the same is %v, want %v", what, same, test.same)
		}
	}

	remote := one(t, `{"url":"https://example.com/mcp","headers":{"X-Key":"1"}}`).Fingerprint()
	for what, test := range map[string]struct {
		entry string
		same  bool
	}{
		"another spelling of a header": {`{"url":"https://example.com/mcp","headers":{"x-key":"2"}}`, true},
		"another address":              {`{"url":"https://example.com/mcp2","headers":{"X-Key":"1"}}`, false},
		"another header":               {`{"url":"https://example.com/mcp","headers":{"X-Other":"1"}}`, false},
		"another transport":            {`{"url":"https://example.com/mcp","type":"sse","headers":{"X-Key":"1"}}`, false},
	} {
		if same := one(t, test.entry).Fingerprint() == remote; same != test.same {
			t.Errorf("%s: the same is %v, want %v", what, same, test.same)
		}
	}
	boxes := map[string]string{}
	for _, box := range []string{
		`{"kind":"docker","image":"a"}`, `{"kind":"docker","image":"b"}`, `{"kind":"docker","image":"a","network":true}`,
		`{"kind":"docker","image":"a","args":["b"]}`, `{"kind":"docker","image":"a","mounts":["b"]}`,
		`{"kind":"docker","image":"a","mounts":[{"path":"b"}]}`, `{"kind":"docker","image":"a","mounts":[{"path":"b","write":true}]}`,
	} {
		print := one(t, `{"command":"x","isolation":`+box+`}`).Fingerprint()
		if other, ok := boxes[print]; ok {
			t.Errorf("%s and %s have the same fingerprint", box, other)
		}
		boxes[print] = box
	}
	if one(t, `{"command":"x","isolation":{"image":"a","kind":"docker"}}`).Fingerprint() != one(t, `{"command":"x","isolation":{"kind":"docker","image":"a"}}`).Fingerprint() {
		t.Error("the order of keys changes the fingerprint")
	}
	assert.Equal(t, (&Server{Name: "a"}).Fingerprint(), "", "a server of no file has the fingerprint")
}
