package consent

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// A Launch is what starting a server means: exactly what is run or connected to, and
// under which name.
type Launch struct {
	Server    string `json:"server,omitempty"`    // configured name, by which policies know it
	Title     string `json:"title,omitempty"`     // the name as written
	Source    string `json:"source,omitempty"`    // where the entry stands, as file:line
	Project   string `json:"project,omitempty"`   // folder of the file, absolute
	Transport string `json:"transport,omitempty"` // stdio, http, sse, auto or unix

	Path string   `json:"path,omitempty"` // absolute path of the program; in a container, as written
	Args []string `json:"args,omitempty"` // its arguments, which may hold secrets
	Dir  string   `json:"dir,omitempty"`  // its working directory, absolute; in a container, empty for that of the image
	// Env holds the variables that it gets, sorted, as NAME=value. Values are as written:
	// a reference such as ${TOKEN} stays. They may hold secrets.
	Env []string `json:"env,omitempty"`

	URL string `json:"url,omitempty"` // of a remote server; may hold secrets
	// Headers are those that are sent there, sorted, as "Name: value", as Env is.
	Headers []string `json:"headers,omitempty"`
	// Login is what the entry says of the login there, in one line: issuer, client,
	// scopes and redirect. Empty if it leaves that to the server.
	Login string `json:"login,omitempty"`
	// ClientSecret is that of the client, as written.
	ClientSecret string `json:"clientSecret,omitempty"`

	// Route says, in one line, how the server is reached if not as usual: through which
	// proxy, and whose certificates count. Empty if as usual.
	Route string `json:"route,omitempty"`

	// Identity says, in one line, on whose behalf connections are made and which header
	// names the user. Empty if all users share one, without an identity of theirs.
	Identity string `json:"identity,omitempty"`
	// Tools says, in one line, which tools of the server are used and under which names.
	// Empty if all are, under their own.
	Tools string `json:"tools,omitempty"`

	// Accepted says, in one line, how many tools of the server count as accepted already,
	// who accepted them and until when, such as by a ledger that came with the project.
	// Empty if none do.
	Accepted string `json:"accepted,omitempty"`

	// References say where the entry puts what of this machine, as written, such as
	// "headers.Authorization: ${env:TOKEN}", see config.Server.References, and of the
	// files that it reads there a hash of the content.
	References []string `json:"references,omitempty"`

	// Isolation is how the program is confined, in one line that says it wholly:
	// kind, image, mounts, network and further arguments. Empty if it is not.
	Isolation string `json:"isolation,omitempty"`
}

// Fingerprint returns the SHA-256, in lower case hexadecimal, of what the launch
// does: all of it but Title, Source and Accepted. The order of Env and Headers does not
// matter, nor the case of the names of headers. From the fingerprint of a launch with a
// weak secret in it, the secret could be guessed.
func (l *Launch) Fingerprint() string {
	d := digest{sha256.New()}
	d.text("mcpbelt launch 2")
	d.text(l.Project)
	d.text(l.Server)
	d.text(l.Transport)
	d.text(l.Path)
	d.list(l.Args)
	d.text(l.Dir)
	d.set(l.Env, func(variable string) string { return variable })
	d.text(l.URL)
	d.set(l.Headers, spellHeader)
	d.text(l.Login)
	d.text(l.ClientSecret)
	d.text(l.Identity)
	d.text(l.Tools)
	d.text(l.Isolation)
	d.list(l.References)
	if l.Route != "" { // what was allowed without one stays so
		d.text(l.Route)
	}
	return hex.EncodeToString(d.Sum(nil))
}

// spellHeader returns a header with its name in its one spelling.
func spellHeader(header string) string {
	name, _, _ := strings.Cut(header, ":")
	return http.CanonicalHeaderKey(name) + header[len(name):]
}

// A digest hashes texts and lists, each with its length in front, so that no two
// launches look the same.
type digest struct{ hash.Hash }

func (d digest) length(n int) {
	_, _ = d.Write(binary.BigEndian.AppendUint64(nil, uint64(n)))
}

func (d digest) text(s string) {
	d.length(len(s))
	_, _ = d.Write([]byte(s))
}

func (d digest) list(list []string) {
	d.length(len(list))
	for _, s := range list {
		d.text(s)
	}
}

func (d digest) set(list []string, spell func(string) string) {
	spelled := make([]string, len(list))
	for i, s := range list {
		spelled[i] = spell(s)
	}
	slices.Sort(spelled)
	d.list(slices.Compact(spelled))
}

// LogValue implements [slog.LogValuer] without what may hold secrets.
func (l *Launch) LogValue() slog.Value {
	return slog.GroupValue(
		slog.String("server", l.Server),
		slog.String("source", l.Source),
		slog.String("target", l.target()),
		slog.String("fingerprint", l.Fingerprint()),
	)
}

// target returns the program, or scheme and host of the URL.
func (l *Launch) target() string {
	if l.URL == "" {
		return l.Path
	}
	u, err := url.Parse(l.URL)
	if err != nil {
		return ""
	}
	if u.Scheme == "unix" { // a path
		return l.URL
	}
	return u.Scheme + "://" + u.Host
}
