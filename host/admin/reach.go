package admin

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/record"
)

// mayReach fails if a record that the caller writes reads what only the process may: it names a file, the
// keyring, an input, a variable that is none of Options.Variables, or a socket of this machine. What a record
// had before, at the same address, may stay. Before is nil if there was no record.
func (q *request) mayReach(before, after *record.Record) error {
	refused := q.need(StdioWrite)
	if refused == nil {
		return nil
	}
	now := reachOf(after)
	if now == nil || before != nil && slices.Equal(now, reachOf(before)) || !reads(now, after, q.opts.Variables) {
		return nil
	}
	return refused
}

// reachOf returns what decides where a remote server is and what it is sent, as JSON.
func reachOf(r *record.Record) []byte {
	if isLocal(r) {
		return nil // mayStartRecord decides about it
	}
	data, err := (&record.Record{
		Name: "r", Transport: r.Transport, URL: r.URL, Headers: r.Headers, Proxy: r.Proxy, TLS: r.TLS,
		Identity: r.Identity, UserHeader: r.UserHeader, Auth: r.Auth, Extra: r.Extra,
	}).Encode()
	if err != nil {
		return []byte(err.Error()) // which nothing is equal to, and which reads nothing
	}
	return data
}

// reads reports whether a record has a reference that its writer may not have.
func reads(reach []byte, r *record.Record, variables []string) bool {
	if r.Kind() == config.TransportUnix || r.TLS != nil && *r.TLS != (config.TLS{}) {
		return true
	}
	var value any
	if json.Unmarshal(reach, &value) != nil {
		return true
	}
	return refers(value, variables)
}

// reference is one as the entries of config files have it, and what may follow a dollar otherwise.
var reference = regexp.MustCompile(`\$\$|\$\{[^}]*\}?|\$[A-Za-z_][A-Za-z0-9_]*|\{(?:env|file):`)

// variable is a reference to a variable.
var variable = regexp.MustCompile(`^\$(?:\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(?::-[^}]*)?\}|([A-Za-z_][A-Za-z0-9_]*))$`)

func refers(value any, variables []string) bool {
	switch v := value.(type) {
	case string:
		return slices.ContainsFunc(reference.FindAllString(v, -1), func(found string) bool {
			if found == "$$" {
				return false
			}
			m := variable.FindStringSubmatch(found)
			return m == nil || !slices.Contains(variables, m[1]+m[2]) && !strings.HasPrefix(found, "${DOLLAR:-")
		})
	case []any:
		return slices.ContainsFunc(v, func(one any) bool { return refers(one, variables) })
	case map[string]any:
		for key, one := range v {
			if refers(key, variables) || refers(one, variables) {
				return true
			}
		}
	}
	return false
}
