package rest

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/deadport"
	"github.com/mcpbelt/mcpbelt/internal/guardhttp"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry/result"
)

// What an answer becomes.
func TestAnswersBecomeResults(t *testing.T) {
	rec := newTestServer(t, nil)
	const big = 2_000
	for _, test := range []struct {
		status     int
		kind, body string
		want       any    // a content, or the text of one
		structured string // empty: none
	}{
		{200, "application/json", "{\"a\": 12345678901234567890 }\n", "{\"a\": 12345678901234567890 }\n", `{"a": 12345678901234567890 }`},
		{200, "application/problem+json; charset=UTF-8", `{"a":1}`, `{"a":1}`, `{"a":1}`},
		{201, "application/json", "\xef\xbb\xbf{}", "{}", "{}"},
		{200, "application/json", `[1,2]`, `[1,2]`, ""},
		{200, "application/json", `"x"`, `"x"`, ""},
		{200, "application/json", `{"a":1,"a":2}`, `{"a":1,"a":2}`, ""},
		{200, "application/json", `{"a":1`, `{"a":1`, ""},
		{200, "application/json", "{\"a\":\"\xff\"}", "{\"a\":\"\ufffd\"}", "{\"a\":\"\ufffd\"}"},
		{200, "text/plain", `{"a":1}`, `{"a":1}`, ""},
		{200, "text/plain; charset=iso-8859-1", "caf\xe9", "café", ""},
		{200, "text/html; charset=", "<p>", "<p>", ""},
		{200, "application/xml", "<a/>", "<a/>", ""},
		{200, "image/svg+xml", "<svg/>", "<svg/>", ""},
		{200, "", "plain", "plain", ""},
		{200, "application/octet-stream", "plain\n", "plain\n", ""},
		{200, "nonsense", "a", "a", ""},
		{200, "image/png", "\x89PNG", &mcp.ImageContent{MIMEType: "image/png", Data: []byte("\x89PNG")}, ""},
		{200, "audio/wav; x=y", "RIFF", &mcp.AudioContent{MIMEType: "audio/wav", Data: []byte("RIFF")}, ""},
		{200, "application/pdf", "%PDF\x00", embedded("application/pdf", "%PDF\x00"), ""},
		{200, "application/octet-stream", "a\x00b", embedded("application/octet-stream", "a\x00b"), ""},
		{200, "text/plain; charset=koi8-r", "\xc1", embedded("text/plain", "\xc1"), ""},
		{204, "", "", "The API answered with 204 No Content and no content.", ""},
		{200, "application/json", "", "The API answered with 200 OK and no content.", ""},
		{200, "text/plain", strings.Repeat("x", big), strings.Repeat("x", big), ""},
	} {
		rec.answer = func(w http.ResponseWriter, _ *http.Request, _ string) {
			w.Header()["Content-Type"] = nil
			if test.kind != "" {
				w.Header().Set("Content-Type", test.kind)
			}
			w.WriteHeader(test.status)
			_, _ = io.WriteString(w, test.body)
		}
		res := assert.Value(callOnly(t, rec.serve(t, Endpoint{Path: "/p", MaxBytes: big}), `{}`))(t)
		want := test.want
		if text, ok := want.(string); ok {
			want = &mcp.TextContent{Text: text}
		}
		structured, _ := res.StructuredContent.(json.RawMessage)
		assert.False(t, res.IsError, "%s %.40q: an error", test.kind, test.body)
		assert.Equal(t, jsonOf(t, res.Content), jsonOf(t, []any{want}), "%s %.40q: the content", test.kind, test.body)
		assert.Equal(t, string(structured), test.structured, "%s %.40q: the structured content", test.kind, test.body)
		assert.Value(json.Marshal(res))(t)
	}
}

func embedded(media, data string) mcp.Content {
	return &mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "rest:shop/op", MIMEType: media, Blob: []byte(data)}}
}

// Failures of the API are results, which say what a model can act on.
func TestFailuresBecomeResults(t *testing.T) {
	rec := newTestServer(t, nil)
	for _, test := range []struct {
		status     int
		header     map[string]string
		body, want string
	}{
		{404, nil, "", "The API answered with 404 Not Found."},
		{422, map[string]string{"Content-Type": "application/json"}, `{"error":"limit"}`, "The API answered with 422 Unprocessable Entity.\n{\"error\":\"limit\"}"},
		{429, map[string]string{"Retry-After": "30"}, "slow\n", "The API answered with 429 Too Many Requests. Retry-After: 30 s.\nslow\n"},
		{503, map[string]string{"Retry-After": "Fri, 31 Dec 1999 23:59:59 GMT"}, "", "The API answered with 503 Service Unavailable. Retry-After: Fri, 31 Dec 1999 23:59:59 GMT."},
		{599, nil, "", "The API answered with 599."},
		{500, map[string]string{"Content-Type": "application/pdf"}, "%PDF\x00", "The API answered with 500 Internal Server Error.\n[5 bytes of application/pdf]"},
		{302, map[string]string{"Location": "https://user:pass@other.example/login?token=abc#x"}, "", "The API answered with 302 Found. It redirects to https://other.example/login?..., where the call does not follow."},
		{500, map[string]string{"Content-Type": "text/plain; charset=utf-8"}, strings.Repeat("é", maxFailure), "The API answered with 500 Internal Server Error.\n" + strings.Repeat("é", maxFailure/2-2) + "…\n[the rest is left out]"},
		{500, map[string]string{"Content-Type": "text/plain"}, strings.Repeat("x", 20_000), "The API answered with 500 Internal Server Error.\n" + strings.Repeat("x", maxFailure-3) + "…\n[the rest is left out]"},
		{200, nil, strings.Repeat("x", 20_000), "The API answered with 200 OK, but the answer is larger than the 10000 bytes that are allowed, and was left out. If the arguments allow it, ask for less. The call itself was carried out."},
	} {
		rec.answer = func(w http.ResponseWriter, _ *http.Request, _ string) {
			for name, value := range test.header {
				w.Header().Set(name, value)
			}
			w.WriteHeader(test.status)
			_, _ = io.WriteString(w, test.body)
		}
		res := assert.Value(callOnly(t, rec.serve(t, Endpoint{Path: "/p", MaxBytes: 10_000}), `{}`))(t)
		assert.True(t, res.IsError, "%d: an error", test.status)
		assert.Equal(t, result.Text(res), test.want, "%d", test.status)
	}
}

// An answer without content says where to look.
func TestLocationBecomesAResult(t *testing.T) {
	rec := newTestServer(t, nil)
	rec.answer = func(w http.ResponseWriter, _ *http.Request, _ string) {
		w.Header().Set("Location", "/things/7")
		w.WriteHeader(http.StatusCreated)
	}
	res := assert.Value(callOnly(t, rec.serve(t, Endpoint{Method: "POST", Path: "/p"}), `{}`))(t)
	assert.Equal(t, result.Text(res), "The API answered with 201 Created and no content. Location: /things/7")
}

// A request without an answer is a result, too, and its error tells a program what
// became of it.
func TestNoAnswerIsAResult(t *testing.T) {
	rec := newTestServer(t, nil)
	rec.answer = func(http.ResponseWriter, *http.Request, string) { panic(http.ErrAbortHandler) }
	closed := deadport.URL(t)
	for _, test := range []struct {
		url     string
		outcome mcp.Outcome
		want    string
	}{
		{closed, mcp.NotSent, " It was not carried out."},
		{rec.URL, mcp.Unknown, " It may have been carried out or not; check before you call again."},
	} {
		s := newTestService(t, &API{Name: "shop", BaseURL: test.url + "/base-secret", Endpoints: []Endpoint{{Name: "op", Method: "POST", Path: "/p", Params: []Param{inPlace(InQuery, "q", "", "")}}}})
		res := assert.Value(callOnly(t, s, `{"q":"my-value"}`))(t)
		assert.True(t, res.IsError, "an error")
		assert.Contains(t, result.Text(res), test.want)
		assert.Lacks(t, result.Text(res), "my-value")
		assert.Lacks(t, result.Text(res), "base-secret")
		assert.As[*callError](t, res.Err)
		assert.Equal(t, mcp.OutcomeOf(res.Err), test.outcome, "the outcome")
	}
}

// FuzzResult looks for answers that make a result that cannot be encoded or read.
func FuzzResult(f *testing.F) {
	f.Add(200, "application/json; charset=utf-16", "x; y", []byte(`{"a":1}`), false)
	f.Add(404, "text/html; charset=\"iso-8859-1", "30", []byte("\xff\x00"), true)
	f.Add(302, "image/png", "//u:p@h?x#y", []byte{}, false)
	f.Add(200, "audio/\x00", "\r\n", []byte("\xef\xbb\xbf[1"), false)
	f.Fuzz(func(t *testing.T, status int, kind, header string, body []byte, truncated bool) {
		o := &operation{service: &Service{api: &API{Name: "shop"}}, Endpoint: &Endpoint{Name: "op", Method: "GET"}}
		a := &guardhttp.Answer{Status: status, Body: body, Truncated: truncated, Header: http.Header{
			"Content-Type": {kind}, "Location": {header}, "Retry-After": {header}, "Etag": {header},
		}}
		res := o.result(a)
		assert.Value(json.Marshal(res))(t)
		assert.Equal(t, len(res.Content), 1)
		assert.Equal(t, res.IsError, status < 200 || status > 299 || truncated)
		text, ok := res.Content[0].(*mcp.TextContent)
		assert.True(t, !ok || utf8.ValidString(text.Text), "valid text %q", res.Content)
		assert.True(t, !res.IsError || res.StructuredContent == nil, "a failure has no structured content")
	})
}

// FuzzPath looks for values that leave a path, and templates that let them.
func FuzzPath(f *testing.F) {
	f.Add("/a/{x}/b", "..", ".")
	f.Add("/{x}{y}.json/", "%2", "e/..")
	f.Add("/v1/:{x}/%2e{y}", "a", ".")
	f.Fuzz(func(t *testing.T, path, x, y string) {
		template, err := readPath(path)
		if err != nil {
			return
		}
		got, at := template.expand(map[string]string{"x": escape(x), "y": escape(y)})
		if at != "" {
			return
		}
		for _, name := range template.names() {
			if name != "x" && name != "y" {
				return // which New refuses
			}
		}
		assert.True(t, strings.Count(got, "/") == len(template) && !strings.ContainsAny(got, "?#\\ "), "%q with %q and %q became %q", path, x, y, got)
		// As a server that decodes before it looks sees it.
		depth := 0
		for _, piece := range strings.FieldsFunc(decode(decode(got)), func(r rune) bool { return r == '/' || r == '\\' }) {
			depth++
			assert.True(t, piece != ".." && piece != ".", "%q with %q and %q became %q without a step in it", path, x, y, got)
		}
	})
}
