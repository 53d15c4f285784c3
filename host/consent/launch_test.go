package consent_test

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/mcpbelt/mcpbelt/host/consent"
	"github.com/mcpbelt/mcpbelt/internal/assert"
)

func full() consent.Launch {
	return consent.Launch{
		Server: "s", Title: "S", Source: "/p/.mcp.json:3", Project: "/p", Transport: "stdio",
		Path: "/usr/bin/npx", Args: []string{"-y", "notes"}, Dir: "/p", Env: []string{"A=", "B=1"},
		URL: "https://example.com/mcp", Headers: []string{"Authorization: ${A}", "X-Key: k"}, Login: "issuer", Isolation: "docker",
		ClientSecret: "s", Identity: "user", Tools: "read", References: []string{"headers.Authorization: ${A}"},
	}
}

// The vectors are for other programs that compute fingerprints, and for later versions
// of this one: a fingerprint that changes asks all users again.
func TestFingerprintVectors(t *testing.T) {
	data := assert.Value(os.ReadFile("testdata/fingerprints.json"))(t)
	var vectors []struct {
		Launch      consent.Launch
		Fingerprint string
	}
	assert.OK(t, json.Unmarshal(data, &vectors))
	for i, v := range vectors {
		assert.Equal(t, v.Launch.Fingerprint(), v.Fingerprint, "vector %d", i)
	}
	assert.True(t, len(vectors) >= 5, "%d vectors", len(vectors))
}

// All that is run or connected to is part of the fingerprint, and nothing runs over
// into the next part.
func TestFingerprintTellsApart(t *testing.T) {
	base := full()
	seen := map[string]string{base.Fingerprint(): "base"}
	for name, change := range map[string]func(l *consent.Launch){
		"name":                func(l *consent.Launch) { l.Server = "t" },
		"identity":            func(l *consent.Launch) { l.Identity = "header" },
		"tools":               func(l *consent.Launch) { l.Tools = "readdelete" },
		"client secret":       func(l *consent.Launch) { l.ClientSecret = "t" },
		"header value":        func(l *consent.Launch) { l.Headers = []string{"Authorization: ${A}", "X-Key: K"} },
		"project":             func(l *consent.Launch) { l.Project = "/q" },
		"transport":           func(l *consent.Launch) { l.Transport = "http" },
		"path":                func(l *consent.Launch) { l.Path = "/usr/bin/np" },
		"argument":            func(l *consent.Launch) { l.Args = []string{"-y", "note"} },
		"argument joined":     func(l *consent.Launch) { l.Args = []string{"-ynotes"} },
		"argument split":      func(l *consent.Launch) { l.Args = []string{"-y", "no", "tes"} },
		"argument moved":      func(l *consent.Launch) { l.Path, l.Args = l.Path+"-y", l.Args[1:] },
		"argument order":      func(l *consent.Launch) { l.Args = []string{"notes", "-y"} },
		"argument empty":      func(l *consent.Launch) { l.Args = append(l.Args, "") },
		"argument last":       func(l *consent.Launch) { l.Args, l.Dir = l.Args[:1], "notes/p" },
		"folder":              func(l *consent.Launch) { l.Dir = "/p/" },
		"variable":            func(l *consent.Launch) { l.Env = []string{"A=", "B=2"} },
		"variable more":       func(l *consent.Launch) { l.Env = append(l.Env, "C=") },
		"url":                 func(l *consent.Launch) { l.URL = "https://example.com/mcp?a" },
		"header":              func(l *consent.Launch) { l.Headers = []string{"Authorization: ${A}"} },
		"header as variable":  func(l *consent.Launch) { l.Env, l.Headers = append(l.Env, l.Headers[0]), l.Headers[1:] },
		"references":          func(l *consent.Launch) { l.References = []string{"headers.X: ${env:KEY}"} },
		"login":               func(l *consent.Launch) { l.Login = "other" },
		"isolation":           func(l *consent.Launch) { l.Isolation = "" },
		"login and isolation": func(l *consent.Launch) { l.Login, l.Isolation = "issuerdocker", "" },
	} {
		l := full()
		change(&l)
		got := l.Fingerprint()
		assert.Equal(t, seen[got], "", "%s has the fingerprint of", name)
		seen[got] = name
	}
	same := full()
	same.Title, same.Source = "y", "z"
	same.Env = []string{"B=1", "A=", "A="}
	same.Headers = []string{"x-KEY: k", "authorization: ${A}"}
	assert.Equal(t, same.Fingerprint(), base.Fingerprint(), "what is for the eye, order or spelling makes another fingerprint")
}

func TestLogValue(t *testing.T) {
	l := full()
	l.Args, l.URL = []string{"s3cret"}, ""
	text := l.LogValue().String()
	assert.Lacks(t, text, "s3cret", "logged as")
	assert.Contains(t, text, "/usr/bin/npx", "logged as")
	l.URL = "https://example.com/s3cret?key=s3cret"
	text = l.LogValue().String()
	assert.Lacks(t, text, "s3cret", "logged as")
	assert.Contains(t, text, "https://example.com", "logged as")
}
