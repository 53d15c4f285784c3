// Package goopenai gives the tools of a registry to programs that use
// github.com/sashabaranov/go-openai, against OpenAI's Chat Completions API or
// anything that copies it.
//
// # A request
//
// [Tools] makes the tools of one request; call it again for the next one, so that it
// has what is listed then.
//
//	tools, err := belt.Tools(ctx, reg, nil)
//	request.Tools = tools.Params()
//	response, err := client.CreateChatCompletion(ctx, request)
//
// # The calls
//
// [Turn.Run] makes the calls of the model's message, all at the same time, and
// returns the messages that go into the next request behind it.
//
//	choice := response.Choices[0]
//	results, err := tools.Run(ctx, choice)
//	request.Messages = belt.Append(belt.Append(request.Messages, belt.Message(choice)), results...)
//
// No messages and no error: the model has called nothing.
//
// # Waiting for people
//
// If a call needs an approval or a login, the error is a [*profile.WaitingError], which
// has the answers to the other calls. Show a person what waits, and wait:
//
//	answers, err := tools.Wait(ctx, waiting)
//	request.Messages = belt.Append(request.Messages, tools.Results(answers...)...)
//
// # Results
//
// The API takes nothing but text as the result of a tool. An image follows in a
// message of the user, behind all results, and the text says so. Content that go-openai
// has no part for, such as sounds and files, is a line of text. That a tool failed is
// said in the text, too.
package goopenai
