package catalog

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/cmd/mcpbelt/internal/cli"
	"github.com/mcpbelt/mcpbelt/internal/assert"
)

const official = `"_meta":{"io.modelcontextprotocol.registry/official":`

// Find finds what has all words, and one entry that is not as documented hides no other.
func TestFind(t *testing.T) {
	one := func(name, version, description, meta string) string {
		return `{"server":{"name":"` + name + `","version":"` + version + `","description":"` + description + `"},` + official + `{` + meta + `}}}`
	}
	for name, c := range map[string]struct {
		words   string
		servers []string
		want    string
	}{
		//report: Command | modelcontextprotocol/registry#1453, modelcontextprotocol/registry#135 | a registry looks for one text in names, so that two words never match | the longest word is sent, and what comes is shown if its name and description have all words
		"two words": {"flow google", []string{one("a.b/google-flow", "1", "Images", ""), one("a.b/google", "1", "Mail", ""), one("a.b/x", "1", "Google's FLOW", "")}, "a.b/google-flow@1 a.b/x@1"},
		//report: Command | modelcontextprotocol/registry#931, pulsemcp/mcp-servers#434 | a registry lists all versions of a server, although the latest was asked for | each server is shown once, with the version that the registry calls the latest
		"all versions": {"x", []string{one("a.b/x", "0.9", "", `"isLatest":false`), one("a.b/x", "1.1", "", `"isLatest":true`), one("a.b/x", "1.0", "", `"isLatest":false`)}, "a.b/x@1.1"},
		//report: Command | modelcontextprotocol/registry#637, modelcontextprotocol/registry#993, stacklok/toolhive#747 | a server was deprecated or deleted by its author, and clients still offer it | `find` leaves out what was deleted and marks what is deprecated with the author's words; `add` refuses the one and warns of the other
		"deleted": {"x", []string{one("a.b/x", "1", "", `"status":"deleted"`), one("a.b/xx", "1", "", `"status":"deprecated","statusMessage":"use y"`)}, "a.b/xx@1 (deprecated use y)"},
		//report: Command | jongalloway/dotnet-mcp#104 | one server of a registry has its arguments as texts, which the schema does not know | it is left out, and the others are shown
		"not as documented": {"x", []string{`{"server":{"name":"a.b/x","version":"1","packages":[{"packageArguments":["--yes"]}]}}`, `7`, `{}`, `{"server":{"name":"a.b/x","version":"1","packages":[null]}}`,
			one("x", "1", "", ""), one(`a.b/\u001b[31mx`, "1", "", ""), one("a.b/x", `\u202e1`, "", ""), `{"server":{"name":"a.b/xyz","version":"1"}}`}, "a.b/xyz@1"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRegistry(t, func(w http.ResponseWriter, req *http.Request) {
				assert.Equal(t, req.URL.Path, "/v0.1/servers")
				assert.True(t, !strings.Contains(req.FormValue("search"), " "), "one word is sent")
				answering(`{"servers":[`+strings.Join(c.servers, ",")+`],"metadata":{"count":1}}`)(w, req)
			})
			found, more, err := r.Find(t.Context(), strings.Fields(c.words))
			assert.OK(t, err)
			assert.True(t, !more, "that is all")
			var got []string
			for _, s := range found {
				text := s.Name + "@" + s.Version
				if s.Status != "" {
					text += " (" + s.Status + " " + s.StatusMessage + ")"
				}
				got = append(got, text)
			}
			assert.Equal(t, strings.Join(got, " "), c.want)
		})
	}
}

// A registry that goes on for ever is read for ten pages, and one that repeats itself ends.
func TestFindEnds(t *testing.T) {
	for _, c := range []struct {
		cursor string // a %d is the number of the page
		pages  int
		more   bool
	}{{"page-%d", 10, true}, {"same", 2, false}, {"", 1, false}} {
		pages := 0
		r := newRegistry(t, func(w http.ResponseWriter, req *http.Request) {
			pages++
			answering(fmt.Sprintf(`{"servers":[],"metadata":{"nextCursor":%q}}`, strings.ReplaceAll(c.cursor, "%d", fmt.Sprint(pages))))(w, req)
		})
		_, more, err := r.Find(t.Context(), []string{"x"})
		assert.OK(t, err)
		assert.Equal(t, pages, c.pages, "%q: pages", c.cursor)
		assert.Equal(t, more, c.more, "%q: more", c.cursor)
	}
}

// What is wrong with a registry is one line with its cure.
func TestRegistryErrors(t *testing.T) {
	good := `{"server":{"name":"a.b/x","version":"1.0"},` + official + `{"status":"active"}}}`
	status := func(n int) http.HandlerFunc { return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(n) } }
	elsewhere := httptest.NewServer(answering(good))
	defer elsewhere.Close()
	to := func(url string) http.HandlerFunc { return http.RedirectHandler(url, http.StatusFound).ServeHTTP }
	for name, c := range map[string]struct {
		answer  http.HandlerFunc
		version string
		exit    cli.Exit
		says    string
	}{
		"good":            {answering(good), "", cli.OK, ""},
		"good version":    {answering(good), "1.0", cli.OK, ""},
		"latest":          {answering(good), "latest", cli.OK, ""},
		"another version": {answering(good), "2.0", cli.Failed, "was asked for a.b/x@2.0, and answers with a.b/x@1.0"},
		"another server":  {answering(strings.Replace(good, "a.b/x", "a.b/evil", 1)), "", cli.Failed, "answers with a.b/evil@1.0"},
		"deleted":         {answering(strings.Replace(good, `active"`, `deleted","statusMessage":"malware"`, 1)), "", cli.NotFound, "a.b/x 1.0 was deleted from the registry: malware"},
		"not there":       {status(404), "1.0", cli.NotFound, "has no server a.b/x@1.0: mcpbelt find WORD"},
		"busy":            {status(429), "", cli.Unreachable, "answers with status 429: try again later"},
		"broken":          {status(503), "", cli.Unreachable, "answers with status 503: try again later"},
		"wrong JSON":      {answering(`{"server":`), "", cli.Failed, "its answer is not JSON"},
		"another JSON":    {answering(`[]`), "", cli.Failed, "its answer is not what server.json may have"},
		"a page":          {func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>")) }, "", cli.Unreachable, "and must have application/json"},
		"large": {func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write(make([]byte, 2<<20))
		}, "", cli.Unreachable, "the answer is larger than 1 MiB"},
		"to a file":           {to("file:///etc/passwd"), "", cli.Unreachable, "is neither https nor http"},
		"to another server":   {to(elsewhere.URL), "", cli.Unreachable, "redirects to another origin"},
		"to the cloud's own":  {to("http://169.254.169.254/"), "", cli.Unreachable, "the registry cannot be reached: "},
		"round and round":     {to("/"), "", cli.Unreachable, "redirects more than 3 times"},
		"only an old version": {func(w http.ResponseWriter, r *http.Request) { http.NotFound(w, r) }, "", cli.NotFound, "has no server a.b/x"},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := newRegistry(t, c.answer).Server(t.Context(), "a.b/x", c.version)
			if c.exit == cli.OK {
				assert.OK(t, err)
				assert.Equal(t, s.Name+"@"+s.Version, "a.b/x@1.0")
				return
			}
			e, ok := errors.AsType[*cli.Error](err)
			assert.True(t, ok, "%v", err)
			assert.Equal(t, e.Exit, c.exit)
			assert.Contains(t, e.Error(), c.says)
			assert.True(t, e.Cure != "", "it has a cure")
		})
	}
	r := newRegistry(t, answering(good))
	r.base = "http://127.0.0.1:1"
	_, _, err := r.Find(t.Context(), []string{"x"})
	assert.Fails(t, err)
	assert.Contains(t, err.Error(), "the registry cannot be reached: 127.0.0.1:1: ")
}

// The address of a registry is taken with and without what the API adds to it.
func TestRegistryAddress(t *testing.T) {
	//report: Command | github/copilot-cli#3436, microsoft/apm#1210, openkaiden/kaiden#643 | one client wants the address of a registry with /v0.1 at its end and another one without, and both ask at places that there are not | `--registry` takes the address with or without /v0.1 and /v0.1/servers, below any path, and asks the API of version 0.1 alone
	for _, end := range []string{"", "/", "/v0.1", "/v0.1/", "/v0.1/servers", "/v0"} {
		r := newRegistry(t, func(w http.ResponseWriter, req *http.Request) {
			assert.Equal(t, req.URL.EscapedPath(), "/workspaces/default/v0.1/servers/a.b%2Fx/versions/1.0+b", "%q", end)
			answering(`{"server":{"name":"a.b/x","version":"1.0+b"}}`)(w, req)
		})
		r = assert.Value(Open(r.base + "/workspaces/default" + end))(t)
		assert.Value(r.Server(t.Context(), "a.b/x", "1.0+b"))(t)
	}
	for _, address := range []string{"", "x", "://", "/v0.1"} {
		_, err := Open(address)
		assert.Fails(t, err, "%q", address)
	}
}
