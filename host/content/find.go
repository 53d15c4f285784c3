package content

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// FindResource returns the addresses of the resources that a URI may mean which a result of a tool names, without the
// server: of each server that lists it, or has a template that expands to it, in the order of the lists. It also finds a
// resource by what a parser of URLs has made of its address. It asks as [Content.Resources] does.
func (c *Content) FindResource(ctx context.Context, uri string, opts *ListOptions) (addresses []string) {
	for _, r := range c.Resources(ctx, opts).Items {
		if r.Resource.URI == uri || escaped(r.Address) == escaped(uri) {
			addresses = append(addresses, r.Address)
		}
	}
	for _, t := range c.ResourceTemplates(ctx, opts).Items {
		if address := Address(t.Server, uri); !slices.Contains(addresses, address) && expandsTo(t.Template.URITemplate, uri) {
			addresses = append(addresses, address)
		}
	}
	return addresses
}

// escaped returns a URI as parsers of URLs write it.
func escaped(uri string) string {
	var out strings.Builder
	for _, b := range []byte(uri) {
		if b <= ' ' || b >= 0x7f || b == '"' || b == '<' || b == '>' || b == '`' {
			fmt.Fprintf(&out, "%%%02X", b)
		} else {
			out.WriteByte(b)
		}
	}
	return out.String()
}

// expandsTo reports whether a URI template (RFC 6570) may expand to a URI. It looks at each part once.
func expandsTo(template, uri string) bool {
	literal, rest, more := strings.Cut(template, "{")
	uri, ok := strings.CutPrefix(uri, literal)
	for ok && more {
		var expression, value string
		expression, rest, _ = strings.Cut(rest, "}")
		if literal, rest, more = strings.Cut(rest, "{"); more {
			value, uri, ok = strings.Cut(uri, literal)
		} else {
			value, ok = strings.CutSuffix(uri, literal)
			uri = ""
		}
		reserved := expression != "" && strings.Contains("+#/?&;.", expression[:1])
		ok = ok && (reserved || !strings.ContainsAny(value, "/?#"))
	}
	return ok && uri == ""
}
