package servers

import (
	"cmp"
	"errors"
	"path/filepath"
	"strconv"

	"github.com/mcpbelt/mcpbelt/cmd/mcpbelt/internal/belt"
	"github.com/mcpbelt/mcpbelt/cmd/mcpbelt/internal/cli"
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/config/edit"
	"github.com/mcpbelt/mcpbelt/host/record"
)

// A changed is the output of the commands that change a config file.
type changed struct {
	Action string `json:"action"` // added, removed, renamed, enabled or disabled
	Server string `json:"server"`
	File   string `json:"file"`
	Note   string `json:"note,omitempty"`
}

func (c changed) show(b *belt.Belt) error {
	if b.Out.AsJSON {
		return b.Out.JSON(c)
	}
	b.Out.Printf("%s %s in %s\n", c.Action, c.Server, c.File)
	if c.Note != "" {
		b.Out.Printf("%s\n", c.Note)
	}
	return nil
}

// storeOf returns the records of the file that a server stands in, if it is a file of
// mcpbelt: those of other programs are not changed.
func storeOf(b *belt.Belt, c *belt.Catalog, s *config.Server) (record.Store, error) {
	file := s.Source.File
	base := filepath.Base(file)
	own := b.ConfigFile != "" || file == b.UserFile() || base == ".mcp.json" || base == ".mcprc"
	if !own {
		return nil, &cli.Error{
			Exit: cli.Usage, Server: s.Name, Message: "server " + strconv.Quote(s.Name) + " stands in a file of " + cmp.Or(c.Client(file), "another program") + ", " + file,
			Cure: "change it there, or take it over with mcpbelt import",
		}
	}
	return openStore(file, s.Source.Scope, s.Source.Format), nil
}

func openStore(file string, scope config.Scope, format string) record.Store {
	return edit.OpenFileStore(file, &config.Options{Scope: scope, Format: format})
}

// explain returns an error of a store with its exit.
func explain(server string, err error) error {
	e := &cli.Error{Exit: cli.Failed, Server: server, Message: err.Error(), Err: err}
	if r, ok := errors.AsType[*record.Error](err); ok {
		e.Exit = cli.Usage
		if r.Code == record.CodeNotFound {
			e.Exit = cli.NotFound
		}
		if r.Code == record.CodeNameTaken {
			e.Cure = "mcpbelt get " + server
		}
	} else if _, ok := errors.AsType[*config.Error](err); ok {
		e.Exit = cli.InvalidConfig
	}
	return e
}
