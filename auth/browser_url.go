package auth

import (
	"net/url"

	"github.com/mcpbelt/mcpbelt/internal/guardhttp"
)

// maxURL bounds the addresses that a browser is sent to, before anything is added
// to them, in bytes.
const maxURL = 8 << 10

// browserURL parses an address that the user's browser is sent to, or comes back
// to: https, or http on a loopback address. field is where it comes from. The
// error is a [*URLError].
func (f *Flow) browserURL(field, raw string) (*url.URL, error) {
	u, err := url.Parse(raw)
	problem := ""
	switch {
	case len(raw) > maxURL:
		problem = "longer than a browser takes"
	case !guardhttp.Plain(raw):
		problem = "has characters that no URL has"
	case err != nil:
		problem = "not a URL"
	case u.Scheme != "https" && u.Scheme != "http":
		problem = "the scheme is neither https nor http"
	case u.Hostname() == "":
		problem = "has no host"
	case u.User != nil:
		problem = "has a user name, which makes it look like one of another host"
	case u.Fragment != "":
		problem = "has a fragment"
	case u.Scheme == "http" && !f.config.Network.AllowHTTP && !guardhttp.Loopback(u.Hostname()):
		problem = "without TLS"
	default:
		return u, nil
	}
	refused := &URLError{Server: f.config.Server, Field: field, Problem: problem}
	if u != nil && guardhttp.Plain(u.Scheme+u.Host) && len(u.Host) <= maxHost {
		refused.Origin = u.Scheme + "://" + u.Host
	}
	return nil, refused
}

// maxHost bounds a host with its port, in bytes.
const maxHost = 255 + len(":65535")
