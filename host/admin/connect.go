package admin

import (
	"cmp"
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"slices"

	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/config/edit"
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

// entryFor returns the text of a new file that connects its program to a gateway.
func (q *request) entryFor(l config.Location, gateway string) (text string, err error) {
	r := &config.Server{Name: "mcpbelt", URL: gateway, Transport: transports[l.Client], Headers: map[string]config.Secret{"Authorization": "Bearer " + keyToCome}}
	if r.Transport == config.TransportStdio {
		r = &config.Server{Name: "mcpbelt", Command: "npx", Args: []string{"-y", "mcp-remote", gateway, "--header", "Authorization: Bearer " + keyToCome}}
	}
	written := errors.New("nothing is to be kept")
	formats := cmp.Or(q.opts.Config, &config.Options{}).Formats
	err = edit.Change(q.Context(), l.Path, &config.Options{Format: l.Format, Formats: formats}, func(f *edit.File) error {
		if err := f.Add(r); err != nil {
			return err
		}
		text = string(f.Bytes())
		return written
	})
	if errors.Is(err, written) {
		return text, nil
	}
	return "", err
}
