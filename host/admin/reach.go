package admin

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/internal/dialect"
)

// mayReach fails if a record that the caller writes reads what only the process may: it names a file, the
// keyring, an input, a variable that is none of Options.Variables, or a socket of this machine. What a record
// had before, at the same address, may stay. Before is nil if there was no record.
func (q *request) mayReach(before, after *config.Server) error {
	refused := q.need(StdioWrite)
	if refused == nil {
		return nil
	}
	if isLocal(after) {
		return nil // mayStartRecord decides about it
	}
	now := reachOf(after)
	if before != nil && now == reachOf(before) {
		return nil
	}
	var said any
	if err := json.Unmarshal([]byte(now), &said); err != nil {
		return err
	}
	if after.Kind() == config.TransportUnix || after.TLS != nil && *after.TLS != (config.TLS{}) || refers(said, q.opts.Variables) {
		return refused
	}
	return nil
}

// maySay fails if a record that the caller writes says another thing than before in the keys that take StdioWrite. Before is
// nil if there was no record.
func (q *request) maySay(before, after *config.Server) error {
	had := ""
	if before != nil {
		had = moreOf(before, strictKeys)
	}
	if moreOf(after, strictKeys) == had {
		return nil
	}
	return q.need(StdioWrite)
}

// reachOf returns what decides where a remote server is and what it is sent, as JSON.
func reachOf(r *config.Server) string {
	entry := entryOf(r)
	maps.DeleteFunc(entry, func(key string, _ json.RawMessage) bool {
		return slices.Contains(dialect.OwnKeys(), key) && !slices.Contains([]string{"transport", "url", "headers", "proxy", "tls", "identity", "userHeader", "auth"}, key)
	})
	return jsonText(entry)
}

// reference finds what an entry may refer by, and the two dollars that stand for one.
var reference = regexp.MustCompile(`\$\$|\$\{[^}]*\}?|\$[A-Za-z_][A-Za-z0-9_]*|\{(?:env|file):`)

// variable is a reference to a variable.
var variable = regexp.MustCompile(`^\$(?:\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(?::-[^}]*)?\}|([A-Za-z_][A-Za-z0-9_]*))$`)

// refers reports whether a text within a JSON value refers to anything but the variables.
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
