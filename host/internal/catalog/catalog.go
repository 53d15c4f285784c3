// Package catalog keeps the tools of servers between runs.
package catalog

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/internal/atomicfile"
	"github.com/mcpbelt/mcpbelt/internal/nils"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/storage"
)

// A Cache keeps what servers offered, so that their tools can be listed before they are started. What cannot be
// read is not there, and what cannot be written is not kept. The ledger decides what may be called. A
// Cache is safe for concurrent use, also by several processes.
type Cache interface {
	// Load returns what a server offered, and whether that is known.
	Load(ctx context.Context, e *config.Server) ([]*mcp.Tool, bool)
	// Save keeps what a server lists. It waits for no store.
	Save(e *config.Server, list []*mcp.Tool)
	// Close waits for what is being saved, for 2 seconds at most. Nothing is kept from then on.
	Close()
}

// A folder is a Cache with one file for each catalogue.
type folder struct {
	dir   string // empty: nothing is kept
	prune sync.Once
}

// contents is the content of a catalogue.
type contents struct {
	Version     int
	Server      string   // configured name
	Fingerprint string   // see config.Server
	Tools       []string // the JSON of each, as text, so that it stays the same byte for byte
}

const (
	version = 2
	maxSize = 64 << 20 // bytes of a catalogue
	// A catalogue that was not used for maxAge is removed. Its time is renewed when it is
	// used, if it is older than renewal.
	maxAge  = 90 * 24 * time.Hour
	renewal = 24 * time.Hour
)

// Open returns the catalogues in a store or, if that is nil, in the folder of a host's state, which is made when there
// is something to keep; if state is empty, too, nothing is kept.
func Open(state string, store storage.Store) Cache {
	if !nils.Is(store) {
		return newShared(store)
	}
	if state == "" {
		return &folder{}
	}
	return &folder{dir: filepath.Join(state, "catalogs")}
}

// keyOf returns under which name the catalogue of a server is kept, and what it has to be of.
func keyOf(e *config.Server) (name, fingerprint string) {
	fingerprint = fingerprintOf(e)
	sum := sha256.Sum256([]byte(e.Name + "\x00" + fingerprint))
	return hex.EncodeToString(sum[:16]), fingerprint
}

// encode returns what is kept of a list: its SHA-256 in hexadecimal, a line break, and JSON.
func encode(e *config.Server, fingerprint string, list []*mcp.Tool) ([]byte, error) {
	kept := contents{Version: version, Server: e.Name, Fingerprint: fingerprint, Tools: make([]string, 0, len(list))}
	for _, tool := range list {
		kept.Tools = append(kept.Tools, string(tool.Raw))
	}
	body, err := json.Marshal(kept)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(body)
	data := append(hex.AppendEncode(make([]byte, 0, len(body)+sha256.Size*2+1), sum[:]), '\n')
	return append(data, body...), nil
}

// decode returns the list of what encode has made, unless it is damaged or of another server.
func decode(e *config.Server, fingerprint string, data []byte) ([]*mcp.Tool, bool) {
	if len(data) < sha256.Size*2+1 {
		return nil, false
	}
	body := data[sha256.Size*2+1:]
	if sum := sha256.Sum256(body); hex.EncodeToString(sum[:]) != string(data[:sha256.Size*2]) {
		return nil, false
	}
	var kept contents
	if json.Unmarshal(body, &kept) != nil || kept.Version != version || kept.Server != e.Name || kept.Fingerprint != fingerprint {
		return nil, false
	}
	list := make([]*mcp.Tool, 0, len(kept.Tools))
	for _, raw := range kept.Tools {
		tool := new(mcp.Tool)
		if json.Unmarshal([]byte(raw), tool) != nil {
			return nil, false
		}
		list = append(list, tool)
	}
	return list, true
}

// file returns where a catalogue is.
func (c *folder) file(name string) string { return filepath.Join(c.dir, name+".json") }

func (c *folder) Load(_ context.Context, e *config.Server) ([]*mcp.Tool, bool) {
	if c.dir == "" || e == nil {
		return nil, false
	}
	name, fingerprint := keyOf(e)
	data, info, err := atomicfile.Read(c.file(name), maxSize)
	if err != nil {
		return nil, false
	}
	if now := time.Now(); now.Sub(info.ModTime()) > renewal {
		_ = os.Chtimes(c.file(name), now, now)
	}
	return decode(e, fingerprint, data)
}

func (c *folder) Save(e *config.Server, list []*mcp.Tool) {
	if c.dir == "" {
		return
	}
	name, fingerprint := keyOf(e)
	data, err := encode(e, fingerprint, list)
	if err != nil {
		return
	}
	if old, _, err := atomicfile.Read(c.file(name), maxSize); err == nil && string(old) == string(data) {
		return
	}
	replace(c.file(name), data)
	c.prune.Do(c.removeOld)
}

func (*folder) Close() {}

// removeOld removes the catalogs of servers that are not configured any more.
func (c *folder) removeOld() {
	entries, err := os.ReadDir(c.dir)
	if err != nil {
		return
	}
	for _, entry := range entries {
		if info, err := entry.Info(); err == nil && info.Mode().IsRegular() && time.Since(info.ModTime()) > maxAge {
			_ = os.Remove(filepath.Join(c.dir, entry.Name()))
		}
	}
}

// replace replaces a file whole, without waiting for the disk: after a loss of
// power the file may be torn, which its hash tells.
func replace(path string, data []byte) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".catalog-*")
	if err != nil {
		return
	}
	_, err = f.Write(data)
	if errors.Join(err, f.Close()) != nil || os.Rename(f.Name(), path) != nil {
		_ = os.Remove(f.Name())
	}
}

// fingerprintOf returns the fingerprint of an entry, also of one that was made by the
// program.
func fingerprintOf(e *config.Server) string {
	if f := e.Fingerprint(); f != "" {
		return f
	}
	said, err := json.Marshal([]any{
		e.Transport, e.Command, e.Args, e.Cwd, e.URL,
		slices.Sorted(maps.Keys(e.Env)), slices.Sorted(maps.Keys(e.Headers)),
	})
	if err != nil { // cannot be: there are only texts
		return ""
	}
	sum := sha256.Sum256(said)
	return "made:" + hex.EncodeToString(sum[:])
}
