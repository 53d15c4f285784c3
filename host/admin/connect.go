package admin

import (
	"cmp"
	"net/url"
	"os"
	"path/filepath"
	"slices"

	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/config/edit"
	"github.com/mcpbelt/mcpbelt/host/record"
)

// keyToCome stands in entries for the key that the user puts there.
const keyToCome = "YOUR_KEY"

// A connection is how a program gets the tools of a gateway.
type connection struct {
	Client string `json:"client"`
	File   string `json:"file"`  // its config file as it is called on Linux; ~ is the home of the user
	Entry  string `json:"entry"` // the text of that file, if it has nothing else
}

// transports are what the entries of programs say. Claude Desktop cannot speak with an address, and starts a program that does;
// two have no word for the transport. Programs that are not here call it otherwise than entries are written.
var transports = map[string]string{
	"Claude Code": config.TransportHTTP, "Claude Desktop": config.TransportStdio, "Codex": config.TransportHTTP,
	"Crush": config.TransportHTTP, "Cursor": config.TransportHTTP, "Gemini CLI": config.TransportHTTP, "Goose": config.TransportHTTP,
	"Kiro": config.TransportHTTP, "OpenCode": config.TransportAuto, "VS Code": config.TransportHTTP, "Windsurf": config.TransportHTTP,
	"Zed": config.TransportAuto,
}

// listConnections returns the entries that connect programs to the gateway at an address, for the first file of the user that
// each program has.
func (q *request) listConnections() ([]connection, error) {
	at, err := url.Parse(q.URL.Query().Get("url"))
	if err != nil || at.Scheme != "http" && at.Scheme != "https" || at.Host == "" || at.User != nil {
		return nil, invalid("url", "the http or https address of the gateway")
	}
	home, err := os.MkdirTemp("", "mcpbelt-*")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(home)
	list := []connection{}
	for _, l := range config.Find(&config.FindOptions{GOOS: "linux", Home: home, Lookup: func(string) (string, bool) { return "", false }}) {
		file, err := filepath.Rel(home, l.Path)
		if err != nil || transports[l.Client] == "" || slices.ContainsFunc(list, func(c connection) bool { return c.Client == l.Client }) {
			continue
		}
		entry, err := q.entryFor(l, at.String())
		if err == nil { // else it has a format that the program does not know
			list = append(list, connection{l.Client, "~/" + filepath.ToSlash(file), entry})
		}
	}
	return list, nil
}

// entryFor makes a file that connects its program to a gateway, and returns its text.
func (q *request) entryFor(l config.Location, gateway string) (string, error) {
	r := &config.Server{Name: "mcpbelt", URL: gateway, Transport: transports[l.Client], Headers: map[string]config.Secret{"Authorization": "Bearer " + keyToCome}}
	if r.Transport == config.TransportStdio {
		r = &config.Server{Name: "mcpbelt", Command: "npx", Args: []string{"-y", "mcp-remote", gateway, "--header", "Authorization: Bearer " + keyToCome}}
	}
	formats := cmp.Or(q.opts.Config, &config.Options{}).Formats
	store := edit.OpenFileStore(l.Path, &config.Options{Format: l.Format, Formats: formats})
	if _, err := record.Add(q.Context(), store, r); err != nil {
		return "", err
	}
	data, err := os.ReadFile(l.Path)
	return string(data), err
}
