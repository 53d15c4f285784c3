package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf16"

	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/approval"
	"github.com/mcpbelt/mcpbelt/session"
)

const (
	callTimeout = time.Minute      // of a call that was approved
	pollTimeout = 25 * time.Second // of a request that waits for news
	maxForm     = 16 << 10         // bytes
)

// A page is the web page. Other users of this machine can reach it, so it lets in only
// requests with the key that was printed.
type page struct {
	tools *registry.Registry
	log   *transcript
	addr  string // the one host that requests may be for

	key    string // gets a browser its cookie
	cookie string
	token  string // is in each form
	html   *template.Template
	policy string // Content-Security-Policy
}

func newPage(tools *registry.Registry, log *transcript, addr string) *page {
	return &page{
		tools: tools, log: log, addr: addr,
		key: rand.Text(), cookie: rand.Text(), token: rand.Text(),
		html: template.Must(template.New("page").Funcs(template.FuncMap{"visible": visible}).Parse(pageHTML)),
		policy: "default-src 'none'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; style-src " +
			sourceOf(pageStyle) + "; script-src " + sourceOf(pageScript),
	}
}

func sourceOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

func (p *page) loginURL() string { return "http://" + p.addr + "/login?key=" + p.key }

// handler checks who asks before anything is done.
func (p *page) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", p.show)
	mux.HandleFunc("GET /changed", p.changed)
	mux.HandleFunc("POST /answer", p.answer)
	let := http.NewServeMux()
	let.HandleFunc("GET /login", p.login)
	let.Handle("/", p.loggedIn(mux))
	// Another site's page can send the browser here, or resolve its own name to
	// this machine: neither gets through.
	sameOrigin := http.NewCrossOriginProtection().Handler(let)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", p.policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		if r.Host != p.addr {
			http.Error(w, "This page is at "+p.addr+".", http.StatusMisdirectedRequest)
			return
		}
		sameOrigin.ServeHTTP(w, r)
	})
}

const cookieName = "approval-example"

func (p *page) login(w http.ResponseWriter, r *http.Request) {
	if !equal(r.URL.Query().Get("key"), p.key) {
		http.Error(w, "Open the address that the program has printed.", http.StatusForbidden)
		return
	}
	http.SetCookie(w, &http.Cookie{Name: cookieName, Value: p.cookie, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode})
	http.Redirect(w, r, "/", http.StatusSeeOther)
}

func (p *page) loggedIn(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if c, err := r.Cookie(cookieName); err != nil || !equal(c.Value, p.cookie) {
			http.Error(w, "Open the address that the program has printed.", http.StatusForbidden)
			return
		}
		// From here on everything is done as the user: the registry shows and
		// takes no calls of other callers.
		next.ServeHTTP(w, r.WithContext(session.WithUser(r.Context(), user)))
	})
}

func equal(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

// show writes the page.
func (p *page) show(w http.ResponseWriter, r *http.Request) {
	// First the lines: whatever comes after them is news for the script.
	lines, _ := p.log.read()
	var body bytes.Buffer
	err := p.html.Execute(&body, map[string]any{
		"Lines":   lines,
		"Waiting": p.tools.Approvals(r.Context()),
		"Token":   p.token,
		"Style":   template.CSS(pageStyle),
		"Script":  template.JS(pageScript),
	})
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = body.WriteTo(w)
}

// changed answers when there are more lines than the page has, or after a while.
func (p *page) changed(w http.ResponseWriter, r *http.Request) {
	has, err := strconv.Atoi(r.URL.Query().Get("lines"))
	if err != nil {
		http.Error(w, "lines is not a number", http.StatusBadRequest)
		return
	}
	timer := time.NewTimer(pollTimeout)
	defer timer.Stop()
	for {
		lines, more := p.log.read()
		if len(lines) != has {
			w.WriteHeader(http.StatusOK)
			return
		}
		select {
		case <-more:
		case <-timer.C:
			w.WriteHeader(http.StatusNoContent)
			return
		case <-r.Context().Done():
			return
		}
	}
}

// answer does what the user decided about a call.
func (p *page) answer(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	if err := r.ParseForm(); err != nil {
		http.Error(w, "The form cannot be read.", http.StatusBadRequest)
		return
	}
	if !equal(r.PostForm.Get("token"), p.token) {
		http.Error(w, "The form is not from this page. Load it again.", http.StatusForbidden)
		return
	}
	// A browser that goes away, as one does on a double click, must not end a
	// call halfway.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), callTimeout)
	defer cancel()
	var err error
	id := r.PostForm.Get("id")
	switch decision := r.PostForm.Get("decision"); decision {
	case "approve", "session":
		_, err = p.tools.Approve(ctx, id, &registry.ApproveOptions{ForSession: decision == "session"})
	case "refuse":
		err = p.tools.Deny(ctx, id, r.PostForm.Get("reason"))
	default:
		http.Error(w, "There is no such decision.", http.StatusBadRequest)
		return
	}
	if err != nil && !errors.As(err, new(*approval.UnknownError)) {
		http.Error(w, fmt.Sprintf("The call was approved, but: %v", err), http.StatusBadGateway)
		return
	}
	// What was answered before needs no words: the page shows what came of it.
	http.Redirect(w, r, "/", http.StatusSeeOther)
}

// visible returns JSON, or other text, with everything written out that could make
// it look like something else, as JSON strings spell it: directions of writing,
// control characters, what takes no room. Nothing is cut off.
func visible(text any) string {
	var s string
	switch t := text.(type) {
	case string:
		s = t
	case []byte:
		s = string(t)
	default:
		s = fmt.Sprintf("%s", t)
	}
	var out strings.Builder
	for _, r := range s {
		switch {
		case r == '\n' || unicode.IsPrint(r):
			out.WriteRune(r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&out, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&out, `\u%04x`, r)
		}
	}
	return out.String()
}
