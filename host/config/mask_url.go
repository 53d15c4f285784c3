package config

import (
	"net/url"
	"strings"
)

// isURL reports whether s begins like a URL of any scheme.
func isURL(s string) bool {
	scheme, rest, ok := strings.Cut(s, "://")
	if !ok || scheme == "" || rest == "" || len(scheme) > 20 {
		return false
	}
	for i := range len(scheme) {
		switch c := scheme[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z':
		case i > 0 && ('0' <= c && c <= '9' || c == '+' || c == '-' || c == '.'):
		default:
			return false
		}
	}
	return !strings.ContainsFunc(rest, func(r rune) bool { return r <= ' ' || r == 0x7f })
}

// A split URL is one cut at its seams, as text: with references in it, it could not
// be parsed. All but the seams may be empty.
type splitURL struct {
	scheme   string // with ://
	user     string // without the @
	hasUser  bool
	host     string
	path     string // with the / before it
	query    string // with the ? before it
	fragment string // with the # before it
}

func cutURL(s string) splitURL {
	var u splitURL
	i := strings.Index(s, "://") + len("://")
	u.scheme, s = s[:i], s[i:]
	if i := strings.LastIndexByte(s, '@'); i >= 0 && u.oddUser(s) {
		u.user, u.hasUser, s = s[:i], true, s[i+1:]
	}
	if i := strings.IndexByte(s, '#'); i >= 0 {
		s, u.fragment = s[:i], s[i:]
	}
	if i := strings.IndexByte(s, '?'); i >= 0 {
		s, u.query = s[:i], s[i:]
	}
	if i := strings.IndexAny(s, `/\`); i >= 0 {
		s, u.path = s[:i], s[i:]
	}
	u.host = s
	if i := strings.LastIndexByte(s, '@'); i >= 0 && !u.hasUser {
		u.user, u.host, u.hasUser = s[:i], s[i+1:], true
	}
	return u
}

// oddUser reports whether the password in s, the rest of a URL, may hold one of the
// seams, as people write it into the addresses of databases: then all before the last
// @ is user and password. In http an @ may stand in the path.
func (u *splitURL) oddUser(s string) bool {
	if !strings.EqualFold(u.scheme, "http://") && !strings.EqualFold(u.scheme, "https://") {
		return true
	}
	authority := s[:strings.IndexAny(s+"/", `/\?#`)]
	_, port, ok := strings.Cut(authority, ":")
	return ok && !strings.Contains(authority, "@") && !strings.HasPrefix(authority, "[") &&
		!strings.Contains(port, "$") && strings.Trim(port, "0123456789") != ""
}

// url masks a URL. What has no seams is masked as a whole.
func (m *masker) url(s string) string {
	if !isURL(s) {
		return maskParts(s)
	}
	u := cutURL(s)
	var b strings.Builder
	b.WriteString(u.scheme)
	if u.hasUser {
		user, password, both := strings.Cut(u.user, ":")
		b.WriteString(maskParts(user))
		if both {
			b.WriteString(":" + maskParts(password))
		}
		b.WriteByte('@')
	}
	parts := strings.Split(u.path, "/")
	for i, part := range parts {
		parts[i] = m.pathPart(part)
	}
	b.WriteString(m.forms.Text(u.host + strings.Join(parts, "/"))) // some are known by the host
	b.WriteString(m.pairs(u.query))
	b.WriteString(m.pairs(u.fragment))
	return b.String()
}

func (m *masker) pathPart(part string) string {
	if m.secretLooking(part) {
		return maskParts(part)
	}
	return part
}

// pairs masks a query with its ? or a fragment with its #.
func (m *masker) pairs(s string) string {
	if s == "" {
		return ""
	}
	parts := strings.Split(s[1:], "&")
	for i, part := range parts {
		name, value, ok := strings.Cut(part, "=")
		switch {
		case ok && (secretName(unescape(name)) || m.secretLooking(value)):
			parts[i] = name + "=" + maskParts(value)
		case !ok && m.secretLooking(part):
			parts[i] = maskParts(part)
		}
	}
	return s[:1] + strings.Join(parts, "&")
}

func unescape(s string) string {
	if plain, err := url.QueryUnescape(s); err == nil {
		return plain
	}
	return s
}

// urlSecrets returns the parts of a URL that are masked.
func (m *masker) urlSecrets(u splitURL) []string {
	secrets := []string{u.user}
	if _, password, ok := strings.Cut(u.user, ":"); ok {
		secrets = append(secrets, password)
	}
	for part := range strings.SplitSeq(u.path, "/") {
		if m.pathPart(part) != part {
			secrets = append(secrets, part)
		}
	}
	for _, pairs := range []string{u.query, u.fragment} {
		for pair := range strings.SplitSeq(strings.TrimLeft(pairs, "?#"), "&") {
			if m.pairs("?"+pair) == "?"+pair {
				continue
			}
			_, value, ok := strings.Cut(pair, "=")
			if !ok {
				value = pair
			}
			secrets = append(secrets, value)
		}
	}
	return secrets
}
