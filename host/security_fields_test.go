// Tests of consents.go and allow.go: which changes of an entry are asked about, as docs/security.md says.

//go:build unix

package host_test

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/consent"
	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// A fieldChange is a way to change an entry that was allowed.
type fieldChange struct {
	field         string // of config.Server
	what          string
	before, after string // entries of the file, with their names
	asks          bool
	why           string            // if nobody is asked again
	files         map[string]string // that the entry reads, as they become
}

func localEntry(keys string) string {
	return `"notes":{"command":"/bin/true","args":["a"],"cwd":"/"` + keys + `}`
}
func remoteEntry(keys string) string {
	return `"notes":{"url":"https://mcp.example.com/a","type":"http"` + keys + `}`
}

func localChange(field, what, before, after string) fieldChange {
	return fieldChange{field: field, what: what, before: localEntry(before), after: localEntry(after), asks: true}
}

func remoteChange(field, what, before, after string) fieldChange {
	return fieldChange{field: field, what: what, before: remoteEntry(before), after: remoteEntry(after), asks: true}
}

func given(authorization, token string) string {
	return `,"auth":{"authorizationUrl":"https://a.example` + authorization + `","tokenUrl":"https://a.example` + token + `"}`
}

func harmless(field, what, before, after, why string) fieldChange {
	return fieldChange{field: field, what: what, before: localEntry(before), after: localEntry(after), why: why}
}

func fieldChanges() []fieldChange {
	const (
		once     = "the same program, at another time"
		bounds   = "it says how long to wait"
		ignored  = "ignored in a file of a project"
		unusable = "an entry with a fault is not started"
	)
	reads := localChange("Env", "the content of a file in `${file:path}`", `,"env":{"OPTS":"${file:opts}"}`, `,"env":{"OPTS":"${file:opts}"}`)
	reads.files = map[string]string{"opts": "--import=./evil"}
	argument := fieldChange{field: "Args", what: "the content of a file in `${file:path}`", asks: true,
		before: `"notes":{"command":"/bin/true","args":["${file:opts}"]}`, after: `"notes":{"command":"/bin/true","args":["${file:opts}"]}`, files: reads.files}
	header := remoteChange("Headers", "the content of a file in `${file:path}`", `,"headers":{"X":"${file:opts}"}`, `,"headers":{"X":"${file:opts}"}`)
	header.files = reads.files
	authorities := remoteChange("TLS", "the content of the file of authorities", `,"tls":{"caFile":"opts"}`, `,"tls":{"caFile":"opts"}`)
	authorities.files = reads.files
	envFile := localChange("Env", "a value in the file of variables", `,"envFile":"vars"`, `,"envFile":"vars"`)
	envFile.files = map[string]string{"vars": "MODE=evil\nTOKEN=tok-0123456789"}
	secretFile := localChange("Env", "a secret in the file of variables", `,"envFile":"vars"`, `,"envFile":"vars"`)
	secretFile.files = map[string]string{"vars": "MODE=fine\nTOKEN=tok-9999999999"}
	env := func(what, name, before, after string) fieldChange {
		return localChange("Env", what, fmt.Sprintf(`,"env":{%q:%q}`, name, before), fmt.Sprintf(`,"env":{%q:%q}`, name, after))
	}
	docker := func(keys string) string { return `,"isolation":{"kind":"docker","image":"a"` + keys + `}` }
	return []fieldChange{
		{field: "Name", what: "the name", before: `"docs":{"url":"https://a.example/"}`, after: `"github":{"url":"https://a.example/"}`, asks: true},
		{field: "Title", what: "the name as written, where the name is the same", before: `"a b":{"command":"/bin/true"}`, after: `"a.b":{"command":"/bin/true"}`, why: "it is for the eye; the name counts"},
		{field: "Source", what: "the line", before: localEntry(""), after: "\n" + localEntry(""), why: "the folder of the file counts"},
		{field: "Transport", what: "the transport", before: `"notes":{"url":"https://a.example/","type":"http"}`, after: `"notes":{"url":"https://a.example/","type":"sse"}`, asks: true},
		{field: "Command", what: "the program", before: `"notes":{"command":"/bin/true"}`, after: `"notes":{"command":"/bin/false"}`, asks: true},
		{field: "Args", what: "an argument", before: `"notes":{"command":"/bin/true","args":["a"]}`, after: `"notes":{"command":"/bin/true","args":["b"]}`, asks: true},
		argument,
		localChange("Env", "a variable more", "", `,"env":{"A":"1"}`),
		env("a value", "A", "1", "2"),
		env("a value by which git finds a program", "GIT_CONFIG_VALUE_0", "less", "./evil"),
		env("a function of bash", "BASH_FUNC_ls%%", "() { ls; }", "() { evil; }"),
		env("an address to which a secret goes", "OPENAI_BASE_URL", "https://a.example", "https://b.example"),
		env("a secret that stands in the entry", "API_KEY", "sk-0123456789abcd", "sk-0xxxxxx789abcd"),
		env("another reference", "API_KEY", "${HOME}", "${PATH}"),
		env("the default of a reference", "A", "${MCPBELT_UNSET:-a}", "${MCPBELT_UNSET:-b}"),
		reads, envFile, secretFile,
		{field: "Cwd", what: "the folder", before: `"notes":{"command":"/bin/true","cwd":"/"}`, after: `"notes":{"command":"/bin/true","cwd":"/tmp"}`, asks: true},
		{field: "URL", what: "the address", before: `"notes":{"url":"https://a.example/"}`, after: `"notes":{"url":"https://a.example/x"}`, asks: true},
		remoteChange("Headers", "a header more", "", `,"headers":{"X":"1"}`),
		remoteChange("Headers", "a value", `,"headers":{"X":"1"}`, `,"headers":{"X":"2"}`),
		remoteChange("Headers", "a secret that stands in the entry", `,"headers":{"Authorization":"Bearer tok-0123456789abcd"}`, `,"headers":{"Authorization":"Bearer tok-0xxxxxx789abcd"}`),
		remoteChange("Headers", "another reference", `,"headers":{"Authorization":"Bearer ${HOME}"}`, `,"headers":{"Authorization":"Bearer ${PATH}"}`),
		header,
		harmless("Disabled", "switched off", "", `,"enabled":false`, "nothing is started"),
		harmless("Required", "`required`", "", `,"required":true`, "it says what a failure means"),
		harmless("Builtin", "`builtin`", "", `,"builtin":true`, ignored),
		harmless("Proposed", "`proposed`", "", `,"proposed":true`, "a launch of a project's file has to be allowed anyway"),
		harmless("Lazy", "`lazy`", "", `,"lazy":true`, once),
		harmless("Trust", "`trust`", "", `,"trust":true`, ignored),
		harmless("Quarantined", "`quarantined`", "", `,"quarantined":true`, "it holds back what the server has"),
		harmless("Ledger", "`ledger`", `,"ledger":"review"`, "", "it is about what is done when tools change; the program's own mode counts then"),
		harmless("Description", "the description", "", `,"description":"x"`, "it is text, as what the server says of itself"),
		harmless("ConnectTimeout", "the time to connect", "", `,"connectTimeoutSeconds":7`, bounds),
		harmless("ReadTimeout", "the time to answer", "", `,"readTimeoutSeconds":7`, bounds),
		harmless("IdleTimeout", "the time without use", "", `,"idleTimeoutSeconds":7`, once),
		remoteChange("Identity", "headers that name the user", "", `,"identity":"header"`),
		localChange("Identity", "a connection for each user", "", `,"identity":"user"`),
		remoteChange("UserHeader", "the header that names the user", `,"identity":"header","userHeader":"X-A"`, `,"identity":"header","userHeader":"X-B"`),
		remoteChange("Auth", "the client", `,"auth":{"clientId":"a"}`, `,"auth":{"clientId":"b"}`),
		remoteChange("Auth", "the client's secret", `,"auth":{"clientId":"a","clientSecret":"tok-1"}`, `,"auth":{"clientId":"a","clientSecret":"tok-2"}`),
		remoteChange("Auth", "where the client's secret comes from", `,"auth":{"clientId":"a","clientSecret":"${HOME}"}`, `,"auth":{"clientId":"a","clientSecret":"${PATH}"}`),
		remoteChange("Auth", "the issuer", `,"auth":{"issuer":"https://a.example"}`, `,"auth":{"issuer":"https://b.example"}`),
		remoteChange("Auth", "the scopes", `,"auth":{"scopes":["a"]}`, `,"auth":{"scopes":["b"]}`),
		remoteChange("Auth", "the redirect", `,"auth":{"clientId":"a"}`, `,"auth":{"clientId":"a","redirectUrl":"http://127.0.0.1:7/x"}`),
		remoteChange("Auth", "where users log in", given("/a", "/t"), given("/b", "/t")),
		remoteChange("Auth", "the token endpoint", given("/a", "/t"), given("/a", "/u")),
		remoteChange("Auth", "the device endpoint", `,"auth":{"grant":"device_code","tokenUrl":"https://a.example/t","deviceUrl":"https://a.example/d"}`,
			`,"auth":{"grant":"device_code","tokenUrl":"https://a.example/t","deviceUrl":"https://a.example/e"}`),
		remoteChange("Auth", "the grant type", "", `,"auth":{"grant":"device_code"}`),
		remoteChange("Auth", "a parameter of the login", `,"auth":{"loginParams":{"audience":"a"}}`, `,"auth":{"loginParams":{"audience":"b"}}`),
		remoteChange("Auth", "the consent", "", `,"auth":{"askConsent":true}`),
		remoteChange("Proxy", "the proxy", `,"proxy":"http://a.example:1"`, `,"proxy":"http://b.example:1"`),
		remoteChange("TLS", "the certificate is not checked", "", `,"tls":{"insecure":true}`),
		remoteChange("TLS", "the authorities", "", `,"tls":{"caFile":"vars"}`),
		authorities,
		remoteChange("TLS", "the certificate that is shown", `,"tls":{"certFile":"a","keyFile":"a"}`, `,"tls":{"certFile":"b","keyFile":"a"}`),
		localChange("Isolation", "the confinement is gone", docker(""), ""),
		localChange("Isolation", "the image", docker(""), `,"isolation":{"kind":"docker","image":"b"}`),
		localChange("Isolation", "a folder", docker(""), docker(`,"mounts":["/srv"]`)),
		localChange("Isolation", "the network", docker(""), docker(`,"network":true`)),
		localChange("Isolation", "an argument", docker(""), docker(`,"args":["--privileged"]`)),
		harmless("Limits", "the limits", "", `,"limits":{"maxTools":7}`, "it says what the server may cost, not what it may do"),
		localChange("Tools", "the tools that are used", `,"tools":{"allow":["read"]}`, `,"tools":{"allow":["read","delete"]}`),
		localChange("Tools", "a tool that is held back", `,"tools":{"deny":["delete"]}`, ""),
		localChange("Tools", "a tool's name", "", `,"tools":{"rename":{"delete":"read"}}`),
		harmless("Extra", "keys of other programs", "", `,"autoApprove":["x"]`, "this library does not use them; an `Options.Transport` that does has to decide"),
		{field: "Err", what: "a fault", why: unusable},
		{field: "Warnings", what: "warnings", why: "they are for the eye"},
	}
}

func fileIn(t *testing.T, dir, entries string, files map[string]string) *config.Config {
	t.Helper()
	assert.OK(t, os.MkdirAll(dir, 0o700))
	for name, content := range files {
		assert.OK(t, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600))
	}
	c := assert.Value(config.Parse(t.Context(), filepath.Join(dir, ".mcp.json"), []byte(`{"mcpServers":{`+entries+`}}`), nil))(t)
	for _, s := range c.Servers {
		assert.OK(t, s.Err)
	}
	return c
}

// pendingOf returns what waits of a config.
func pendingOf(t *testing.T, book *consent.Book, c *config.Config) []*consent.Launch {
	t.Helper()
	h := host.New(&host.Options{Consents: book, StateDir: host.NoState})
	defer func() { _ = h.Close() }()
	var required *host.ServersError
	if _, err := h.Apply(t.Context(), c); err != nil && !errors.As(err, &required) {
		t.Fatal(err)
	}
	return h.PendingLaunches()
}

// asksAgain reports whether a person is asked about an entry that has changed, after the
// former one was rejected: a rejection counts for what an approval would, and starts
// nothing.
func asksAgain(t *testing.T, change fieldChange) bool {
	t.Helper()
	book, dir := consent.New(), t.TempDir()
	first := pendingOf(t, book, fileIn(t, dir, change.before, map[string]string{"opts": "--fine", "vars": "MODE=fine\nTOKEN=tok-0123456789"}))
	assert.Equal(t, len(first), 1, "launches that wait at first")
	assert.OK(t, book.Decide(t.Context(), "ann", first[0], consent.Rejected))
	return len(pendingOf(t, book, fileIn(t, dir, change.after, change.files))) == 1
}

// TestAnAllowedEntryThatChangesIsAskedAbout: each change of an entry that makes it do
// something else needs another decision. A new field of config.Server has to be decided
// here.
func TestAnAllowedEntryThatChangesIsAskedAbout(t *testing.T) {
	t.Parallel()
	var decided []string
	for _, change := range fieldChanges() {
		decided = append(decided, change.field)
		if change.before == "" {
			continue
		}
		t.Run(change.field+" "+change.what, func(t *testing.T) {
			assert.Equal(t, asksAgain(t, change), change.asks, "asked again")
		})
	}
	for _, field := range reflect.VisibleFields(reflect.TypeFor[config.Server]()) {
		if field.IsExported() && !slices.Contains(decided, field.Name) {
			t.Errorf("config.Server.%s: say in fieldChanges whether its change is asked about", field.Name)
		}
	}
}

var updatePage = flag.Bool("update", false, "write the tables of docs/security.md")

// fieldTable lists what a change of an entry means.
func fieldTable() string {
	var b strings.Builder
	b.WriteString("| field | what changes | what happens |\n|---|---|---|\n")
	for _, change := range fieldChanges() {
		means := "it is asked about again"
		if !change.asks {
			means = "does not ask: " + change.why
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", change.field, change.what, means)
	}
	return b.String()
}

// readingTable lists what reads an entry again.
func readingTable() string {
	var b strings.Builder
	b.WriteString("| how an entry is read again | its scope |\n|---|---|\n")
	for _, way := range readings() {
		fmt.Fprintf(&b, "| %s | the project's |\n", way.how)
	}
	return b.String()
}

// TestSecurityPage holds docs/security.md against the tables that
// TestAnAllowedEntryThatChangesIsAskedAbout and TestScopeStays check. With -update it
// writes them.
func TestSecurityPage(t *testing.T) {
	const file = "../docs/security.md"
	data := assert.Value(os.ReadFile(file))(t)
	page := string(data)
	for name, table := range map[string]string{"fields": fieldTable(), "readings": readingTable()} {
		begin, end := "<!-- "+name+": begin -->\n", "<!-- "+name+": end -->\n"
		before, rest, ok := strings.Cut(page, begin)
		_, after, ends := strings.Cut(rest, end)
		assert.True(t, ok, "%s has no place for the table %q", file, name)
		assert.True(t, ends, "%s has no place for the table %q", file, name)
		page = before + begin + table + end + after
	}
	switch {
	case page == string(data):
	case *updatePage:
		assert.OK(t, os.WriteFile(file, []byte(page), 0o644))
	default:
		t.Errorf("%s is not what the tests check: run go test ./host -run TestSecurityPage -update", file)
	}
}
