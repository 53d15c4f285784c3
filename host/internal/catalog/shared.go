package catalog

import (
	"bytes"
	"compress/flate"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"strconv"
	"sync"
	"time"

	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/storage"
)

const (
	recordPrefix = "catalog-"
	waitFor      = 2 * time.Second  // for the store, where a caller waits
	writeWithin  = 10 * time.Second // is how long it may take to write one catalogue
	maxSwept     = 1000             // records that are looked at in one sweep
)

// A shared is a Cache with one record for each catalogue in a store that several hosts may share: the
// day of its last use, such as 2026-04-01, and what is in a file, deflated.
type shared struct {
	store  storage.Store
	ctx    context.Context // of the writer; ends with Close
	cancel context.CancelFunc
	swept  time.Time // when old records were removed last; of the writer

	mu      sync.Mutex // guards the following
	closed  bool
	pending map[string]change // by the name of the record
	writer  chan struct{}     // closed when the goroutine that writes has ended; nil: there is none
}

// A change is what is to be written of a record.
type change struct {
	packed []byte
	at     storage.Revision // of the record that gets another day alone; empty: the catalogue is new
}

func newShared(store storage.Store) *shared {
	c := &shared{store: store, pending: map[string]change{}}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	return c
}

// today returns the day that is written into records.
func today() string { return time.Now().UTC().Format(time.DateOnly) }

// split returns the day and the rest of a record.
func split(data []byte) (day string, packed []byte) {
	n := min(len(data), len(time.DateOnly))
	return string(data[:n]), data[n:]
}

func (c *shared) Load(ctx context.Context, e *config.Server) ([]*mcp.Tool, bool) {
	if e == nil {
		return nil, false
	}
	ctx, cancel := context.WithTimeout(ctx, waitFor)
	defer cancel()
	name, fingerprint := keyOf(e)
	name = recordPrefix + name
	r, err := c.store.Load(ctx, name, "")
	if err != nil {
		return nil, false
	}
	day, packed := split(r.Data)
	data, err := io.ReadAll(io.LimitReader(flate.NewReader(bytes.NewReader(packed)), maxSize))
	if err != nil {
		return nil, false
	}
	list, ok := decode(e, fingerprint, data)
	if ok && day != today() {
		c.write(name, change{packed, r.Revision})
	}
	return list, ok
}

func (c *shared) Save(e *config.Server, list []*mcp.Tool) {
	name, fingerprint := keyOf(e)
	data, err := encode(e, fingerprint, list)
	if err != nil || len(data) > maxSize {
		return
	}
	var packed bytes.Buffer
	w, err := flate.NewWriter(&packed, flate.BestSpeed)
	if err == nil {
		_, err = w.Write(data)
	}
	if err == nil && w.Close() == nil {
		c.write(recordPrefix+name, change{packed: packed.Bytes()})
	}
}

// write has the writer write a record.
func (c *shared) write(name string, ch change) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, waits := c.pending[name]; c.closed || waits && ch.at != "" {
		return
	}
	c.pending[name] = ch
	if c.writer == nil {
		c.writer = make(chan struct{})
		go c.run(c.writer)
	}
}

// run writes until nothing is left to be written.
func (c *shared) run(done chan struct{}) {
	defer close(done)
	for {
		name, ch := c.next()
		if name == "" {
			return
		}
		ctx, cancel := context.WithTimeout(c.ctx, writeWithin)
		if c.put(ctx, name, ch) && time.Since(c.swept) > renewal {
			c.swept = time.Now()
			c.sweep(ctx)
		}
		cancel()
	}
}

// next takes what is to be written next. An empty name ends the writer.
func (c *shared) next() (string, change) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for name, ch := range c.pending {
		delete(c.pending, name)
		return name, ch
	}
	c.writer = nil
	return "", change{}
}

// put writes a record, and reports whether it did. If another host was faster, it has written the same.
func (c *shared) put(ctx context.Context, name string, ch change) bool {
	day, at := today(), ch.at
	if at == "" {
		r, err := c.store.Load(ctx, name, "")
		if err != nil && !errors.Is(err, storage.ErrNotFound) && !errors.Is(err, storage.ErrDamaged) {
			return false
		}
		if last, packed := split(r.Data); last == day && bytes.Equal(packed, ch.packed) {
			return false
		}
		at = r.Revision
	}
	_, err := c.store.Save(ctx, name, append([]byte(day), ch.packed...), at)
	return err == nil
}

// sweep removes what was not used for long, of a sixteenth of the records: each has to be read for that.
func (c *shared) sweep(ctx context.Context) {
	looked := 0
	for name, err := range c.store.Names(ctx, recordPrefix+strconv.FormatInt(rand.Int64N(16), 16)) {
		if looked++; err != nil || looked > maxSwept {
			return
		}
		r, err := c.store.Load(ctx, name, "")
		if err != nil {
			continue
		}
		last, _ := split(r.Data)
		if day, err := time.Parse(time.DateOnly, last); err == nil && time.Since(day) > maxAge {
			_ = c.store.Delete(ctx, name, r.Revision)
		}
	}
}

func (c *shared) Close() {
	c.mu.Lock()
	c.closed = true
	done := c.writer
	c.mu.Unlock()
	if done != nil {
		select {
		case <-done:
		case <-time.After(waitFor):
		}
	}
	c.cancel()
	if done != nil {
		<-done
	}
}
