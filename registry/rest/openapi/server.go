package openapi

import (
	"bytes"
	"net/url"
	"regexp"
	"strings"

	"github.com/mcpbelt/mcpbelt/internal/plain"
	"github.com/mcpbelt/mcpbelt/registry/rest"
)

// baseURL returns where the service is; empty if it has to be said.
func (d *document) baseURL() (string, error) {
	if base := d.opts.BaseURL; base != "" {
		if reason := refusedAPI(&rest.API{Name: "api", BaseURL: base}); reason != "" {
			return "", optionError("BaseURL", reason)
		}
		return base, nil
	}
	servers := d.root.get("servers")
	if len(servers.each()) == 0 {
		d.problems.tell(nil, d.root, "", "the document names no server: set Options.BaseURL")
		return "", nil
	}
	server := servers.each()[0]
	base, reason := d.serverURL(server)
	if reason != "" {
		d.problems.tell(nil, server, "", reason+": set Options.BaseURL")
	}
	return base, nil
}

// variables matches those in the URL of a server, also one that is not closed.
var variables = regexp.MustCompile(`\{[^}]*\}?`)

// serverURL returns the URL of a server, or what is wrong with it. No part of it can
// be taken for the name of a secret.
func (d *document) serverURL(server *node) (base, reason string) {
	missing := ""
	u, err := url.Parse(variables.ReplaceAllStringFunc(server.get("url").text(), func(variable string) string {
		name := strings.Trim(variable, "{}")
		value := server.get("variables").get(name).get("default").text()
		if value == "" || !strings.HasSuffix(variable, "}") {
			missing = "the variable " + plain.Quote(name) + " of the server's URL has no value"
		}
		return value
	}))
	if missing != "" {
		return "", missing
	}
	switch {
	case err != nil:
		return "", "the server's URL is none"
	case u.Scheme == "" && u.Opaque == "":
		return "", "the server's URL is relative to where the document came from"
	case u.Scheme != "https" && u.Scheme != "http" || u.Opaque != "" || u.Host == "":
		return "", "the server's URL is not one of https or http"
	case u.User != nil:
		return "", "the server's URL holds a login, which belongs to the login of the API"
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return "", "the server's URL has a query or a fragment, which would be lost"
	}
	base = strings.ReplaceAll(u.String(), "$", "$$")
	if reason := refusedAPI(&rest.API{Name: "api", BaseURL: base}); reason != "" {
		return "", "the server's URL cannot be used: " + reason
	}
	return base, ""
}

// sameServer refuses an operation that has another server: the login of the API is
// not for it.
func (b *builder) sameServer() *loss {
	servers := b.op.at.get("servers")
	if len(servers.each()) == 0 {
		servers = b.op.item.get("servers")
	}
	if len(servers.each()) == 0 {
		return nil
	}
	at := servers.each()[0]
	if main := b.root.get("servers").each(); len(main) > 0 && bytes.Equal(at.raw, main[0].raw) {
		return nil
	}
	return lost(at, "it has a server of its own: take it into an API of its own by Options.Include and Options.BaseURL")
}
