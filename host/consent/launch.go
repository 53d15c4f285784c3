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
)

// A Launch is what starting a server means: exactly what is run or connected to.
type Launch struct {
	Server    string // configured name
	Title     string // the name as written
	Source    string // where the entry stands, as file:line
	Project   string // folder of the file, absolute
	Transport string // stdio, http, sse or auto

	Path string   // absolute path of the program; in a container, as written
	Args []string // its arguments, which may hold secrets
	Dir  string   // its working directory, absolute; in a container, empty for that of the image
	// Env holds the names of the variables that it gets, sorted. A variable by which
	// programs find further code, such as PATH or NODE_OPTIONS, stands there with
	// its value, as NAME=value.
	Env []string

	URL     string   // of a remote server; may hold secrets
	Headers []string // names of the headers sent there, sorted
	// Login is what the entry says of the login there, in one line: issuer, client,
	// scopes and redirect. Empty if it leaves that to the server.
	Login string

	// References say where the entry puts what of this machine, as written, such as
	// "headers.Authorization: ${env:TOKEN}": see config.Server.References.
	References []string

	// Isolation is how the program is confined, in one line that says it wholly:
	// kind, image, mounts, network and further arguments. Empty if it is not.
	Isolation string
}

// Fingerprint returns the SHA-256, in lower case hexadecimal, of what the launch
// does: all of it but Server, Title and Source. The order of Env and Headers does not
// matter, nor the case of Headers. From the fingerprint of a launch with a secret in
// its arguments a weak secret could be guessed.
func (l *Launch) Fingerprint() string {
	d := digest{sha256.New()}
	d.text("mcpbelt launch 1")
	d.text(l.Project)
	d.text(l.Transport)
	d.text(l.Path)
	d.list(l.Args)
	d.text(l.Dir)
	d.set(l.Env, func(name string) string { return name })
	d.text(l.URL)
	d.set(l.Headers, http.CanonicalHeaderKey)
	d.text(l.Login)
	d.text(l.Isolation)
	if len(l.References) > 0 {
		d.list(l.References)
	}
	return hex.EncodeToString(d.Sum(nil))
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
	return u.Scheme + "://" + u.Host
}
