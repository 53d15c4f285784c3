package adaptertest

import (
	"context"
	"errors"

	"github.com/mcpbelt/mcpbelt/registry/profile"
)

// A LoopTurn is the turn of an adapter for the messages and answers of an SDK.
type LoopTurn[M, A any] interface {
	Run(ctx context.Context, answer A) ([]M, error)
	Wait(ctx context.Context, waiting *profile.WaitingError) ([]profile.Answer, error)
	Results(answers ...profile.Answer) []M
}

// A Loop is an [Agent] as users of an SDK without a runtime write it: it asks the model, has
// the calls made, and asks again. All fields but Paused are needed.
type Loop[M, A any, T LoopTurn[M, A]] struct {
	Tools   func(ctx context.Context) (T, error)
	Send    func(ctx context.Context, tools T, messages []M) (A, error)
	Append  func(messages []M, more ...M) []M
	User    func(text string) M
	Message func(answer A) M
	Text    func(answer A) string
	Paused  func(answer A) bool // the model goes on when it is asked again

	turn     T // of the request that was answered last
	messages []M
	waiting  *profile.WaitingError
}

// Ask sends a message of the user.
func (l *Loop[M, A, T]) Ask(ctx context.Context, message string) (*Turn, error) {
	l.messages = l.Append(l.messages, l.User(message))
	return l.run(ctx)
}

// Resume goes on when the person has decided.
func (l *Loop[M, A, T]) Resume(ctx context.Context) (*Turn, error) {
	answers, err := l.turn.Wait(ctx, l.waiting)
	if err != nil {
		return nil, err
	}
	l.messages = l.Append(l.messages, l.turn.Results(answers...)...)
	return l.run(ctx)
}

func (l *Loop[M, A, T]) run(ctx context.Context) (*Turn, error) {
	for {
		var err error
		if l.turn, err = l.Tools(ctx); err != nil {
			return nil, err
		}
		answer, err := l.Send(ctx, l.turn, l.messages)
		if err != nil {
			return nil, err
		}
		l.messages = l.Append(l.messages, l.Message(answer))
		results, err := l.turn.Run(ctx, answer)
		l.messages = l.Append(l.messages, results...)
		switch {
		case errors.As(err, &l.waiting):
			return Waiting(l.waiting), nil
		case err != nil:
			return nil, err
		case results == nil && (l.Paused == nil || !l.Paused(answer)):
			return &Turn{Text: l.Text(answer)}, nil
		}
	}
}
