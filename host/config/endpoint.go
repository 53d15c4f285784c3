package config

import (
	"cmp"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcpbelt/mcpbelt/internal/dialect"
	"github.com/mcpbelt/mcpbelt/internal/jsonc"
)

// endpoint reads what says where the server is: the transport and its command
// or URL.
func (e *entry) endpoint(s *Server) {
	command := cmp.Or(e.field("command"), e.field(dialect.CommandLine))
	address := e.address()
	if s.Transport = e.transport(); s.Transport == "" && address != nil {
		if scheme, _, _ := strings.Cut(address.Value.Text, ":"); slices.Contains(e.opts.Transports, scheme) {
			s.Transport = scheme
		}
	}
	switch {
	case slices.Contains(e.opts.Transports, s.Transport):
		if command != nil {
			e.command(s, command)
		}
		if address != nil {
			s.URL = e.text(address.Value, address.At, noNUL)
		}
		return
	case command == nil && address == nil:
		e.missing = len(e.faults) == 0 // else one of them may be what is missing
		return
	case command != nil && address != nil:
		e.fail(address.Offset, address.At, "the entry has %q too: remove one of them", command.Written)
		return
	case command != nil:
		if s.Transport == "" || s.Transport == TransportAuto {
			s.Transport = TransportStdio
		}
		if s.Transport != TransportStdio {
			e.fail(command.Offset, command.At, "the transport %s has no command: use %q, or the type %q", s.Transport, e.word("url"), e.kind(TransportStdio))
			return
		}
		e.command(s, command)
	default:
		if s.Transport == TransportStdio {
			e.fail(address.Offset, address.At, "the transport stdio has no URL: use %q, or the type %q", e.word("command"), e.kind(TransportHTTP))
			return
		}
		if address.Key == "httpUrl" {
			if s.Transport = cmp.Or(s.Transport, TransportHTTP); s.Transport != TransportHTTP {
				e.fail(address.Offset, address.At, "is for the type \"http\" but the type is %q: use \"url\"", s.Transport)
				return
			}
		}
		if s.Transport == "" && !isSocket(address) {
			s.Transport = TransportAuto
		}
		if s.Transport == TransportUnix || isSocket(address) {
			e.socket(s, address)
		} else {
			s.URL = e.ruled(address.Value, address.At, true, e.urlRule)
		}
	}
	e.idle(s)
}

// idle warns of keys that have no effect on a server of its kind. Those of the second
// list are taken for absent.
func (e *entry) idle(s *Server) {
	kind, kept, dropped := "a remote server", []string{"args", "env", "cwd"}, []string{"envFile", "isolation"}
	switch s.Transport {
	case "":
		return
	case TransportStdio:
		kind, kept, dropped = "a local server", []string{"headers"}, []string{"auth", "proxy", "tls"}
	case TransportUnix:
		kind, kept, dropped = "a server behind a socket", append(kept, "headers", "userHeader"), append(dropped, "auth", "proxy", "tls")
	}
	for _, key := range append(kept, dropped...) {
		f := e.field(key)
		if f == nil {
			continue
		}
		drop := slices.Contains(dropped, key)
		if drop && f.Value.Kind == jsonc.Object || len(f.Value.Elems)+len(f.Value.Members)+len(f.Value.Text) > 0 {
			e.warn(f.Offset, f.At, "has no effect on %s", kind)
		}
		if drop {
			f.Value = &jsonc.Node{Offset: f.Value.Offset}
		}
	}
}

// address returns the one field that holds the server's URL, or nil.
func (e *entry) address() *dialect.Field {
	var found *dialect.Field
	for _, key := range []string{"url", "httpUrl", "serverUrl"} {
		m := e.field(key)
		if m == nil || m.Value.Kind == jsonc.String && m.Value.Text == "" && e.field("command") != nil {
			continue // some programs leave it empty for a local server
		}
		if found != nil {
			e.fail(m.Offset, m.At, "the entry has %q too: remove one of them", found.Written)
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
		m := e.field(key)
		if m == nil || !e.check(m.Value, m.At, jsonc.String) {
			continue
		}
		t := dialect.Transport(m.Value.Text)
		switch t {
		case TransportStdio, TransportHTTP, TransportSSE, TransportAuto, TransportUnix:
		default:
			if t = m.Value.Text; slices.Contains(e.opts.Transports, t) {
				break
			}
			e.fail(m.Value.Offset, m.At, "unknown transport: write %s", e.kinds())
			continue
		}
		if said != "" && said != t {
			e.fail(m.Offset, m.At, "differs from \"type\": remove one of them")
			continue
		}
		said = t
	}
	return said
}

// kind is how the file's program writes a transport, if it takes no other word.
func (e *entry) kind(transport string) string {
	if e.write == nil || !e.write.Strict {
		return transport
	}
	return cmp.Or(e.write.Transports[transport], e.write.Transports[TransportAuto], transport)
}

// kinds are the words for transports that a file can have.
func (e *entry) kinds() string {
	if e.kind(TransportStdio) == TransportStdio {
		return "stdio, http, streamable-http, sse, auto or unix"
	}
	return e.kind(TransportStdio) + " or " + e.kind(TransportHTTP)
}

// command reads the keys of a local server.
func (e *entry) command(s *Server, c *dialect.Field) {
	program, at := c.Value, c.At
	if c.Key == dialect.CommandLine {
		if len(c.Value.Elems) == 0 {
			e.fail(c.Value.Offset, c.At, "is empty: write the program to run and its arguments")
			return
		}
		program, at = &c.Value.Elems[0], c.At.Index(0)
		for i := 1; i < len(c.Value.Elems); i++ {
			s.Args = append(s.Args, e.argument(&c.Value.Elems[i], c.At.Index(i)))
		}
	}
	s.Command = e.text(program, at, noNUL, required("write the program to run"))
	if m := e.field("args"); m != nil {
		s.Args = append(s.Args, e.list(m.Value, m.At, e.argument)...)
	}
	if strings.ContainsAny(s.Command, " \t") && !strings.ContainsAny(s.Command, `/\`) && len(s.Args) == 0 {
		e.warn(program.Offset, at, "has spaces but is run as one program, not by a shell: put the words after the first in \"args\"")
	}
	if m := e.field("cwd"); m != nil {
		s.Cwd = e.system(m.Value, m.At)
		if s.Cwd != "" && !filepath.IsAbs(s.Cwd) && !e.opts.AsWritten {
			from := e.dir
			if e.dialect.InProject && e.project != "" {
				from = e.project
			}
			s.Cwd = filepath.Join(from, s.Cwd)
		}
	}
}

// argument is system for an argument of a command, in which inputs and the keyring may wait
// for the approval.
func (e *entry) argument(n *jsonc.Node, at jsonc.Path) string {
	return e.ruled(n, at, true, noNUL)
}

// list returns the elements of the array n, each as read returns it.
func (e *entry) list(n *jsonc.Node, at jsonc.Path, read func(n *jsonc.Node, at jsonc.Path) string) []string {
	if !e.check(n, at, jsonc.Array) {
		return nil
	}
	list := make([]string, len(n.Elems))
	for i := range n.Elems {
		list[i] = read(&n.Elems[i], at.Index(i))
	}
	return list
}

// url returns n expanded if it is a URL that can be used.
func (e *entry) url(n *jsonc.Node, at jsonc.Path) string {
	return e.text(n, at, e.urlRule)
}

func (e *entry) urlRule(text string) string {
	scheme, _, _ := strings.Cut(text, ":")
	u, err := url.Parse(text)
	switch {
	case strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r == 0x7f }):
		return "holds a space, a line break or a control character: remove it or write it as %XX"
	case e.opts.AsWritten && e.refers(text) || e.waits && strings.Contains(text, "${"):
		return "" // what it will be is not known
	case text == "":
		return "is empty: write the server's http or https URL"
	case !strings.EqualFold(scheme, "http") && !strings.EqualFold(scheme, "https"):
		return "must start with https:// or http://"
	case err != nil: // which quotes the URL, and that may hold a secret
		return "is not a URL: write it as https://host/path"
	case u.Hostname() == "":
		return "has no host: write it as https://host/path"
	case u.User != nil:
		return "has a user name in it: put the credentials in \"headers\", as Authorization"
	}
	return ""
}
