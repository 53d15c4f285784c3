package belt

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"time"

	"github.com/mcpbelt/mcpbelt/cmd/mcpbelt/internal/cli"
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/internal/atomicfile"
)

// A Look is how a server stood when a command last looked at it.
type Look struct {
	Status string    `json:"status"`          // ready, or the code of the exit that said why it was not
	Tools  int       `json:"tools,omitempty"` // that it offers
	At     time.Time `json:"at"`
}

// lookKey names an entry in the file of looks: one that leads to another server is another one.
func lookKey(s *config.Server) string {
	return s.Source.File + "\x00" + s.Name + "\x00" + s.Fingerprint()
}

// Looked notes how a server stands: the number of its tools, or why it is not ready.
func (b *Belt) Looked(s *config.Server, tools int, err error) {
	if IsAdHoc(s) {
		return
	}
	l := Look{Status: "ready", Tools: tools, At: b.Env.Now().UTC().Truncate(time.Second)}
	if e, ok := errors.AsType[*cli.Error](err); ok {
		l.Status, l.Tools = e.Exit.Code(), 0
	} else if err != nil {
		return // the command has ended
	}
	b.lookMu.Lock()
	defer b.lookMu.Unlock()
	if b.looks == nil {
		b.looks = map[string]Look{}
		b.ends = append(b.ends, b.keepLooks)
	}
	b.looks[lookKey(s)] = l
}

// Looks returns how servers stood, by lookKey.
func (b *Belt) Looks() map[string]Look {
	looks := map[string]Look{}
	if b.Env.StateDir != "" {
		data, _ := os.ReadFile(b.looksFile()) // there may be none
		_ = json.Unmarshal(data, &looks)
	}
	return looks
}

// LookAt returns how a server stood.
func LookAt(looks map[string]Look, s *config.Server) (Look, bool) {
	l, ok := looks[lookKey(s)]
	return l, ok
}

func (b *Belt) looksFile() string { return filepath.Join(b.Env.StateDir, "looks.json") }

// keepLooks writes down what was noted. Where that is not possible list shows less.
func (b *Belt) keepLooks() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if b.Env.StateDir == "" || os.MkdirAll(b.Env.StateDir, 0o700) != nil {
		return
	}
	unlock, err := atomicfile.Lock(ctx, b.looksFile())
	if err != nil {
		return
	}
	defer unlock()
	const most = 10_000
	looks := b.Looks()
	if len(looks) > most {
		clear(looks)
	}
	maps.Copy(looks, b.looks)
	if data, err := json.Marshal(looks); err == nil {
		_, _ = atomicfile.Replace(ctx, b.looksFile(), data, 0o600)
	}
}
