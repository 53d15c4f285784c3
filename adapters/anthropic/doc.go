// Package anthropic gives the tools of a registry to programs that use
// github.com/anthropics/anthropic-sdk-go/v2: with the Messages API, its beta, and the
// SDK's own tool runner.
//
// # A request
//
// [Tools] makes the tools of one request; call it again for the next one, so that it
// has what is listed then.
//
//	tools, err := belt.Tools(ctx, reg, nil)
//	params.Tools = tools.Params()
//	message, err := client.Messages.New(ctx, params)
//
// # The calls
//
// [Turn.Run] makes the calls of the model's message, all at the same time, and
// returns the message that goes into the next request behind it.
//
//	results, err := tools.Run(ctx, message)
//	params.Messages = belt.Append(belt.Append(params.Messages, message.ToParam()), results...)
//
// [Append] has the conversation as the API takes it, whatever the model wrote, and also
// where the user goes on instead of the model.
//
// No messages and no error: the model has called nothing, or the API has paused (its
// stop reason is pause_turn then, and the message goes back as it is). If ctx ends, the
// results come with its error; keep them, and the user can go on.
//
// # Waiting for people
//
// If a call needs an approval or a login, the error is a [*profile.WaitingError], which
// has the answers to the other calls. Show a person what waits, and wait:
//
//	answers, err := tools.Wait(ctx, waiting)
//	params.Messages = belt.Append(params.Messages, tools.Results(answers...)...)
//
// # Results
//
// Texts, images and PDF documents of a result are blocks of their own. Content that the
// API does not take, such as sounds, is a line of text. That a tool failed is said by
// is_error; but the API refuses images beside that, so the text says it then.
//
// # The tool runner
//
// [NewRunnerTools] makes tools for the SDK's tool runner. [RunnerTools.Prepare] before
// each of the runner's steps lets it wait for people, and go on after an error.
// [RunnerTools.Messages] is the conversation for the next runner, also when a call was
// cancelled.
package anthropic
