package config

import (
	"crypto/sha256"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/mcpbelt/mcpbelt/internal/jsonc"
	"github.com/mcpbelt/mcpbelt/internal/mask"
)

// A TLS says how a remote server is recognised, and this program by it, the key "tls". The
// nil TLS is that of the machine.
type TLS struct {
	CAFile   string `json:"caFile,omitempty"`   // certificates of authorities, PEM, trusted besides those of the machine
	CertFile string `json:"certFile,omitempty"` // certificate that is shown to the server, PEM; with KeyFile
	KeyFile  string `json:"keyFile,omitempty"`  // its private key, PEM
	// Insecure says that the server's certificate is not checked: any machine on the way
	// reads and changes everything. It is not so for logins, and an entry with it has a
	// warning.
	Insecure bool `json:"insecure,omitempty"`
}

// route reads through what and how a remote server is reached. An unknown key of "tls"
// is a fault: what was meant to be checked must not be lost.
func (e *entry) route(s *Server) {
	s.Proxy = own(e, "proxy", e.proxy)
	section := e.field("tls")
	if section == nil {
		return
	}
	t := &TLS{}
	wrong := len(e.faults)
	e.object(section.Value, section.At, true,
		key{"caFile", set(&t.CAFile, e.certificateFile)},
		key{"certFile", set(&t.CertFile, e.certificateFile)},
		key{"keyFile", set(&t.KeyFile, e.certificateFile)},
		key{"insecure", func(n *jsonc.Node, at jsonc.Path) {
			if t.Insecure = e.boolOf(n, at); t.Insecure {
				e.warn(n.Offset, at, "is on: the server's certificate is not checked, so that any machine on the way can read and change all that is sent; name its authority in \"caFile\" instead")
			}
		}})
	s.TLS = t
	switch {
	case len(e.faults) > wrong:
	case (t.CertFile == "") != (t.KeyFile == ""):
		e.fail(section.Offset, section.At, "has one of \"certFile\" and \"keyFile\": add the other")
	case t.Insecure && (t.CAFile != "" || t.CertFile != ""):
		e.fail(section.Offset, section.At, "has \"insecure\" and a certificate: remove one of them")
	case strings.HasPrefix(s.Proxy, "https:") && (t.Insecure || t.CertFile != ""):
		e.fail(section.Offset, section.At, "has \"insecure\" or \"certFile\", which would count for an https proxy too: use an http proxy")
	}
}

// proxy returns n expanded as the address of a proxy.
func (e *entry) proxy(n *jsonc.Node, at jsonc.Path) string {
	return e.text(n, at, noControls, func(text string) string {
		u, err := url.Parse(text)
		switch {
		case e.opts.AsWritten && e.refers(text):
		case err != nil || u.Host == "" || u.RawQuery != "" || u.Fragment != "" || strings.Trim(u.Path, "/") != "":
			return "is not the address of a proxy: write http://host:port"
		case !slices.Contains([]string{"http", "https", "socks5", "socks5h"}, u.Scheme):
			return "must start with http://, https://, socks5:// or socks5h://"
		}
		return ""
	})
}

// certificateFile returns n expanded as a path; a relative one starts at the folder of
// the file.
func (e *entry) certificateFile(n *jsonc.Node, at jsonc.Path) string {
	text := e.text(n, at, noNUL, required("write the path of a file"))
	if text == "" || e.opts.AsWritten {
		return text
	}
	return e.abs(text)
}

// launchRoute says all that an entry says of the way to the server, so that none of it
// can change unseen. The file of certificates holds those that are trusted.
func launchRoute(s *Server) string {
	var parts []string
	if s.Proxy != "" {
		parts = append(parts, fmt.Sprintf("proxy %q", mask.URL(s.Proxy)))
	}
	if t := s.TLS; t != nil {
		if t.Insecure {
			parts = append(parts, "the server's certificate is NOT CHECKED")
		}
		if t.CAFile != "" {
			content := "unreadable"
			if data, err := read(t.CAFile, true, jsonc.MaxSize); err == nil {
				content = fmt.Sprintf("SHA-256 %x", sha256.Sum256(data))
			}
			parts = append(parts, fmt.Sprintf("authorities %q (%s)", t.CAFile, content))
		}
		if t.CertFile != "" {
			parts = append(parts, fmt.Sprintf("shows the certificate %q with the key %q", t.CertFile, t.KeyFile))
		}
	}
	return strings.Join(parts, ", ")
}
