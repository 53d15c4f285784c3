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
		inPlace(InHeader, "X-H", "", ""), inPlace(InCookie, "ck", "", ""), inPlace(InBody, "field", "", ""), inPlace(InBody, "other", "", ""),
	}, Body: &Body{ContentType: "application/x-www-form-urlencoded"}}
}

// checkHostile calls the endpoint with a text in one place, and checks that what
// arrives is that text there, and nothing anywhere else. It reports whether the call
// was made.
func checkHostile(t testing.TB, rec *recorder, s *Service, place, text string) bool {
	t.Helper()
	values := map[string]string{"id": "1", "part": "p", "q": "v", "X-H": "h", "ck": "c", "field": "f", "other": "o"}
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
	if err != nil {
		if got != nil {
			t.Errorf("%s %q: refused (%v), but %s arrived", place, text, err, got.uri)
		}
		if place != "deepKey" && len(text) > 3 && strings.Contains(err.Error(), text) {
			t.Errorf("%s %q: the error shows it: %v", place, text, err)
		}
		return false
	}
	if got == nil {
		t.Errorf("%s %q: nothing arrived", place, text)
		return false
	}
	wantSegments := []string{"", "v1", "things", values["id"], "parts", "x-" + values["part"] + ".json"}
	raw, _, _ := strings.Cut(got.uri, "?")
	var segments []string
	for segment := range strings.SplitSeq(raw, "/") {
		decoded, err := url.PathUnescape(segment)
		if err != nil {
			t.Errorf("%s %q: segment %q: %v", place, text, segment, err)
		}
		assert.Equal(t, strings.ContainsAny(segment, "?#\\;"), false, "%s %q: strings.ContainsAny(segment, \"?#\\\\;\")", place, text)
		segments = append(segments, decoded)
	}
	assert.Equal(t, fmt.Sprintf("%q", segments), fmt.Sprintf("%q", wantSegments), "%s %q", place, text)
	// No server that decodes before it looks finds another directory above.
	if clean := got.url.JoinPath().Path; strings.Count(clean, "/") > 0 && !strings.HasPrefix(clean, "/v1/things/") {
		t.Errorf("%s %q: %q is %q when it is cleaned", place, text, raw, clean)
	}
	query, err := url.ParseQuery(got.url.RawQuery)
	if err != nil || len(query) != 3 || !slices.Equal(query["q"], []string{values["q"]}) || !slices.Equal(query["list"], []string{"l", values["q"]}) || !slices.Equal(query["deep"], []string{jsonOf(t, args["deep"])}) {
		t.Errorf("%s %q: query %q: %v", place, text, got.url.RawQuery, err)
	}
	assert.Equal(t, fmt.Sprintf("%q", got.header.Values("X-H")), fmt.Sprintf("%q", []string{values["X-H"]}), "%s %q", place, text)
	for name := range got.header {
		switch name {
		case "X-H", "Accept", "Accept-Encoding", "Connection", "Content-Length", "Content-Type", "Cookie", "User-Agent":
		default:
			t.Errorf("%s %q: header %s arrived", place, text, name)
		}
	}
	if len(got.cookies) != 1 || got.cookies[0].Name != "ck" {
		t.Errorf("%s %q: cookies %v", place, text, got.cookies)
	} else if value, err := url.PathUnescape(got.cookies[0].Value); err != nil || value != values["ck"] {
		t.Errorf("%s %q: cookie %q", place, text, got.cookies[0].Value)
	}
	form, err := url.ParseQuery(got.body)
	if err != nil || len(form) != 2 || !slices.Equal(form["field"], []string{values["field"]}) || !slices.Equal(form["other"], []string{values["other"]}) {
		t.Errorf("%s %q: body %q", place, text, got.body)
	}
	assert.Equal(t, got.method, http.MethodPut, "%s %q: method", place, text)
	return true
}

func hostilePlaces() []string {
	return []string{"id", "part", "q", "deepKey", "X-H", "ck", "field"}
}

// A hostile value arrives as it is, in its place, or not at all.
func TestHostileValuesStayInTheirPlace(t *testing.T) {
	rec := newRecorder(t)
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
	for place, least := range map[string]int{"id": all / 2, "part": all / 2, "q": all, "deepKey": all, "X-H": all * 3 / 4, "ck": all, "field": all} {
		if made[place] < least {
			t.Errorf("%s: %d of %d values were sent, want %d: too much is refused", place, made[place], all, least)
		}
	}
}

// What would be read as a step up, however it is written, is refused.
func TestStepsUpAreRefused(t *testing.T) {
	rec := newRecorder(t)
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
	rec := newRecorder(t)
	rec.answer = func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/elsewhere" {
			http.Redirect(w, r, "/elsewhere", http.StatusMovedPermanently)
			return
		}
		w.WriteHeader(http.StatusNoContent)
	}
	s := rec.serve(t, Endpoint{Path: "/a/{id}", Params: []Param{inPlace(InPath, "id", "", "")}})
	for text, follows := range map[string]bool{"plain": true, "a b,c": true, "a/b": false, `a\b`: false, "a%b": false, "a;b": false, "a?b": false, "a#b": false} {
		res := assert.Value(callOnly(t, s, `{"id":`+jsonOf(t, text)+`}`))(t)
		if got := rec.take().url.Path == "/elsewhere"; got != follows || res.IsError == follows {
			t.Errorf("%q: followed %v, result %s", text, got, textIn(t, res))
		}
	}
}

// The name of a field of a form is the model's where the form is one argument.
func TestHostileNamesInMultipart(t *testing.T) {
	rec := newRecorder(t)
	s := rec.serve(t, Endpoint{Method: "POST", Path: "/a", Body: &Body{ContentType: "multipart/form-data", Argument: "form"}})
	for _, text := range []string{"a\r\nX-Evil: 1\r\n\r\nb", "a\nb", "a\rb", `a"; filename="x`, `a\`, "\r\n--x\r\n", "é"} {
		_, err := callOnly(t, s, jsonOf(t, map[string]any{"form": map[string]string{text: "v"}}))
		got := rec.take()
		if err != nil {
			if got != nil {
				t.Errorf("%q: refused (%v), but sent", text, err)
			}
			continue
		}
		_, params, err := mime.ParseMediaType(got.header.Get("Content-Type"))
		assert.OK(t, err)
		r := multipart.NewReader(strings.NewReader(got.body), params["boundary"])
		for parts := 0; ; parts++ {
			part, err := r.NextRawPart()
			if err != nil {
				if err != io.EOF || parts != 1 {
					t.Errorf("%q: %d parts, %v: %q", text, parts, err, got.body)
				}
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
	rec := newRecorder(f)
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
