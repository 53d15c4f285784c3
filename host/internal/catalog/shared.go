package catalog

import (
	"bytes"
	"compress/flate"
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/internal/again"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/storage"
)

const (
	recordPrefix = "catalog-"
	waitFor      = 2 * time.Second  // for the store, where a caller waits
	writeWithin  = 10 * time.Second // is how long it may take to write one catalogue
)

// A shared is a Cache with one record for each catalogue in a store that several hosts may share:
// what is in a file, deflated. Records of entries that are not configured any more stay.
type shared struct {
	store  storage.Store
	writer *again.Task     // writes what is pending
	ctx    context.Context // of the writer; ends with Close
	cancel context.CancelFunc

	mu      sync.Mutex // guards the following
	closed  bool
	pending map[string][]byte // what is to be written, by the name of the record
}

func newShared(store storage.Store) *shared {
	c := &shared{store: store, pending: map[string][]byte{}}
	c.writer = again.New(c.writePending)
	c.ctx, c.cancel = context.WithCancel(context.Background())
	return c
}

func (c *shared) Load(ctx context.Context, e *config.Server) ([]*mcp.Tool, bool) {
	if e == nil {
		return nil, false
	}
	ctx, cancel := context.WithTimeout(ctx, waitFor)
	defer cancel()
	name, fingerprint := keyOf(e)
	r, err := c.store.Load(ctx, recordPrefix+name, "")
	if err != nil {
		return nil, false
	}
	data, err := io.ReadAll(io.LimitReader(flate.NewReader(bytes.NewReader(r.Data)), maxSize))
	if err != nil {
		return nil, false
	}
	return decode(e, fingerprint, data)
}

func (c *shared) Save(e *config.Server, list []*mcp.Tool) {
	name, fingerprint := keyOf(e)
	data, err := encode(e, fingerprint, list)
	if err != nil || len(data) > maxSize {
		return
	}
	var packed bytes.Buffer
	w, _ := flate.NewWriter(&packed, flate.BestSpeed) // which fails for another level only
	_, err = w.Write(data)
	if errors.Join(err, w.Close()) == nil {
		c.write(recordPrefix+name, packed.Bytes())
	}
}

// write has the writer write a record.
func (c *shared) write(name string, packed []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return
	}
	c.pending[name] = packed
	c.writer.Wake()
}

// writePending writes until nothing is left to be written.
func (c *shared) writePending() {
	for {
		name, packed := c.next()
		if name == "" {
			return
		}
		ctx, cancel := context.WithTimeout(c.ctx, writeWithin)
		r, err := c.store.Load(ctx, name, "")
		if (err == nil || errors.Is(err, storage.ErrNotFound) || errors.Is(err, storage.ErrDamaged)) && !bytes.Equal(r.Data, packed) {
			_, _ = c.store.Save(ctx, name, packed, r.Revision) // if another host was faster, it has written the same
		}
		cancel()
	}
}

// next takes what is to be written next; an empty name: nothing is.
func (c *shared) next() (string, []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for name, packed := range c.pending {
		delete(c.pending, name)
		return name, packed
	}
	return "", nil
}

func (c *shared) Close() {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	defer time.AfterFunc(waitFor, c.cancel).Stop()
	c.writer.End()
	c.writePending() // if it was to begin when it ended
	c.cancel()
}
