package mask

import (
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/mcpbelt/mcpbelt/internal/redact"
)

// IsURL reports whether s begins like a URL of any scheme.
func IsURL(s string) bool { return beginsURL.MatchString(s) }

var beginsURL = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]{0,19}://[^\x00- \x7f]+$`)

// A SplitURL URL is one cut at its seams, as text: with references in it, it could not
// be parsed. All but the seams may be empty.
type SplitURL struct {
	Scheme   string // with ://
	User     string // without the @
	HasUser  bool
	Host     string
	Path     string // with the / before it
	Query    string // with the ? before it
	Fragment string // with the # before it
}

// CutURL cuts a URL. A text of which [IsURL] is not true may have no scheme.
func CutURL(s string) SplitURL {
	var u SplitURL
	if i := strings.Index(s, "://"); i >= 0 {
		i += len("://")
		u.Scheme, s = s[:i], s[i:]
	}
	if i := strings.LastIndexByte(s, '@'); i >= 0 && u.oddUser(s) {
		u.User, u.HasUser, s = s[:i], true, s[i+1:]
	}
	if i := strings.IndexByte(s, '#'); i >= 0 {
		s, u.Fragment = s[:i], s[i:]
	}
	if i := strings.IndexByte(s, '?'); i >= 0 {
		s, u.Query = s[:i], s[i:]
	}
	if i := strings.IndexAny(s, `/\`); i >= 0 {
		s, u.Path = s[:i], s[i:]
	}
	u.Host = s
	if i := strings.LastIndexByte(s, '@'); i >= 0 && !u.HasUser {
		u.User, u.Host, u.HasUser = s[:i], s[i+1:], true
	}
	return u
}

// oddUser reports whether the password in s, the rest of a URL, may hold one of the
// seams, as people write it into the addresses of databases: then all before the last
// @ is user and password. In http an @ may stand in the path.
func (u *SplitURL) oddUser(s string) bool {
	if !strings.EqualFold(u.Scheme, "http://") && !strings.EqualFold(u.Scheme, "https://") {
		return true
	}
	authority := s[:strings.IndexAny(s+"/", `/\?#`)]
	_, port, ok := strings.Cut(authority, ":")
	return ok && !strings.Contains(authority, "@") && !strings.HasPrefix(authority, "[") &&
		!strings.Contains(port, "$") && strings.Trim(port, "0123456789") != ""
}

// URL masks a URL. A URL without seams is masked as a whole.
func URL(s string) string {
	if !IsURL(s) {
		return maskParts(s)
	}
	_, s = references(s)
	return hideIn(CutURL(s), maskParts)
}

// hideIn writes a URL with hide of its parts that are secrets.
func hideIn(u SplitURL, hide func(string) string) string {
	var b strings.Builder
	b.WriteString(u.Scheme)
	if u.HasUser {
		user, password, both := strings.Cut(u.User, ":")
		b.WriteString(hide(user))
		if both {
			b.WriteString(":" + hide(password))
		}
		b.WriteByte('@')
	}
	parts := strings.Split(u.Path, "/")
	before := "" // the part of the path before it
	for i, part := range parts {
		if secretLooking(part) || secretFollows(before) && part != "mcp" && part != "sse" {
			parts[i] = hide(part)
		}
		before = part
	}
	b.WriteString(redact.Known().Text(u.Host + strings.Join(parts, "/"))) // some are known by the host
	for _, query := range []string{u.Query, u.Fragment} {
		if query == "" {
			continue
		}
		pairs := strings.Split(query[1:], "&")
		for i, pair := range pairs {
			name, value, ok := strings.Cut(pair, "=")
			switch {
			case ok && (IsSecretName(Unescape(name)) || secretLooking(value)):
				pairs[i] = name + "=" + hide(value)
			case !ok && secretLooking(pair):
				pairs[i] = hide(pair)
			}
		}
		b.WriteString(query[:1] + strings.Join(pairs, "&"))
	}
	return b.String()
}

// secretFollows reports whether what stands behind a part of a path is likely to be a secret. Parts such as auth
// and session stand in paths for what is done there.
func secretFollows(part string) bool {
	return !slices.Contains([]string{"auth", "code", "session"}, part) && !strings.Contains(part, "$") && IsSecretName(part)
}

// Unescape returns s without the escapes of a query, or s if it cannot be read.
func Unescape(s string) string {
	if plain, err := url.QueryUnescape(s); err == nil {
		return plain
	}
	return s
}

// URLSecrets returns the parts of a URL that are masked.
func URLSecrets(u SplitURL) []string {
	secrets := []string{u.User}
	user, _, _ := strings.Cut(u.User, ":")
	hideIn(u, func(part string) string {
		if part != user && maskParts(part) != part {
			secrets = append(secrets, part)
		}
		return part
	})
	return secrets
}
