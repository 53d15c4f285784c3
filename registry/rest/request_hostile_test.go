// Tests of request.go and endpoint_path.go: values that try to be more than a value.

package rest

import (
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/registry/result"
)

// hostileValues are texts that try to be more than a value.
func hostileValues() []string {
	return []string{
		"", ".", "..", "...", "../..", "../admin", "a/../..", "..\\..", "a/..", "a\\..\\b", "%2e%2e", "%2E.", "%252e%252e", "%25252e%25252e", "..%2f..%2f", "..%5c", "..%252fx",
		"..;", "..;/admin", "a/..;x=1/b", ".. ", " ..", "a/ .. /b", "/", "//", "//evil.example/x", "/etc/passwd", "a/b", "a//b", "a/", "\\", "\\\\evil\\x", "a%2fb", "%2f", "%5c", "%", "%%", "%zz", "%00",
		"?", "?admin=1", "a?b=c&d=e", "#", "a#b", "&admin=1", "=", "a=b", ";", ";admin=1", "a;b=c", ",", "a,b", "|", " ", "+", "a b", "\x00", "a\x00b", "\r\n", "a\r\nX-Admin: 1", "\r\n\r\nGET / HTTP/1.1\r\n", "\t", "\x7f", "\x1b[31m",
		"é", "ü/ö", "\u202e", "\ufeff", "\u2028", "．．／", "‥", "\ufffd", "\U0001f600", "{id}", "{{id}}", "${HOME}", "$(id)", "`id`", "'\"><script>", "@evil.example", ":80", "http://evil.example/", "https://example.com/a/", "~", "*", "!$&'()*+,;=:@",
		"[]", "[admin]", "a]b[", "null", "true", "0", "-1", strings.Repeat("../", 300), strings.Repeat("a", 3_000), strings.Repeat("%25", 20) + "2e",
	}
}

// hostileEndpoint has a place of every kind for a text.
func hostileEndpoint() Endpoint {
	yes := true
	return Endpoint{Method: "PUT", Path: "/v1/things/{id}/parts/x-{part}.json", Params: []Param{
		inPlace(InPath, "id", "", ""), {Name: "part", In: InPath, Default: json.RawMessage(`"p"`)},
		inPlace(InQuery, "q", "", ""), inPlace(InQuery, "deep", `{}`, "json"), {Name: "list", In: InQuery, Schema: json.RawMessage(`{}`), Explode: &yes},
		inPlace(InHeader, "X-H", "", ""), inPlace(InBody, "field", "", ""), inPlace(InBody, "other", "", ""),
	}, Body: &Body{ContentType: "application/x-www-form-urlencoded"}}
}

// checkHostile calls the endpoint with a text in one place, and checks that what
// arrives is that text there, and nothing anywhere else. It reports whether the call
// was made.
func checkHostile(t testing.TB, rec *testServer, s *Service, place, text string) bool {
	t.Helper()
	values := map[string]string{"id": "1", "part": "p", "q": "v", "X-H": "h", "field": "f", "other": "o"}
	args := map[string]any{}
	deepKey := "k"
	switch place {
	case "deepKey":
		deepKey = text
	default:
		values[place] = text
	}
	for name, value := range values {
		args[name] = value
	}
	args["deep"] = map[string]any{deepKey: "d"}
	args["list"] = []string{"l", values["q"]}
	rec.take()
	_, err := callOnly(t, s, jsonOf(t, args))
	got := rec.take()
	assert.Equal(t, got != nil, err == nil, "%s %q: a request arrived (%v)", place, text, err)
	if err != nil && place != "deepKey" && len(text) > 3 {
		assert.Lacks(t, err.Error(), text, "%s: the error", place)
	}
	if err != nil || got == nil {
		return false
	}
	raw, rawQuery, _ := strings.Cut(got.uri, "?")
	var segments []string
	for segment := range strings.SplitSeq(raw, "/") {
		assert.False(t, strings.ContainsAny(segment, "?#\\;"), "%s %q: the segment %q has separators", place, text, segment)
		segments = append(segments, assert.Value(url.PathUnescape(segment))(t))
	}
	assert.Equal(t, fmt.Sprintf("%q", segments), fmt.Sprintf("%q", []string{"", "v1", "things", values["id"], "parts", "x-" + values["part"] + ".json"}), "%s: the segments", place)
	// No server that decodes before it looks finds another directory above.
	clean := assert.Value(url.ParseRequestURI(raw))(t).JoinPath().Path
	assert.True(t, strings.HasPrefix(clean, "/v1/things/"), "%s %q: the clean path %q stays below /v1/things", place, text, clean)
	query := assert.Value(url.ParseQuery(rawQuery))(t)
	assert.Equal(t, jsonOf(t, query), jsonOf(t, url.Values{"q": {values["q"]}, "list": {"l", values["q"]}, "deep": {jsonOf(t, args["deep"])}}), "%s: the query", place)
	assert.Equal(t, fmt.Sprintf("%q", got.header.Values("X-H")), fmt.Sprintf("%q", []string{values["X-H"]}), "%s: the header", place)
	for name := range got.header {
		known := strings.Fields("X-H Accept Accept-Encoding Connection Content-Length Content-Type User-Agent")
		assert.True(t, slices.Contains(known, name), "%s %q: the header %s is known", place, text, name)
	}
	form := assert.Value(url.ParseQuery(got.body))(t)
	assert.Equal(t, jsonOf(t, form), jsonOf(t, url.Values{"field": {values["field"]}, "other": {values["other"]}}), "%s: the body", place)
	assert.Equal(t, got.method, http.MethodPut, "%s %q: the method", place, text)
	return true
}

func hostilePlaces() []string { return []string{"id", "part", "q", "deepKey", "X-H", "field"} }

// A hostile value arrives as it is, in its place, or not at all.
func TestHostileValuesStayInTheirPlace(t *testing.T) {
	rec := newTestServer(t, nil)
	s := rec.serve(t, hostileEndpoint())
	made := map[string]int{}
	for _, place := range hostilePlaces() {
		for _, text := range hostileValues() {
			if checkHostile(t, rec, s, place, text) {
				made[place]++
			}
		}
	}
	all := len(hostileValues())
	for place, least := range map[string]int{"id": all / 2, "part": all / 2, "q": all, "deepKey": all, "X-H": all * 3 / 4, "field": all} {
		assert.True(t, made[place] >= least, "%s: %d of %d values were sent, of at least %d", place, made[place], all, least)
	}
}

// What would be read as a step up, however it is written, is refused.
func TestStepsUpAreRefused(t *testing.T) {
	rec := newTestServer(t, nil)
	s := rec.serve(t, Endpoint{Path: "/a/{id}/b", Params: []Param{inPlace(InPath, "id", "", "")}})
	for _, text := range []string{
		".", "..", "...", "../x", "x/..", "x/../y", `..\x`, `x\..\y`, "%2e%2e", "%2E%2e/", "%252e%252e", ".%2e", "..%2f", "..%5cx", "..;", "..;/x", "x/..;a=b/y", ".. ", " ..", "x/ .. /y",
		"%25252e%25252e", "%" + strings.Repeat("25", 9) + "2e", "..%00", "..%00.json",
		"..?x", "..?", "x/..#y", "..%3fx", "．．", "‥", "․․", "．．／x", "x＼．．", "%c0%ae%c0%ae", "%c0%ae%c0%ae%c0%afx", "%ef%bc%8e.",
	} {
		rec.refuse(t, s, `{"id":`+jsonOf(t, text)+`}`)
	}
	// In pieces that are harmless by themselves.
	s = rec.serve(t, Endpoint{Path: "/a/{x}{y}/b", Params: []Param{inPlace(InPath, "x", "", ""), inPlace(InPath, "y", "", "")}})
	for _, pieces := range [][2]string{{".", "."}, {"%2", "e."}, {".", "%2e"}, {"..", "/z"}, {"z/", ".."}, {"%252e", "."}} {
		rec.refuse(t, s, `{"x":`+jsonOf(t, pieces[0])+`,"y":`+jsonOf(t, pieces[1])+`}`)
	}
	s = rec.serve(t, Endpoint{Path: "/a/.{x}/b", Params: []Param{inPlace(InPath, "x", "", "")}})
	rec.refuse(t, s, `{"x":"."}`)
}

// A server that decodes before it looks answers a path with an escaped slash with a
// redirect to another one. That is not followed.
func TestAmbiguousPathsAreNotRedirected(t *testing.T) {
	rec := newTestServer(t, nil)
	rec.answer = func(w http.ResponseWriter, r *http.Request, _ string) {
		if r.URL.Path != "/elsewhere" {
			http.Redirect(w, r, "/elsewhere", http.StatusMovedPermanently)
			return
		}
		w.WriteHeader(http.StatusNoContent)
	}
	s := rec.serve(t, Endpoint{Path: "/a/{id}", Params: []Param{inPlace(InPath, "id", "", "")}})
	for text, follows := range map[string]bool{"plain": true, "a b,c": true, "a/b": false, `a\b`: false, "a%b": false, "a;b": false, "a?b": false, "a#b": false} {
		res := assert.Value(callOnly(t, s, `{"id":`+jsonOf(t, text)+`}`))(t)
		assert.Equal(t, rec.take().uri == "/elsewhere", follows, "%q: it follows", text)
		assert.Equal(t, res.IsError, !follows, "%q: the result %s is an error", text, result.Text(res))
	}
}

// The name of a field of a form is the model's where the form is one argument.
func TestHostileNamesInMultipart(t *testing.T) {
	rec := newTestServer(t, nil)
	s := rec.serve(t, Endpoint{Method: "POST", Path: "/a", Body: &Body{ContentType: "multipart/form-data", Argument: "form"}})
	for _, text := range []string{"a\r\nX-Evil: 1\r\n\r\nb", "a\nb", "a\rb", `a"; filename="x`, `a\`, "\r\n--x\r\n", "é"} {
		_, err := callOnly(t, s, jsonOf(t, map[string]any{"form": map[string]string{text: "v"}}))
		got := rec.take()
		if err != nil {
			assert.True(t, got == nil, "%q: refused (%v), and not sent", text, err)
			continue
		}
		_, params, err := mime.ParseMediaType(got.header.Get("Content-Type"))
		assert.OK(t, err)
		r := multipart.NewReader(strings.NewReader(got.body), params["boundary"])
		for parts := 0; ; parts++ {
			part, err := r.NextRawPart()
			if err != nil {
				assert.True(t, err == io.EOF && parts == 1, "%q: %d parts, %v: %q", text, parts, err, got.body)
				break
			}
			value, _ := io.ReadAll(part)
			assert.Equal(t, len(part.Header), 1, "%q", text)
			assert.Equal(t, part.FileName(), "", "%q", text)
			assert.Equal(t, string(value), "v", "%q", text)
		}
	}
}

// FuzzHostile tries what the list does not have.
func FuzzHostile(f *testing.F) {
	rec := newTestServer(f, nil)
	s := rec.serve(f, hostileEndpoint())
	for i, text := range hostileValues() {
		f.Add(uint8(i), text)
	}
	f.Fuzz(func(t *testing.T, place uint8, text string) {
		if !utf8.ValidString(text) {
			text = strings.ToValidUTF8(text, "\ufffd")
		}
		places := hostilePlaces()
		checkHostile(t, rec, s, places[int(place)%len(places)], text)
	})
}
