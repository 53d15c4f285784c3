package ask

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/feed"
	"github.com/mcpbelt/mcpbelt/internal/onbehalf"
	"github.com/mcpbelt/mcpbelt/internal/share"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/mcp/form"
)

const (
	// defaultMax is how many questions wait at one time.
	defaultMax = 64
	// maxPast is how many questions are remembered that were answered.
	maxPast = 256
	// maxPages is how many pages are remembered that the user agreed to visit.
	maxPages = 64
)

var (
	// ErrUnknown is wrapped by the errors for an id that no question has or had
	// of late.
	//
	//cure:take the id from the list of questions
	ErrUnknown = errors.New("no such question")
	// ErrAnswered is wrapped by the errors for the id of a question that was
	// answered already, or withdrawn.
	//
	//cure:none is needed: show the list of questions again
	ErrAnswered = errors.New("the question was answered or withdrawn already")
)

// A Queue keeps questions until they are answered, for programs whose users
// answer elsewhere, such as on a web page. A question ends with its answer or
// with its context. The zero Queue is ready; it owns no goroutines. Its methods
// are safe for concurrent use.
//
// The ids of questions cannot be guessed, but they are no secrets: the program has
// to check which users may see and answer questions.
type Queue struct {
	// Max bounds the questions that wait at one time; further ones are cancelled
	// at once. So that no one keeps others out, a server has half of them at most; a
	// user whom the context of the question names, as by session.WithUser, a quarter;
	// and a server half of a user's. It must not be changed once the Queue is in use.
	// Default: 64. Negative: none, and all wait.
	Max int

	mu      sync.Mutex // guards the following
	open    []*pending // in the order in which they were asked
	held    share.Book // how many these are
	past    []string   // ids of the last ones that are not open any more
	pages   []openPage // that the user agreed to visit and may be done with
	visits  share.Book // how many these are
	changed feed.Bell
}

// pending is a question that waits for its answer.
type pending struct {
	Question
	owner  share.Owner
	form   *form.Form            // of a form
	page   *mcp.ElicitURLRequest // of a page
	answer chan *mcp.ElicitResult
}

// openPage is one that the user agreed to visit.
type openPage struct {
	id    string
	owner share.Owner
	page  *mcp.ElicitURLRequest
}

// Questions returns the questions that wait, the oldest first.
func (q *Queue) Questions() []Question {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.questionsLocked()
}

func (q *Queue) questionsLocked() []Question {
	questions := make([]Question, len(q.open))
	for i, p := range q.open {
		questions[i] = p.Question
	}
	return questions
}

// Watch yields the questions that wait now, and again whenever there are others,
// until ctx ends. A consumer that is slower than the changes sees the newest
// questions, not all between.
func (q *Queue) Watch(ctx context.Context) iter.Seq[[]Question] {
	return func(yield func([]Question) bool) {
		for {
			q.mu.Lock()
			questions, changed := q.questionsLocked(), q.changed.Rung()
			q.mu.Unlock()
			if !yield(questions) {
				return
			}
			select {
			case <-changed:
			case <-ctx.Done():
				return
			}
		}
	}
}

// Answer answers a question: "accept", with the content of a form, "decline" or
// "cancel"; nil means cancel. To accept a question of "sample" lets the model
// answer, and to accept one of "reply" sends its answer to the server.
//
// The content is checked first; if the form does not allow it, the error is a
// [*form.FieldError] and the question stays. The errors for other ids than those
// of waiting questions wrap [ErrUnknown] or [ErrAnswered].
func (q *Queue) Answer(id string, res *mcp.ElicitResult) error {
	res = cmp.Or(res, &mcp.ElicitResult{Action: cancel})
	q.mu.Lock()
	p, err := q.findLocked(id)
	q.mu.Unlock()
	if err != nil {
		return err
	}
	answer := &mcp.ElicitResult{Action: res.Action}
	switch {
	case res.Action != accept && res.Action != decline && res.Action != cancel:
		return fmt.Errorf("ask: the action must be accept, decline or cancel, not %.40q", res.Action)
	case res.Action == accept && p.form != nil:
		// Filled now, so that nothing remains shared with the caller.
		if answer.Content, err = p.form.Fill(res.Content); err != nil {
			return err
		}
		for name, value := range res.Content {
			if value == nil { // left out on purpose: no default for it later
				answer.Content[name] = nil
			}
		}
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if _, err := q.findLocked(id); err != nil {
		return err // another answer was faster
	}
	q.removeLocked(p)
	if p.page != nil && answer.Action == accept {
		q.visitLocked(p)
	}
	p.answer <- answer
	return nil
}

// Done says that the user is done with a page that they agreed to visit by Answer
// with the same id. Many servers send no notification of it, and a call may wait
// for it. The error wraps [ErrUnknown] if no such page is remembered; those of
// the last 64 are, or fewer of a user or a server that has more than a quarter of them.
func (q *Queue) Done(id string) error {
	q.mu.Lock()
	i := slices.IndexFunc(q.pages, func(p openPage) bool { return p.id == id })
	if i < 0 {
		q.mu.Unlock()
		return fmt.Errorf("ask: page %.40q: %w", id, ErrUnknown)
	}
	page := q.pages[i].page
	q.forgetPageLocked(i)
	q.mu.Unlock()
	page.Done()
	return nil
}

// visitLocked remembers a page that the user agreed to visit.
func (q *Queue) visitLocked(p *pending) {
	q.pages = append(q.pages, openPage{p.ID, p.owner, p.page})
	q.visits.Max.Count = maxPages
	q.visits.Add(p.owner, 0)
	if q.visits.Full() {
		q.forgetPageLocked(share.First(&q.visits, func(yield func(int, share.Owner) bool) {
			for i, page := range q.pages {
				if !yield(i, page.owner) {
					return
				}
			}
		}))
	}
}

func (q *Queue) forgetPageLocked(i int) {
	q.visits.Remove(q.pages[i].owner, 0)
	q.pages = slices.Delete(q.pages, i, i+1)
}

func (q *Queue) findLocked(id string) (*pending, error) {
	for _, p := range q.open {
		if p.ID == id {
			return p, nil
		}
	}
	err := ErrUnknown
	if slices.Contains(q.past, id) {
		err = ErrAnswered
	}
	return nil, fmt.Errorf("ask: question %.40q: %w", id, err)
}

func (q *Queue) removeLocked(p *pending) {
	i := slices.Index(q.open, p)
	q.open = slices.Delete(q.open, i, i+1)
	q.held.Remove(p.owner, 0)
	q.past = append(q.past, p.ID)
	q.past = q.past[max(0, len(q.past)-maxPast):]
	q.changed.Ring()
}

// admitLocked accounts for one more question, and reports whether there is room for it.
func (q *Queue) admitLocked(o share.Owner) bool {
	switch {
	case q.Max > 0:
		q.held.Max.Count = q.Max
	case q.Max == 0:
		q.held.Max.Count = defaultMax
	}
	user, server := share.Owner{User: o.User}, share.Owner{Server: o.Server}
	q.held.Add(o, 0)
	if q.held.Full() || q.held.Exceeds(user, 4) || q.held.Exceeds(server, 2) ||
		o != user && o != server && q.held.Exceeds(o, 8) {
		q.held.Remove(o, 0)
		return false
	}
	return true
}

// ask puts a question into the queue and waits for its answer.
func (q *Queue) ask(ctx context.Context, p *pending) (*mcp.ElicitResult, error) {
	p.ID = rand.Text()
	p.Asked = time.Now()
	p.Deadline, _ = ctx.Deadline()
	p.answer = make(chan *mcp.ElicitResult, 1)
	p.owner = share.Owner{User: onbehalf.Owner(ctx), Server: p.Server}
	q.mu.Lock()
	if !q.admitLocked(p.owner) {
		q.mu.Unlock()
		return &mcp.ElicitResult{Action: cancel}, nil
	}
	q.open = append(q.open, p)
	q.changed.Ring()
	q.mu.Unlock()
	select {
	case answer := <-p.answer:
		return answer, nil
	case <-ctx.Done():
		q.mu.Lock()
		defer q.mu.Unlock()
		select {
		case answer := <-p.answer: // its Answer has returned no error
			return answer, nil
		default:
		}
		q.removeLocked(p)
		return nil, ctx.Err()
	}
}

// Elicit keeps a form until it is filled in.
func (q *Queue) Elicit(ctx context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
	p := &pending{Question: Question{Kind: kindForm, Server: r.Server, Fields: r.Form.Fields, Warnings: r.Form.Warnings()}, form: &r.Form}
	if r.Params != nil {
		p.Message = r.Params.Message
	}
	return q.ask(ctx, p)
}

// ElicitURL keeps a page until the user agrees to visit it, or not. To open it is
// for the user or the program: a link with rel="noopener noreferrer" will do, or
// [OpenURL]. See [Queue.Done].
func (q *Queue) ElicitURL(ctx context.Context, r *mcp.ElicitURLRequest) (*mcp.ElicitResult, error) {
	return q.ask(ctx, &pending{page: r, Question: Question{
		Kind: kindURL, Server: r.Server, Message: r.Message, URL: r.URL, Host: r.Host, Warnings: r.Warnings,
	}})
}

// Sample returns a handler of sampling requests. It keeps the request until the
// user agrees, calls model, and keeps its answer until the user agrees that the
// server gets it: two questions, of "sample" and "reply". If they do not
// agree the error is [mcp.ErrRejected].
//
// Deprecated: Protocol revision 2026-07-28 deprecates sampling (SEP-2577). It works
// with older servers, and with newer ones that still use it.
func (q *Queue) Sample(model Model) func(context.Context, *mcp.SampleRequest) (*mcp.SampleResult, error) {
	return model.consented(func(ctx context.Context, r *mcp.SampleRequest, reply *mcp.SampleResult) (action string, err error) {
		question := Question{Kind: kindSample, Server: r.Server, Sample: r.Params, Reply: reply}
		if reply != nil {
			question.Kind = kindReply
		}
		answer, err := q.ask(ctx, &pending{Question: question})
		if err != nil {
			return "", err
		}
		return answer.Action, nil
	})
}
