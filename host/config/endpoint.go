package config

import (
	"net/url"
	"path/filepath"
	"strings"

	"github.com/mcpbelt/mcpbelt/internal/jsonc"
)

// endpoint reads what says where the server is: the transport and its command
// or URL.
func (e *entry) endpoint(s *Server, m *jsonc.Member) {
	command := e.member("command")
	address := e.address()
	s.Transport = e.transport()
	switch {
	case command == nil && address == nil:
		e.fail(m.Offset, e.at, "has neither \"command\" nor \"url\": add \"command\" for a local server or \"url\" for a remote one")
		return
	case command != nil && address != nil:
		e.fail(address.Offset, e.at.Key(address.Key), "the entry has \"command\" too: remove one of them")
		return
	case command != nil:
		if s.Transport == "" {
			s.Transport = TransportStdio
		}
		if s.Transport != TransportStdio {
			e.fail(command.Offset, e.at.Key("command"), "the transport %s has no command: use \"url\", or the type \"stdio\"", s.Transport)
			return
		}
		e.command(s, &command.Value)
	default:
		if s.Transport == TransportStdio {
			e.fail(address.Offset, e.at.Key(address.Key), "the transport stdio has no URL: use \"command\", or the type \"http\"")
			return
		}
		if address.Key == "httpUrl" {
			if s.Transport != "" && s.Transport != TransportHTTP {
				e.fail(address.Offset, e.at.Key(address.Key), "is for the type \"http\" but the type is %q: use \"url\"", s.Transport)
				return
			}
			s.Transport = TransportHTTP
		}
		if s.Transport == "" {
			s.Transport = TransportAuto
		}
		s.URL = e.url(&address.Value, e.at.Key(address.Key))
		for _, key := range []string{"args", "env", "cwd"} {
			if m := e.member(key); m != nil && len(m.Value.Elems)+len(m.Value.Members)+len(m.Value.Text) > 0 {
				e.warn(m.Offset, e.at.Key(key), "has no effect on a remote server")
			}
		}
	}
}

// address returns the one member that holds the server's URL, or nil.
func (e *entry) address() *jsonc.Member {
	var found *jsonc.Member
	for _, key := range []string{"url", "httpUrl", "serverUrl"} {
		m := e.member(key)
		if m == nil {
			continue
		}
		if found != nil {
			e.fail(m.Offset, e.at.Key(key), "the entry has %q too: remove one of them", found.Key)
			continue
		}
		found = m
	}
	return found
}

// transport returns what type and transport say, or "".
func (e *entry) transport() string {
	said := ""
	for _, key := range []string{"type", "transport"} {
		m := e.member(key)
		if m == nil || !e.check(&m.Value, e.at.Key(key), jsonc.String) {
			continue
		}
		var t string
		switch strings.NewReplacer("-", "", "_", "").Replace(strings.ToLower(m.Value.Text)) {
		case "stdio":
			t = TransportStdio
		case "http", "streamablehttp":
			t = TransportHTTP
		case "sse":
			t = TransportSSE
		case "auto":
			t = TransportAuto
		default:
			e.fail(m.Value.Offset, e.at.Key(key), "unknown transport: write stdio, http, streamable-http, sse or auto")
			continue
		}
		if said != "" && said != t {
			e.fail(m.Offset, e.at.Key(key), "differs from \"type\": remove one of them")
			continue
		}
		said = t
	}
	return said
}

// command reads the keys of a local server.
func (e *entry) command(s *Server, n *jsonc.Node) {
	var ok bool
	if s.Command, ok = e.system(n, e.at.Key("command")); ok && strings.TrimSpace(s.Command) == "" {
		e.fail(n.Offset, e.at.Key("command"), "is empty: write the program to run")
	}
	if m := e.member("args"); m != nil && e.check(&m.Value, e.at.Key("args"), jsonc.Array) {
		for i := range m.Value.Elems {
			arg, _ := e.system(&m.Value.Elems[i], e.at.Key("args").Index(i))
			s.Args = append(s.Args, arg)
		}
	}
	if strings.ContainsAny(s.Command, " \t") && !strings.ContainsAny(s.Command, `/\`) && len(s.Args) == 0 {
		e.warn(n.Offset, e.at.Key("command"), "has spaces but is run as one program, not by a shell: put the words after the first in \"args\"")
	}
	if m := e.member("cwd"); m != nil {
		s.Cwd, _ = e.system(&m.Value, e.at.Key("cwd"))
		if s.Cwd != "" && !filepath.IsAbs(s.Cwd) {
			s.Cwd = filepath.Join(e.dir, s.Cwd)
		}
	}
	if m := e.member("headers"); m != nil && len(m.Value.Members) > 0 {
		e.warn(m.Offset, e.at.Key("headers"), "has no effect on a local server")
	}
}

// system returns n expanded as a string that is handed to the operating system.
func (e *entry) system(n *jsonc.Node, at jsonc.Path) (string, bool) {
	text, ok := e.expanded(n, at)
	if ok && strings.ContainsRune(text, 0) {
		e.fail(n.Offset, at, "holds a NUL byte: remove it")
		return "", false
	}
	return text, ok
}

// url returns n expanded if it is a URL that can be used.
func (e *entry) url(n *jsonc.Node, at jsonc.Path) string {
	text, ok := e.expanded(n, at)
	if !ok {
		return ""
	}
	if strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r == 0x7f }) {
		e.fail(n.Offset, at, "holds a space, a line break or a control character: remove it or write it as %%XX")
		return ""
	}
	u, err := url.Parse(text)
	switch {
	case text == "":
		e.fail(n.Offset, at, "is empty: write the server's http or https URL")
	case err != nil: // which quotes the URL, and that may hold a secret
		e.fail(n.Offset, at, "is not a URL: write it as https://host/path")
	case u.Scheme != "http" && u.Scheme != "https":
		e.fail(n.Offset, at, "must start with https:// or http://")
	case u.Hostname() == "":
		e.fail(n.Offset, at, "has no host: write it as https://host/path")
	case u.User != nil:
		e.fail(n.Offset, at, "has a user name in it: put the credentials in \"headers\", as Authorization")
	default:
		return text
	}
	return ""
}
