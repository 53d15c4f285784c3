package admin

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpbelt/mcpbelt/host/apps"
	"github.com/mcpbelt/mcpbelt/host/record"
	"github.com/mcpbelt/mcpbelt/internal/onbehalf"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/mcp/form"
	"github.com/mcpbelt/mcpbelt/registry"
)

// A question is what the server of a tool that is tried asks the caller: to fill in a form, or to visit a page.
type question struct {
	ID       string          `json:"id"`
	Server   string          `json:"server"`
	Asked    json.RawMessage `json:"asked"` // the parameters of elicitation/create, as the server wrote them
	Warnings []string        `json:"warnings,omitempty"`

	owner  string     // who is asked
	form   *form.Form // nil: a page
	answer chan *mcp.ElicitResult
}

type questionAnswer struct {
	Action  string                     `json:"action"`            // accept, decline or cancel
	Content map[string]json.RawMessage `json:"content,omitempty"` // of a form
}

// tryTool calls a tool, and tells how it gets on until it has ended.
func (q *request) tryTool(w http.ResponseWriter) error {
	in := new(callInput)
	if err := q.decode(in); err != nil {
		return err
	}
	if _, err := q.callable(); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(q.Context())
	defer cancel()
	questions, progress := make(chan *question), make(chan *mcp.ProgressParams, 16)
	ctx = onbehalf.WithHandler(ctx, func(ctx context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		return q.ask(ctx, questions, &question{Server: r.Server, Asked: r.Raw, Warnings: r.Form.Warnings(), form: &r.Form})
	})
	ctx = onbehalf.WithHandler(ctx, func(ctx context.Context, r *mcp.ElicitURLRequest) (*mcp.ElicitResult, error) {
		return q.ask(ctx, questions, &question{Server: r.Server, Asked: r.Raw, Warnings: r.Warnings})
	})
	ctx = registry.WithProgress(ctx, func(p *mcp.ProgressParams) {
		select {
		case progress <- p:
		default: // the reader is slow, and more will come
		}
	})
	ctx, app := q.withApp(ctx)
	send, flush := eventStream(w)
	var writer sync.WaitGroup
	writer.Go(func() {
		tick := time.NewTicker(heartbeat)
		defer tick.Stop()
		for ok := send(": open\n\n"); ok && flush(); {
			select {
			case asked := <-questions:
				ok = send("event: question\ndata: %s\n\n", jsonText(asked))
			case p := <-progress:
				ok = send("event: progress\ndata: %s\n\n", jsonText(p))
			case <-tick.C:
				ok = send(": alive\n\n")
			case <-ctx.Done():
				return
			}
		}
	})
	q.Request = q.WithContext(ctx)
	out, err := q.callTool(in)
	if err != nil {
		out = callOutput{Outcome: "error", Error: failureOf(err).detail}
	}
	out.App = app.Load()
	cancel()
	writer.Wait()
	_ = send("event: end\ndata: %s\n\n", jsonText(out)) // or the reader has gone
	return nil
}

// withApp returns a context for a call whose app is shown to the caller, and what has that then.
func (q *request) withApp(ctx context.Context) (context.Context, *atomic.Pointer[apps.Shown]) {
	app := new(atomic.Pointer[apps.Shown])
	if q.bridge == nil {
		return ctx, app
	}
	return onbehalf.WithHandler(ctx, func(_ context.Context, s *apps.Shown) (struct{}, error) {
		app.Store(s)
		return struct{}{}, nil
	}), app
}

// passToApp passes a request of the page on to the apps of a tool that the caller has tried, as long as they may call it.
func (q *request) passToApp(w http.ResponseWriter) error {
	if _, err := q.callable(); err != nil {
		return err
	}
	ctx, cancel := q.ofCall()
	defer cancel()
	r := q.Clone(ctx)
	r.URL = &url.URL{Path: r.URL.Path[strings.LastIndex(r.URL.Path, "/apps/")+len("/apps"):]}
	r.Body = io.NopCloser(bytes.NewReader(q.data))
	q.bridge.ServeHTTP(w, r)
	return nil
}

// ask tells a question, and waits for its answer.
func (q *request) ask(ctx context.Context, tell chan<- *question, asked *question) (*mcp.ElicitResult, error) {
	asked.ID, asked.owner, asked.answer = rand.Text(), q.caller.Owner(), make(chan *mcp.ElicitResult, 1)
	q.questions.Store(asked.ID, asked)
	defer q.questions.Delete(asked.ID)
	for {
		select {
		case tell <- asked:
			tell = nil // it is told once
		case answer := <-asked.answer:
			return answer, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// answerQuestion answers a question of the caller's. What the form does not allow is refused, and the question waits on.
func (q *request) answerQuestion(in *questionAnswer) (questionAnswer, error) {
	found, _ := q.questions.Load(q.PathValue("id"))
	asked, ok := found.(*question)
	if !ok || asked.owner != q.caller.Owner() {
		return *in, &failure{status: http.StatusNotFound, code: string(record.CodeNotFound), detail: "the question was answered, or its call has ended"}
	}
	answer := &mcp.ElicitResult{Action: in.Action}
	switch {
	case !slices.Contains([]string{"accept", "decline", "cancel"}, in.Action):
		return *in, invalid("action", "accept, decline or cancel")
	case in.Action == "accept" && asked.form != nil:
		answer.Content = map[string]any{}
		for name, value := range in.Content {
			answer.Content[name] = value
		}
		if _, err := asked.form.Fill(answer.Content); err != nil {
			return *in, &failure{status: http.StatusBadRequest, code: string(record.CodeValueInvalid), detail: err.Error()}
		}
	}
	if _, waits := q.questions.LoadAndDelete(asked.ID); waits {
		asked.answer <- answer
	}
	return *in, nil
}
