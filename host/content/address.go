package content

import (
	"fmt"
	"strings"

	"github.com/mcpbelt/mcpbelt/internal/plain"
	"github.com/mcpbelt/mcpbelt/mcp"
)

// The two kinds of addresses: that of a page of MCP Apps has the scheme by which hosts know it.
const (
	addressScheme = "mcpbelt:"
	pageScheme    = "ui://"
)

// maxShown bounds what errors show of an address or a name, in bytes.
const maxShown = 256

// Address returns the address of a server's resource among those of all servers:
// "mcpbelt:", the server's name, a slash, and the URI as the server has it, byte for byte, such as
// "mcpbelt:github/file:///x?y#z". Of a page of MCP Apps, such as "ui://clock.html", it is
// "ui://github/clock.html". [ParseAddress] undoes that, whatever the URI is. An address is a URI if the server's is
// one, and stays what it is in programs that parse URLs.
//
// The address of a resource template is made in the same way. It expands to the address
// of a resource.
func Address(server, uri string) string {
	if page, ok := strings.CutPrefix(uri, pageScheme); ok {
		return pageScheme + server + "/" + page
	}
	return addressScheme + server + "/" + uri
}

// ParseAddress returns the server of an address, and what the server calls the
// resource. It does not know which servers there are. It also takes server://uri, which people
// may write. The error is an [*AddressError].
func ParseAddress(address string) (server, uri string, err error) {
	rest, own := strings.CutPrefix(address, addressScheme)
	page, isPage := strings.CutPrefix(address, pageScheme)
	var ok bool
	switch {
	case own:
		server, uri, ok = strings.Cut(rest, "/")
	case isPage:
		server, uri, ok = strings.Cut(page, "/")
		uri = pageScheme + uri
	default:
		server, uri, ok = strings.Cut(address, "://")
	}
	switch {
	case !ok || !isServerName(server):
		err = &AddressError{Address: address, problem: `it has no name of a server: addresses look like "mcpbelt:server/uri"`}
	case uri == "":
		err = &AddressError{Address: address, problem: "it has no URI after the server"}
	}
	if err != nil {
		return "", "", err
	}
	return server, uri, nil
}

func isServerName(name string) bool {
	const characters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-"
	return name != "" && len(name) <= 64 && strings.Trim(name, characters) == ""
}

// An AddressError reports an address that leads to no resource of any server. Nothing
// was sent.
//
//cure:take an address of the lists; the text proposes the nearest
type AddressError struct {
	// Address is what was asked for.
	Address string
	// problem says what is wrong with it.
	problem string
	// Suggestions are up to three addresses that may have been meant, the nearest
	// first.
	Suggestions []string
	// err is an [*host.UnknownServerError] if there is no such server, or nil.
	err error
}

// Error names the address, safe to print and cut off if it is long.
func (e *AddressError) Error() string {
	return fmt.Sprintf("content: no resource address %s: %s%s", shown(e.Address), e.problem, didYouMean(e.Suggestions))
}

// Unwrap returns the cause.
func (e *AddressError) Unwrap() error { return e.err }

// Outcome returns [mcp.NotSent].
func (e *AddressError) Outcome() mcp.Outcome { return mcp.NotSent }

// shown returns text in quotes, safe to print, and cut off if it is long.
func shown(text string) string {
	if len(text) > maxShown {
		return `"` + plain.Line(text[:maxShown]) + `..."`
	}
	return `"` + plain.Line(text) + `"`
}
