package codemode

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/mcpbelt/mcpbelt/registry/codemode/internal/plain"
	"github.com/mcpbelt/mcpbelt/registry/ledger"
)

// LedgerServer is the name under which a ledger has stored scripts, as if they were the
// tools of a server.
const LedgerServer = "code_execution/scripts"

// A StoredScript is a script that is run by its name.
type StoredScript struct {
	Name        string `json:"name"`        // what it is run by
	Description string `json:"description"` // for models
	Code        string `json:"code"`        // the body of an async function, see [Script]
}

// surface returns what is accepted of a script: all of it.
func (s *StoredScript) surface() *ledger.Surface {
	code, _ := json.Marshal(map[string]string{"code": s.Code}) // of a string there is always JSON
	return ledger.NewSurface(&ledger.Tool{Name: s.Name, Description: s.Description, InputSchema: code})
}

// SetScripts replaces the scripts that can be run by name. The ledger decides about them
// as about the tools of a server called [LedgerServer]: under [ledger.Pin] the first ones
// are accepted, and one that is new or has changed later is held back until
// [ledger.Ledger.Accept].
func (c *Runner) SetScripts(ctx context.Context, scripts []StoredScript) error {
	stored := map[string]StoredScript{}
	var surfaces []*ledger.Surface
	for _, s := range scripts {
		switch _, twice := stored[s.Name]; {
		case s.Name == "" || len(s.Name) > 128:
			return fmt.Errorf("codemode: the name of a script, %s, has 1 to 128 bytes", plain.Quote(s.Name))
		case twice:
			return fmt.Errorf("codemode: there are two scripts of the name %s", plain.Quote(s.Name))
		case len(s.Code) > c.opts.Limits.Code:
			return fmt.Errorf("codemode: script %s has %d bytes, at most %d are allowed", plain.Quote(s.Name), len(s.Code), c.opts.Limits.Code)
		}
		stored[s.Name] = s
		surfaces = append(surfaces, s.surface())
	}
	if c.opts.Ledger != nil && len(surfaces) > 0 {
		if err := c.opts.Ledger.Record(ctx, ledger.Server{Name: LedgerServer}, surfaces); err != nil {
			return err
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stored = stored
	return nil
}

// A QuarantinedError reports a stored script that was not accepted as it is.
//
//cure:show a person the script, and accept it
type QuarantinedError struct {
	name   string         // of the script
	Change *ledger.Change // how it differs from what was accepted
}

// Error names the script.
func (e *QuarantinedError) Error() string {
	return fmt.Sprintf("script %s is new or has changed, and is not run before a person has accepted it", plain.Quote(e.name))
}

// codeOf returns the code of a script, if it may be run.
func (c *Runner) codeOf(s *Script) (string, error) {
	l := &c.opts.Limits
	switch {
	case (s.Code == "") == (s.Name == ""):
		return "", errors.New("codemode: a script has either Code or Name")
	case len(s.Code) > l.Code:
		return "", fmt.Errorf("codemode: the script has %d bytes, at most %d are allowed", len(s.Code), l.Code)
	case len(s.Input) > l.Message || len(s.Input) > 0 && !json.Valid(s.Input):
		return "", fmt.Errorf("codemode: the input is no JSON of at most %d bytes", l.Message)
	case s.AskOnce && s.DryRun:
		return "", errors.New("codemode: a dry run does not ask")
	case s.Name == "":
		return s.Code, nil
	}
	c.mu.Lock()
	stored, ok := c.stored[s.Name]
	c.mu.Unlock()
	if !ok {
		return "", fmt.Errorf("codemode: there is no script %s", plain.Quote(s.Name))
	}
	if book := c.opts.Ledger; book != nil {
		change := book.Judge(ledger.Server{Name: LedgerServer}, stored.surface())
		if change != nil && book.Reload(context.Background()) == nil { // another process may have accepted it
			change = book.Judge(ledger.Server{Name: LedgerServer}, stored.surface())
		}
		if change != nil {
			return "", &QuarantinedError{s.Name, change}
		}
	}
	return stored.Code, nil
}
