package codemode

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/mcpbelt/mcpbelt/internal/document"
	"github.com/mcpbelt/mcpbelt/internal/feed"
	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
	"github.com/mcpbelt/mcpbelt/internal/nils"
	"github.com/mcpbelt/mcpbelt/internal/plain"
	"github.com/mcpbelt/mcpbelt/registry/ledger"
	"github.com/mcpbelt/mcpbelt/storage"
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
	stored, err := byName(scripts)
	if err != nil {
		return err
	}
	var surfaces []*ledger.Surface
	for _, s := range scripts {
		if len(s.Code) > c.limits.Code {
			return fmt.Errorf("codemode: script %s has %d bytes, at most %d are allowed", plain.Quote(s.Name), len(s.Code), c.limits.Code)
		}
		surfaces = append(surfaces, s.surface())
	}
	if c.ledger != nil && len(surfaces) > 0 {
		if err := c.ledger.Record(ctx, ledger.Server{Name: LedgerServer}, surfaces); err != nil {
			return err
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stored = stored
	return nil
}

// byName returns scripts by their names. It fails if these are not sound.
func byName(scripts []StoredScript) (map[string]StoredScript, error) {
	stored := map[string]StoredScript{}
	for _, s := range scripts {
		switch _, twice := stored[s.Name]; {
		case s.Name == "" || len(s.Name) > 128:
			return nil, fmt.Errorf("codemode: the name of a script, %s, has 1 to 128 bytes", plain.Quote(s.Name))
		case twice:
			return nil, fmt.Errorf("codemode: there are two scripts of the name %s", plain.Quote(s.Name))
		}
		stored[s.Name] = s
	}
	return stored, nil
}

// retryAfter is when scripts are read and set again that could not be.
const retryAfter = 3 * time.Second

// FollowScripts sets the scripts that are kept in a store under a name, as [Runner.SetScripts] does, and again whenever
// they change, by whichever process: see [ChangeScripts]. It learns of that as soon as the store tells it, if that is
// a storage.Watcher, and else within 3 seconds. If nothing is kept there are no scripts, also none of [Options].
//
// Done, which may be nil, is told what came of each change: nil, or why the scripts cannot be read or set. Those of
// before stay then, and it is tried again every 3 seconds; the same error is told once. FollowScripts has no goroutine:
// call it in one of the program, which it tells. It returns when ctx ends or the store is closed, and why.
func (c *Runner) FollowScripts(ctx context.Context, store storage.Store, name string, done func(error)) error {
	if nils.Is(store) {
		return errNoStore
	}
	kept := keptScripts(store, name)
	for scripts, err := range kept.Watch(ctx) {
		for told := ""; ; {
			if err == nil {
				err = c.SetScripts(ctx, scripts)
			} else {
				err = fmt.Errorf("codemode: the kept scripts: %w", err)
			}
			switch {
			case ctx.Err() != nil:
				return ctx.Err()
			case errors.Is(err, storage.ErrClosed):
				return err
			case done != nil && (err == nil || err.Error() != told):
				done(err)
			}
			if err == nil {
				break
			}
			told = err.Error()
			if err := feed.Sleep(ctx, retryAfter); err != nil {
				return err
			}
			scripts, err = kept.Load(ctx)
		}
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return storage.ErrClosed
}

// ChangeScripts replaces the scripts that are kept in a store under a name, see [storage.CheckName], such as
// "scripts", by what edit makes of them, and returns when that is kept. It calls edit again if another process was
// faster, so that none overwrites what it has not seen. If edit fails, or changes nothing, nothing is kept; so it is if
// a name is not sound or comes twice, or the scripts do not fit into a record.
func ChangeScripts(ctx context.Context, store storage.Store, name string, edit func(now []StoredScript) ([]StoredScript, error)) error {
	if nils.Is(store) || edit == nil {
		return errNoStore
	}
	err := keptScripts(store, name).Change(ctx, func(now []StoredScript) ([]StoredScript, bool, error) {
		next, err := edit(slices.Clone(now))
		if err == nil {
			_, err = byName(next)
		}
		return next, !slices.Equal(next, now), err
	})
	if err != nil {
		return fmt.Errorf("codemode: changing the kept scripts: %w", err)
	}
	return nil
}

var errNoStore = errors.New("codemode: the kept scripts: there is no store, or no change")

func keptScripts(store storage.Store, name string) *document.Value[[]StoredScript] {
	return document.New(store, name, parseScripts, renderScripts)
}

// scriptsVersion is that of what is kept. A later one is refused: what it allows is not known.
const scriptsVersion = 1

type wireScripts struct {
	Version int            `json:"version"`
	Scripts []StoredScript `json:"scripts"`
}

func renderScripts(scripts []StoredScript) ([]byte, error) {
	for _, s := range scripts {
		if !utf8.ValidString(s.Name + s.Description + s.Code) {
			return nil, fmt.Errorf("script %s is no valid UTF-8", plain.Quote(s.Name))
		}
	}
	return json.Marshal(wireScripts{scriptsVersion, scripts})
}

// parseScripts reads what renderScripts has written, and nothing else.
func parseScripts(data []byte) ([]StoredScript, error) {
	err := jsonscan.Valid(data)
	var version struct{ Version int }
	if err == nil {
		err = json.Unmarshal(data, &version)
	}
	switch {
	case err != nil:
		return nil, fmt.Errorf("what is kept is not sound: %w", err)
	case version.Version > scriptsVersion:
		return nil, fmt.Errorf("what is kept has version %d, which a later version of this program has written; use that one", version.Version)
	case version.Version < 1:
		return nil, errors.New("what is kept is not sound: it has no version")
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	var all wireScripts
	if err := dec.Decode(&all); err != nil {
		return nil, fmt.Errorf("what is kept is not sound: %w", err)
	}
	return all.Scripts, nil
}

// A QuarantinedError reports a stored script that was not accepted as it is.
type QuarantinedError struct {
	Name   string         // of the script
	Change *ledger.Change // how it differs from what was accepted
}

// Error names the script.
func (e *QuarantinedError) Error() string {
	return fmt.Sprintf("script %s is new or has changed, and is not run before a person has accepted it", plain.Quote(e.Name))
}

// codeOf returns the code of a script, if it may be run.
func (c *Runner) codeOf(s *Script) (string, error) {
	switch {
	case (s.Code == "") == (s.Name == ""):
		return "", errors.New("codemode: a script has either Code or Name")
	case len(s.Code) > c.limits.Code:
		return "", fmt.Errorf("codemode: the script has %d bytes, at most %d are allowed", len(s.Code), c.limits.Code)
	case len(s.Input) > c.limits.Message || len(s.Input) > 0 && !json.Valid(s.Input):
		return "", fmt.Errorf("codemode: the input is no JSON of at most %d bytes", c.limits.Message)
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
	if c.ledger == nil {
		return stored.Code, nil
	}
	change := c.ledger.Judge(ledger.Server{Name: LedgerServer}, stored.surface())
	if change != nil && c.ledger.Reload(context.Background()) == nil { // another process may have accepted it
		change = c.ledger.Judge(ledger.Server{Name: LedgerServer}, stored.surface())
	}
	if change != nil {
		return "", &QuarantinedError{s.Name, change}
	}
	return stored.Code, nil
}
