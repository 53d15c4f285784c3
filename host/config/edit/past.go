package edit

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/mcpbelt/mcpbelt/host/record"
	"github.com/mcpbelt/mcpbelt/internal/atomicfile"
)

// maxPast bounds the file that keeps the history of a config file, in bytes.
const maxPast = 16 << 20

// A pastFile keeps the history of a config file. It is written while that is locked.
type pastFile struct {
	path string // empty: memory

	mu   sync.Mutex // guards the following, and the file within this process
	text []byte     // if there is no path
}

func (p *pastFile) read() (*record.History, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	data := p.text
	if p.path != "" {
		path, err := atomicfile.Resolve(p.path)
		if err == nil {
			data, _, err = atomicfile.Read(path, maxPast)
		}
		if errors.Is(err, fs.ErrNotExist) {
			return &record.History{}, nil
		}
		if err != nil {
			return nil, p.fail(err)
		}
	}
	h := &record.History{}
	if data == nil {
		return h, nil
	}
	if err := h.UnmarshalJSON(data); err != nil {
		return nil, p.fail(err)
	}
	return h, nil
}

func (p *pastFile) write(ctx context.Context, h *record.History) error {
	data, err := json.MarshalIndent(h, "", "  ")
	if err != nil {
		return p.fail(err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.path == "" {
		p.text = data
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(p.path), 0o700); err != nil {
		return p.fail(err)
	}
	path, err := atomicfile.Resolve(p.path)
	if err != nil {
		return p.fail(err)
	}
	if err := atomicfile.Replace(ctx, path, append(bytes.TrimSpace(data), '\n'), 0o600); err != nil {
		return p.fail(err)
	}
	return nil
}

func (p *pastFile) fail(err error) error {
	return fmt.Errorf("the history of the config file, %s: %w", p.path, err)
}
