package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
)

// A list is one of the lists that a server gives out in pages.
type list[T any] struct {
	method string // such as "tools/list"
	member string // of the result that holds the items, such as "tools"
	noun   string // for one item, such as "tool"
	// offered reports whether a server with these capabilities has the list.
	offered func(*ServerCapabilities) bool
	// decode takes one item. What it refuses is left out.
	decode func(raw []byte, modern bool) (*T, error)
	// key names an item among those of the list.
	key func(*T) string
	// max bounds the items; 0: by nothing but their bytes.
	max int
}

// A listPage is one page of a list.
type listPage[T any] struct {
	items []*T
	next  json.RawMessage // the cursor of the next one as the server wrote it; nil on the last
}

// A pager reads the pages of a list one after the other.
type pager[T any] struct {
	client *Client
	list   *list[T]
	until  time.Time // bounds all pages; zero: each has a time of its own

	cursor json.RawMessage // of the next page; nil: the first
	source *life           // where it came from
	ended  bool
	pages  int
	items  int
	size   int64
	seen   map[string]bool // cursors

	restarts int
}

// next reads one page. Restarted says that it is the first one again, because
// the server does not know the cursor any more.
func (p *pager[T]) next(ctx context.Context) (items []*T, restarted bool, err error) {
	for {
		result, l, err := p.fetch(ctx)
		if err == nil {
			items, err = p.take(result, l)
			return items, restarted, err
		}
		if !p.outlived(err, l) {
			return nil, restarted, err
		}
		p.restart()
		restarted = true
	}
}

// fetch asks for one page.
func (p *pager[T]) fetch(ctx context.Context) (json.RawMessage, *life, error) {
	c := p.client
	until := p.until
	if until.IsZero() {
		until = time.Now().Add(c.opts.CallTimeout)
	}
	return c.send(ctx, &request{
		method: p.list.method,
		params: [numParams]member{{"cursor", p.cursor}},
		idle:   c.opts.IdleTimeout,
		total:  c.opts.CallTimeout,
		until:  until,
	})
}

// outlived reports whether a page was refused because of a cursor that the
// server does not know any more, though it was good once: it is of an earlier
// connection. Then the list has to be read from the beginning.
func (p *pager[T]) outlived(err error, l *life) bool {
	return p.cursor != nil && l != p.source && refusedParams(err) && p.restarts < maxListings
}

func (p *pager[T]) restart() {
	p.cursor, p.source, p.seen = nil, nil, nil
	p.pages, p.items, p.size = 0, 0, 0
	p.restarts++
}

// take takes the answer to fetch.
func (p *pager[T]) take(result json.RawMessage, l *life) ([]*T, error) {
	c := p.client
	page, err := p.decode(result, l.modern())
	if err != nil {
		return nil, err
	}
	p.pages++
	p.items += len(page.items)
	p.size += int64(len(result))
	next := string(page.next)
	switch {
	case p.list.max > 0 && p.items > p.list.max:
		err = &LimitError{p.list.member + " of a server", int64(p.list.max)}
	case p.size > c.opts.MaxCatalog:
		err = &LimitError{"bytes of " + p.list.method, c.opts.MaxCatalog}
	case page.next == nil || !l.modern() && next == `""`:
		// To older revisions an empty cursor is none; from 2026-07-28 on it is
		// one like all others.
		p.ended = true
		return page.items, nil
	case p.pages == c.opts.MaxPages:
		err = &LimitError{"pages of " + p.list.method, int64(c.opts.MaxPages)}
	case p.seen[next]:
		return nil, p.invalid("nextCursor", errors.New("the server's pages go round in circles"))
	}
	if err != nil {
		return nil, fmt.Errorf("mcp: server %q: %w", c.name, err)
	}
	if p.seen == nil {
		p.seen = make(map[string]bool)
	}
	p.seen[next] = true
	p.cursor, p.source = page.next, l
	return page.items, nil
}

// decode decodes one page.
func (p *pager[T]) decode(result json.RawMessage, modern bool) (page listPage[T], err error) {
	found := false
	kind := kindComplete
	walk := jsonscan.Walk(result)
	for key := range walk.Members() {
		switch string(key) {
		case p.list.member:
			if walk.Kind() != '[' {
				return page, p.invalid(p.list.member, errNotArray)
			}
			found = true
			for i := range walk.Elements() {
				raw := walk.Value()
				item, err := p.list.decode(raw, modern)
				if err != nil {
					p.client.opts.Logger.Warn("mcp: leaving out an invalid "+p.list.noun, "server", p.client.name,
						p.list.noun, nameOf(raw), "error", at(fmt.Sprintf("%s[%d]", p.list.member, i), err))
				} else {
					page.items = append(page.items, item)
				}
			}
		case "nextCursor":
			value := walk.Value()
			if value[0] == '"' {
				page.next = value
			} else if string(value) != "null" {
				return page, p.invalid("nextCursor", errNotString)
			}
		case "resultType":
			if err := decodeString(&kind, key, walk.Value()); err != nil {
				return page, p.invalid("resultType", errNotString)
			}
		}
	}
	if kind != kindComplete {
		return page, p.invalid("resultType", unknownKind(kind))
	}
	if !found {
		return page, p.invalid(p.list.member, errMissing)
	}
	return page, nil
}

// nameOf returns the name of an invalid item for the log, as far as it has one.
func nameOf(item []byte) string {
	for key, value := range jsonscan.Fields(item) {
		if string(key) == "name" {
			name, _ := jsonscan.String(value)
			return name
		}
	}
	return ""
}

func (p *pager[T]) invalid(path string, err error) error {
	return &ProtocolError{Server: p.client.name, Method: p.list.method, Path: path, Err: err}
}

// all reads all pages, and returns how many they were.
func (p *pager[T]) all(ctx context.Context) (items []*T, pages int, err error) {
	items = []*T{}
	for !p.ended {
		page, restarted, err := p.next(ctx)
		if err != nil {
			return nil, p.pages, err
		}
		if restarted {
			items = items[:0]
		}
		items = append(items, page...)
	}
	return items, p.pages, nil
}

// each yields the items of a list, and reads its pages as they are needed.
func each[T any](ctx context.Context, c *Client, l *list[T]) iter.Seq2[*T, error] {
	return func(yield func(*T, error) bool) {
		p := &pager[T]{client: c, list: l}
		yielded := make(map[string]bool)
		var known map[string]bool // what was yielded before the list began anew
		for !p.ended {
			items, restarted, err := p.nextPage(ctx)
			if err != nil {
				yield(nil, err)
				return
			}
			if restarted {
				known = yielded
			}
			for _, item := range items {
				key := l.key(item)
				if known[key] {
					continue
				}
				yielded[key] = true
				if !yield(item, nil) {
					return
				}
			}
		}
	}
}

// nextPage is next as a use of the client that Shutdown waits for. A server
// without the list is not asked.
func (p *pager[T]) nextPage(ctx context.Context) (items []*T, restarted bool, err error) {
	c := p.client
	if err := c.enter(); err != nil {
		return nil, false, c.explain(&request{method: p.list.method}, err)
	}
	defer c.leave()
	l, err := c.acquire(ctx, nil)
	if err != nil {
		return nil, false, err
	}
	if caps := l.info.Capabilities; caps == nil || !p.list.offered(caps) {
		p.ended = true
		return nil, false, nil
	}
	return p.next(ctx)
}
