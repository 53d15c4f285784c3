package content

import (
	"fmt"
	"strings"

	"github.com/mcpbelt/mcpbelt/internal/plain"
	"github.com/mcpbelt/mcpbelt/mcp"
)

// addressSeparator stands between server and URI. No name of a server has a colon,
// so the first one in an address is where the URI begins.
const addressSeparator = "://"

// maxShown bounds what errors show of an address or a name, in bytes.
const maxShown = 256

// Address returns the address of a server's resource among those of all servers:
// the server's name, "://", and the URI as the server has it, byte for byte, such as
// "github://file:///x?y#z". [ParseAddress] undoes that, whatever the URI is. An
// address is not a URI, and not to be cleaned, escaped or made shorter.
//
// The address of a resource template is made in the same way. It expands to the address
// of a resource.
func Address(server, uri string) string { return server + addressSeparator + uri }

// ParseAddress returns the server of an address, and what the server calls the
// resource. It does not know which servers there are. The error is an
// [*AddressError].
func ParseAddress(address string) (server, uri string, err error) {
	server, uri, ok := strings.Cut(address, addressSeparator)
	switch {
	case !ok:
		err = &AddressError{Address: address, problem: `it has no server: addresses look like "server://uri"`}
	case !isServerName(server):
		err = &AddressError{Address: address, problem: `what stands before "://" is no name of a server: addresses look like "server://uri"`}
	case uri == "":
		err = &AddressError{Address: address, problem: "it has no URI after the server"}
	}
	if err != nil {
		return "", "", err
	}
	return server, uri, nil
}

func isServerName(name string) bool {
	for i := range len(name) {
		switch c := name[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '_', c == '-':
		default:
			return false
		}
	}
	return name != "" && len(name) <= 64
}

// An AddressError reports an address that leads to no resource of any server. Nothing
// was sent.
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
