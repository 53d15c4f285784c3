package cassette

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
)

// FuzzParse: no file makes the parser panic, and what it accepts is written
// so that it reads the same and is written the same again.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		``, `{`, `[]`, `{"version":1}`, `{"version":1,"connections":[{}]}`,
		`{"version":1,"connections":[{"refused":{"outcome":"not sent","message":"<&>","kind":"limit","limit":7}}]}`,
		`{"version":1,"connections":[{"opening":[{"end":""}],"turns":[{"notification":"n"},{"request":"a","params":[]}]}]}`,
		`{"version":1,"connections":[{"turns":[{"request":"a","params":{"b":1.50},"during":[{"progress":{"progress":1}},
		{"request":"e","params":{},"result":{}},{"notification":"x"},{"end":"gone"}],"result":{"big":9007199254740993},"after":[{"request":"e","error":{"code":1,"message":"m"}}]}]}]}`,
		`{"version":1,"connections":[{"turns":[{"request":"a","error":{"code":-1,"message":"é","data":[null]}},{"request":"b","failure":{"outcome":"unknown","message":"m","path":"p","kind":"invalid answer"}}]}]}`,
	} {
		f.Add([]byte(seed))
	}
	recorded := assert.Value(os.ReadFile(filepath.Join("testdata", "weather.json")))(f)
	f.Add(recorded)
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := parse("f", data)
		if err != nil {
			return
		}
		first, err := c.encode()
		assert.OK(t, err, "what was read cannot be written")
		again, err := parse("f", first)
		assert.OK(t, err, "what was written cannot be read")
		second, err := again.encode()
		assert.OK(t, err, "%v", err)
		assert.True(t, bytes.Equal(first, second), "%v: bytes", err)
		r := &redactor{}
		for _, track := range c.Tracks {
			for _, recorded := range track.Turns {
				checkMatching(t, r, recorded)
			}
		}
	})
}

// checkMatching checks that a recorded request matches itself, and that nothing
// is found to differ.
func checkMatching(t *testing.T, r *redactor, recorded *turn) {
	key := requestKey(recorded.Request, recorded.Params)
	if recorded.Params != nil {
		loose := bytes.ReplaceAll(recorded.Params, []byte(","), []byte(",\n "))
		plain := jsonscan.Valid(loose) == nil && !bytes.Contains(recorded.Params, []byte(`"`))
		assert.False(t, plain && requestKey(recorded.Request, loose) != key, "white space counts in %s", recorded.Params)
		assert.OK(t, jsonscan.Valid(r.json(recorded.Params)))
	}
	e := newUnrecorded("f", recorded.Request, recorded.Params, 0, []*turn{recorded})
	assert.Lacks(t, e.Error(), "\n\t", "%s differs from itself", recorded.Params)
	assert.False(t, len(e.Error()) > 16<<10 && len(recorded.Request) < 100, "an error of %d bytes", len(e.Error()))
}

// planted is a secret that fuzzing cannot write by itself.
const planted = "Zx9QplantedW7secretK3v"

// plant puts the secret in the place of the marks in a valid text.
func plant(value, mark string) (string, bool) {
	if strings.Contains(strings.ToLower(value), "schema") {
		return "", false // where the names of properties are no secrets
	}
	return strings.ReplaceAll(value, "@", mark), strings.Contains(value, "@")
}

// FuzzRedact: no secret survives, wherever it stands; what is no secret stays as
// it was; and redacting twice is redacting once.
func FuzzRedact(f *testing.F) {
	for _, seed := range []string{
		`{"a":"@"}`, `{"password":"x","a":["@",{"b":"c @ d"}]}`, `["text: @, and more\n@"]`, `{"a":"{\"b\":\"@\"}"}`,
		`{"n":1.50,"big":123456789012345678901234567890,"e":"\u0041\n"}`, `"@"`, `{"@":"@"}`, `{"a":"[\"{\\\"c\\\":\\\"@\\\"}\"]"}`,
		`{"inputSchema":{"properties":{"token":{"type":"string","default":"@"}}}}`, `"-----BEGIN PRIVATE KEY----- @"`,
		`{"a":"https://h/?key=@&x=@"}`, `{"text":"authorization: @"}`,
		`{"a":"https://key=h/?key=@&x=@"}`,
	} {
		f.Add(seed, uint8(0))
		f.Add(seed, uint8(3))
	}
	marks := []string{
		"Bearer " + planted, "sk-" + planted, "ghp_" + planted, "xoxb-" + planted, "AKIAZX9QPLANTEDW7SECRET", "eyJhbGci." + planted + "." + planted,
		"https://user:" + planted + "@host/", "https://host/?access_token=" + planted, "github_pat_" + planted, "Authorization: Basic " + planted,
	}
	f.Fuzz(func(t *testing.T, value string, which uint8) {
		if jsonscan.Valid([]byte(value)) != nil {
			return
		}
		r := &redactor{}
		once := r.json(json.RawMessage(value))
		assert.OK(t, validButForKeys(once), "%s redacted is %s", value, once)
		assert.Equal(t, string(r.json(once)), string(once), "%s redacted twice", value)
		mark := marks[int(which)%len(marks)]
		// Around each mark stands a blank, so that it is a word of its own.
		text, ok := plant(value, " "+mark+" ")
		if !ok || jsonscan.Valid([]byte(text)) != nil {
			return
		}
		clean := strings.ToLower(string(r.json(json.RawMessage(text))))
		assert.Lacks(t, clean, strings.ToLower(planted))
		assert.Lacks(t, clean, "zx9qplantedw7secret")
		checkSecretMembers(t, r, value)
	})
}

// checkSecretMembers hides value, whatever it is, behind keys of secrets.
func checkSecretMembers(t *testing.T, r *redactor, value string) {
	for _, key := range []string{"password", "API-Key", "accessToken", "Set-Cookie", "client_secret"} {
		text := `{"` + key + `":["` + planted + `",{"x":"` + planted + `"},` + value + `]}`
		assert.Lacks(t, string(r.json(json.RawMessage(text))), planted, "%s redacted", text)
	}
}

// validButForKeys accepts two members whose keys were both a credential.
func validButForKeys(value []byte) error {
	if !json.Valid(value) || !bytes.Contains(value, []byte(redacted)) {
		return jsonscan.Valid(value)
	}
	return nil
}
