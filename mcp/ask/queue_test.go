package ask_test

//lint:file-ignore SA1019 Sampling, roots and logging are deprecated since revision 2026-07-28, and work.

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/mcp/ask"
	"github.com/mcpbelt/mcpbelt/mcp/form"
)

// actionsOf asks n questions at one time, and tells what the users do.
func actionsOf(t *testing.T, elicit func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error), n int) <-chan string {
	actions := make(chan string, n)
	for range n {
		go func() {
			if res, err := elicit(t.Context(), &mcp.ElicitRequest{}); err != nil {
				t.Error(err)
			} else {
				actions <- res.Action
			}
		}()
	}
	return actions
}

// next waits for a question.
func next(t *testing.T, q *ask.Queue) ask.Question {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	for questions := range q.Watch(ctx) {
		if len(questions) > 0 {
			return questions[0]
		}
	}
	t.Fatal("no question")
	return ask.Question{}
}

func yes(content map[string]any) *mcp.ElicitResult {
	return &mcp.ElicitResult{Action: "accept", Content: content}
}

func TestQueueWarnsOfSecrets(t *testing.T) {
	var q ask.Queue
	answer := granted(t, &mcp.ClientOptions{Elicit: q.Elicit}, elicit, formParams("Log in.", `{"token":{"type":"string"}}`, `[]`))
	question := next(t, &q)
	assert.Equal(t, len(question.Warnings), 1, "warnings")
	assert.OK(t, q.Answer(question.ID, nil))
	<-answer
}

func TestQueueForm(t *testing.T) {
	var q ask.Queue
	answer := granted(t, &mcp.ClientOptions{Elicit: q.Elicit}, elicit,
		formParams("Who?", `{"name":{"type":"string","minLength":2},"news":{"type":"boolean","default":true},"city":{"type":"string","default":"Rome"}}`, `["name"]`))
	question := next(t, &q)
	assert.Equal(t, [...]any{question.Kind, question.Server, question.Message, len(question.Fields), question.Asked.IsZero()},
		[...]any{"form", "notes", "Who?", 3, false})
	assert.True(t, len(question.ID) >= 22, "an id of 128 bits")
	for _, content := range []map[string]any{nil, {"name": "A"}, {"name": 7}, {"name": "Ann", "news": "yes"}} {
		assert.As[*form.FieldError](t, q.Answer(question.ID, yes(content)), "%v", content)
		assert.Equal(t, len(q.Questions()), 1, "%v: questions", content)
	}
	assert.Fails(t, q.Answer(question.ID, &mcp.ElicitResult{Action: "ok"}))
	assert.Equal(t, len(q.Questions()), 1, "questions")
	content := map[string]any{"name": "Ann", "city": nil}
	assert.OK(t, q.Answer(question.ID, yes(content)))
	content["name"] = "Bob"
	assert.Equal(t, <-answer, `{"action":"accept","content":{"name":"Ann","news":true}}`, "the server")
	assert.Is(t, q.Answer(question.ID, yes(content)), ask.ErrAnswered)
	assert.Is(t, q.Answer("x", nil), ask.ErrUnknown)
}

func TestQueueURL(t *testing.T) {
	var q ask.Queue
	page, hits := canary(t)
	answer := granted(t, &mcp.ClientOptions{ElicitURL: q.ElicitURL}, elicit, `{"mode":"url","message":"Pay","url":"`+page+`","elicitationId":"1"}`)
	question := next(t, &q)
	assert.Equal(t, [...]any{question.Kind, question.URL, question.Host, question.Message}, [...]any{"url", page, "127.0.0.1", "Pay"})
	assert.Is(t, q.Done(question.ID), ask.ErrUnknown, "done before he agreed")
	assert.OK(t, q.Answer(question.ID, yes(map[string]any{"a": 1})))
	assert.Equal(t, [...]any{<-answer, hits.Load()}, [...]any{`{"action":"accept"}`, int64(0)})
	for _, want := range []error{nil, ask.ErrUnknown} {
		assert.Is(t, q.Done(question.ID), want)
	}
}

// A call that stands behind a page goes on when the user is done with it.
func TestQueueDone(t *testing.T) {
	var q ask.Queue
	var calls atomic.Int64
	c := newPaywall(t, &calls, &mcp.ClientOptions{ElicitURL: q.ElicitURL})
	ended := inBackground(func() error { return errOf(c.CallTool(t.Context(), "x", nil, nil)) })
	id := next(t, &q).ID
	assert.OK(t, q.Answer(id, yes(nil)))
	assert.Equal(t, calls.Load(), 1, "calls")
	assert.OK(t, q.Done(id))
	assert.OK(t, <-ended)
	assert.Equal(t, calls.Load(), 2, "calls")
}

func TestQueueSample(t *testing.T) {
	for _, test := range []struct {
		name    string
		actions []string
		want    string
	}{
		{"agreed", []string{"accept", "accept"}, `"text":"Hello"`},
		{"declined", []string{"decline"}, `{"code":-1,"message":"User rejected sampling request"}`},
		{"answer declined", []string{"accept", "cancel"}, `{"code":-1,"message":"User rejected sampling request"}`},
	} {
		t.Run(test.name, func(t *testing.T) {
			var q ask.Queue
			answer := granted(t, &mcp.ClientOptions{SampleTools: true, Sample: q.Sample(says("Hello"))}, sample, conversation)
			for i, action := range test.actions {
				question := next(t, &q)
				kind := []string{"sample", "reply"}[i]
				assert.Equal(t, [...]any{question.Kind, question.Sample.MaxTokens, question.Reply != nil}, [...]any{kind, int64(7), kind == "reply"})
				assert.OK(t, q.Answer(question.ID, &mcp.ElicitResult{Action: action}))
			}
			assert.Contains(t, <-answer, test.want, "the server")
		})
	}
}

func TestQueueSampleModelFails(t *testing.T) {
	for _, model := range []ask.Model{
		func(context.Context, *mcp.SampleRequest) (*mcp.SampleResult, error) { return nil, errors.New("no") },
		func(context.Context, *mcp.SampleRequest) (*mcp.SampleResult, error) { return nil, nil },
	} {
		var q ask.Queue
		ended := inBackground(func() error { return errOf(q.Sample(model)(t.Context(), &mcp.SampleRequest{})) })
		assert.OK(t, q.Answer(next(t, &q).ID, yes(nil)))
		err := <-ended
		assert.False(t, err == nil || errors.Is(err, mcp.ErrRejected), "error %v", err)
	}
}

// A question ends with its context, and is withdrawn.
func TestQueueEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var q ask.Queue
		ctx, stop := context.WithTimeout(t.Context(), time.Hour)
		defer stop()
		ended := inBackground(func() error { return errOf(q.Elicit(ctx, &mcp.ElicitRequest{})) })
		synctest.Wait()
		question := q.Questions()[0]
		assert.Equal(t, time.Until(question.Deadline), time.Hour, "deadline in")
		time.Sleep(time.Hour)
		assert.Is(t, <-ended, context.DeadlineExceeded)
		assert.Is(t, q.Answer(question.ID, nil), ask.ErrAnswered)
		assert.Equal(t, len(q.Questions()), 0, "questions")
	})
}

func TestQueueUnbounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n = 500
		q := ask.Queue{Max: -1}
		var wg sync.WaitGroup
		for range n {
			wg.Go(func() { _, _ = q.Elicit(t.Context(), &mcp.ElicitRequest{Server: "one"}) })
		}
		synctest.Wait()
		assert.Equal(t, len(q.Questions()), n, "questions that wait")
		for _, question := range q.Questions() {
			assert.OK(t, q.Answer(question.ID, &mcp.ElicitResult{Action: "decline"}))
		}
		wg.Wait()
	})
}

func TestQueueBounded(t *testing.T) {
	for _, limit := range []int{0, 3} {
		synctest.Test(t, func(t *testing.T) {
			q := ask.Queue{Max: limit}
			want := cmp.Or(limit, 64)
			actions := actionsOf(t, q.Elicit, want+1)
			synctest.Wait()
			assert.Equal(t, [...]any{<-actions, len(actions), len(q.Questions())}, [...]any{"cancel", 0, want})
			assert.Is(t, errOf(q.Sample(says("x"))(t.Context(), &mcp.SampleRequest{})), mcp.ErrRejected)
			ids := map[string]bool{}
			for _, question := range q.Questions() {
				ids[question.ID] = true
				assert.OK(t, q.Answer(question.ID, &mcp.ElicitResult{Action: "decline"}))
			}
			for range want {
				assert.Equal(t, <-actions, "decline", "action")
			}
			assert.Equal(t, len(ids), want, "ids")
		})
	}
}

func TestQueueWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var q ask.Queue
		ctx, cancel := context.WithCancel(t.Context())
		var seen []string
		watched := make(chan struct{})
		go func() {
			defer close(watched)
			for questions := range q.Watch(ctx) {
				servers := []string{}
				for _, question := range questions {
					servers = append(servers, question.Server)
				}
				seen = append(seen, strings.Join(servers, "+"))
			}
		}()
		synctest.Wait()
		for _, server := range []string{"a", "b"} {
			go func() { _, _ = q.Elicit(t.Context(), &mcp.ElicitRequest{Server: server}) }()
			synctest.Wait()
		}
		for _, question := range q.Questions() {
			assert.OK(t, q.Answer(question.ID, nil))
			synctest.Wait()
		}
		cancel()
		<-watched
		assert.Equal(t, fmt.Sprintf("%q", seen), `["" "a" "a+b" "b" ""]`, "watched")
		for range q.Watch(t.Context()) {
			break
		}
	})
}

// Of those who answer at once one is believed, and the others are told.
func TestQueueAnsweredOnce(t *testing.T) {
	var q ask.Queue
	ended := make(chan string, 1)
	go func() {
		res, err := q.Elicit(t.Context(), &mcp.ElicitRequest{})
		assert.Is(t, err, nil)
		ended <- fmt.Sprint(res.Content["n"])
	}()
	id := next(t, &q).ID
	var all sync.WaitGroup
	believed := make(chan string, 8)
	for i := range 8 {
		all.Go(func() {
			switch err := q.Answer(id, yes(map[string]any{"n": i})); {
			case err == nil:
				believed <- fmt.Sprint(json.RawMessage(fmt.Sprint(i)))
			case !errors.Is(err, ask.ErrAnswered):
				t.Error(err)
			}
		})
	}
	all.Wait()
	assert.Equal(t, <-ended, <-believed, "what the server gets, and what was believed")
	assert.Equal(t, len(believed), 0, "others that were believed")
}

// A meddler answers a question while another answer to it is checked.
type meddler struct {
	queue *ask.Queue
	id    string
}

func (m meddler) MarshalJSON() ([]byte, error) {
	return []byte("1"), m.queue.Answer(m.id, &mcp.ElicitResult{Action: "decline"})
}

func TestQueueAnsweredMeanwhile(t *testing.T) {
	var q ask.Queue
	ended := actionsOf(t, q.Elicit, 1)
	id := next(t, &q).ID
	assert.Is(t, q.Answer(id, yes(map[string]any{"n": meddler{&q, id}})), ask.ErrAnswered)
	assert.Equal(t, <-ended, "decline", "action")
}

func TestQuestionJSON(t *testing.T) {
	var q ask.Queue
	answer := granted(t, &mcp.ClientOptions{Elicit: q.Elicit}, elicit, formParams("<b>", `{"n":{"type":"integer","minimum":1,"default":3},"c":{"type":"string","enum":["x"],"maxLength":2}}`, `["c"]`))
	question := next(t, &q)
	id := question.ID
	question.ID, question.Asked, question.Deadline = "id", time.Time{}, time.Time{}
	got, err := json.Marshal(question)
	const want = `{"id":"id","kind":"form","server":"notes","message":"\u003cb\u003e","fields":[` +
		`{"name":"n","type":"integer","default":3,"min":1},` +
		`{"name":"c","type":"string","required":true,"choices":[{"value":"x","title":"x"}],"max":2}],"asked":"0001-01-01T00:00:00Z"}`
	assert.OK(t, err)
	assert.Equal(t, string(got), want)
	assert.OK(t, q.Answer(id, nil))
	assert.Equal(t, <-answer, `{"action":"cancel"}`, "the server")
}
