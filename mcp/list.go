package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
	"github.com/mcpbelt/mcpbelt/internal/listed"
)

// A list is one of the lists that a server gives out in pages.
type list[T any] struct {
	method string   // such as "tools/list"
	member string   // of the result that holds the items, such as "tools"
	about  []member // parameters of each request
	noun   string   // for one item, such as "tool"
	// offered reports whether the server says that it has the list; else it is empty.
	offered func(*connection) bool
	// decode takes one item. What it refuses is left out. An item is flawed if something that is optional was.
	decode func(raw []byte, modern bool) (item *T, flawed bool, err error)
	// key names an item among those of the list.
	key func(*T) string
	// max bounds the items; 0: by nothing but their bytes.
	max int
}

// A listPage is one page of a list.
type listPage[T any] struct {
	freshness
	items    []*T
	problems []ListProblem
	next     json.RawMessage // the cursor of the next one as the server wrote it; nil on the last
	bytes    int
	conn     *connection
}

// A pager reads the pages of a list one after the other.
type pager[T any] struct {
	client *Client
	list   *list[T]
	until  time.Time // bounds all pages; zero: each has a time of its own

	restarts int
	pagesRead
}

// The pagesRead are those of a list that were read so far.
type pagesRead struct {
	cursor   json.RawMessage // of the next page; nil: the first
	source   *connection     // where it came from
	ended    bool
	pages    int
	items    int
	bytes    int64
	seen     map[string]bool // cursors
	problems []ListProblem
	stalest  freshness // of the pages with a hint
	unhinted bool      // there was a page without one
}

// next reads one page. Restarted says that it is the first one again, because
// the server does not know the cursor any more.
func (p *pager[T]) next(ctx context.Context) (items []*T, restarted bool, err error) {
	for {
		result, conn, err := p.client.send(ctx, p.request())
		page := listPage[T]{conn: conn}
		if err == nil {
			err = p.decode(ctx, &page, result)
		}
		if err == nil {
			return page.items, restarted, p.count(&page)
		}
		if !p.outlived(err, conn) {
			return nil, restarted, err
		}
		p.pagesRead = pagesRead{}
		p.restarts++
		restarted = true
	}
}

func (p *pager[T]) request() *request {
	r := p.client.newRequest(p.list.method, append(slices.Clip(p.list.about), member{"cursor", p.cursor})...)
	if !p.until.IsZero() {
		r.until = p.until
	}
	return r
}

// outlived reports whether a page was refused because of a cursor that the
// server does not know any more, though it was good once. Then the list has to be
// read from the beginning: once if the same connection gave the cursor, whose list
// may have changed, and more often if it is of an earlier one.
func (p *pager[T]) outlived(err error, conn *connection) bool {
	most := maxListings
	if conn == p.source {
		most = 1
	}
	return p.cursor != nil && refusalCode(err) == jsonrpc.CodeInvalidParams && p.restarts < most
}

// count counts a page, within the limits.
func (p *pager[T]) count(page *listPage[T]) error {
	c := p.client
	p.pages++
	p.items += len(page.items)
	p.bytes += int64(page.bytes)
	p.problems = append(p.problems, page.problems[:min(len(page.problems), maxListProblems-len(p.problems))]...)
	switch {
	case !page.hinted:
		p.unhinted = true
	case !p.stalest.hinted || page.until().Before(p.stalest.until()):
		p.stalest = page.freshness
	}
	next := string(page.next)
	var err error
	switch {
	case p.list.max > 0 && p.items > p.list.max:
		err = &LimitError{p.list.member + " of a server", int64(p.list.max)}
	case p.bytes > maxCatalog:
		err = &LimitError{"bytes of " + p.list.method, maxCatalog}
	case page.next == nil || !page.conn.modern() && next == `""`:
		// To older revisions an empty cursor is none; from 2026-07-28 on it is
		// one like all others.
		p.ended = true
		c.keepProblems(p.list.method, p.problems)
		return nil
	case p.pages == maxPages:
		err = &LimitError{"pages of " + p.list.method, maxPages}
	case p.seen[next]:
		return p.invalid("nextCursor", errors.New("the server's pages go round in circles"))
	}
	if err != nil {
		return fmt.Errorf("mcp: server %q: %w", c.name, err)
	}
	if p.seen == nil {
		p.seen = make(map[string]bool)
	}
	p.seen[next] = true
	p.cursor, p.source = page.next, page.conn
	return nil
}

// decode decodes one page.
func (p *pager[T]) decode(ctx context.Context, page *listPage[T], result json.RawMessage) error {
	modern := page.conn.modern()
	if page.bytes = len(result); modern {
		page.freshness = freshnessOf(result)
	}
	found := false
	kind := kindComplete
	walk := jsonscan.Walk(result)
	for key := range walk.Members() {
		switch string(key) {
		case p.list.member:
			if kind := walk.Kind(); kind != '[' {
				return p.invalid(p.list.member, &kindError{kind, anArray})
			}
			found = true
			for i := range walk.Elements() {
				raw, err := walk.Checked() // its JSON breaks rules if only the item is spoilt by it
				var item *T
				flawed := false
				if err == nil {
					item, flawed, err = p.list.decode(raw, modern)
				}
				if err != nil {
					path := fmt.Sprintf("%s[%d]", p.list.member, i)
					if len(page.problems) < maxListProblems {
						page.problems = append(page.problems, p.problemOf(raw, path, err))
					}
					err = p.invalid(path, err)
					p.client.opts.Logger.Warn("mcp: leaving out an invalid "+p.list.noun, "server", p.client.name, p.list.noun, nameOf(raw), "error", err)
				} else {
					page.items = append(page.items, item)
					if !flawed {
						listed.Note(ctx, item, raw)
					}
				}
			}
		case "nextCursor":
			value := walk.Value()
			if value[0] == '"' {
				page.next = value
			} else if string(value) != "null" {
				return p.invalid("nextCursor", wrongKind(value, aString))
			}
		case "resultType":
			if value := walk.Value(); !isNull(value) {
				if err := decodeString(&kind, value); err != nil {
					return p.invalid("resultType", err)
				}
			}
		}
	}
	if kind != kindComplete {
		return p.invalid("resultType", unknownResult(kind))
	}
	if !found {
		return p.invalid(p.list.member, errMissing)
	}
	return nil
}

// nameOf returns the name of an invalid item for the log, as far as it has one.
func nameOf(item []byte) string {
	value := jsonscan.Member(item, "name")
	if jsonscan.Valid(value) != nil {
		return ""
	}
	return harmless(value)
}

func (p *pager[T]) invalid(path string, err error) error {
	return p.client.explain(&request{method: p.list.method}, at(path, err))
}

// whole reads all pages.
func (p *pager[T]) whole(ctx context.Context) (items []*T, err error) {
	items = []*T{}
	for !p.ended {
		page, restarted, err := p.next(ctx)
		if err != nil {
			return nil, err
		}
		if restarted {
			items = items[:0]
		}
		items = append(items, page...)
	}
	return items, nil
}

// each yields the items of a list, and reads its pages as they are needed.
func each[T any](ctx context.Context, c *Client, l *list[T]) iter.Seq2[*T, error] {
	return func(yield func(*T, error) bool) {
		p := &pager[T]{client: c, list: l}
		yielded := make(map[string]bool)
		again := false // what was yielded may come again
		for !p.ended {
			items, restarted, err := p.use(ctx)
			if err != nil {
				yield(nil, err)
				return
			}
			again = again || restarted
			for _, item := range items {
				key := l.key(item)
				if again && yielded[key] {
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

// use is next as a use of the client that Shutdown waits for. A server without
// the list is not asked.
func (p *pager[T]) use(ctx context.Context) (items []*T, restarted bool, err error) {
	conn, err := p.client.enterConnected(ctx, p.request())
	if err != nil {
		return nil, false, err
	}
	defer p.client.leave()
	if !p.list.offered(conn) {
		p.ended = true
		return nil, false, nil
	}
	return p.next(ctx)
}

// ListProblems returns the elements that were left out of the server's lists when each was
// last read to its end, at most 100 of each, in the order of the lists' methods. A list
// that was not read yet has none.
func (c *Client) ListProblems() []ListProblem {
	c.mu.Lock()
	defer c.mu.Unlock()
	var all []ListProblem
	for _, problems := range c.problems {
		all = append(all, problems...)
	}
	slices.SortStableFunc(all, func(a, b ListProblem) int { return cmp.Compare(a.Method, b.Method) })
	return all
}

// keepProblems notes the problems of a list that was read to its end.
func (c *Client) keepProblems(method string, problems []ListProblem) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.problems == nil {
		c.problems = make(map[string][]ListProblem)
	}
	c.problems[method] = problems
}

// problemOf returns the problem of an element that has been left out because of err.
func (p *pager[T]) problemOf(raw []byte, path string, err error) ListProblem {
	token := "invalid"
	if syntax, ok := errors.AsType[*jsonscan.SyntaxError](err); ok {
		token = cmp.Or(map[string]string{jsonscan.TooDeep: "too_deep", jsonscan.DuplicateKey: "duplicate_key", jsonscan.InvalidUTF8: "invalid_utf8"}[syntax.Reason], token)
	}
	return ListProblem{p.list.method, path, nameOf(raw), token, err}
}
