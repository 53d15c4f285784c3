// Package ollama gives the tools of a registry to programs that use
// github.com/ollama/ollama/api.
//
// # A request
//
// [Tools] makes the tools of one request; call it again for the next one, so that it
// has what is listed then. [Collect] puts the pieces of the answer together, which the
// API streams unless it is told not to. Of an answer that breaks off, of which the SDK
// says nothing, there is no message, and Run fails with [ErrBrokenOff].
//
//	tools, err := belt.Tools(ctx, reg, nil)
//	request.Tools = tools.Params()
//	var message api.Message
//	err = client.Chat(ctx, request, belt.Collect(&message))
//
// # The calls
//
// [Turn.Run] makes the calls of the model's message, all at the same time, and
// returns the messages that go into the next request behind it.
//
//	results, err := tools.Run(ctx, message)
//	request.Messages = belt.Append(belt.Append(request.Messages, message), results...)
//
// No messages and no error: the model has called nothing.
//
// # Waiting for people
//
// If a call needs an approval or a login, the error is a [*profile.WaitingError], which
// has the answers to the other calls. Show a person what waits, and wait:
//
//	answers, err := tools.Wait(ctx, waiting)
//	request.Messages = append(request.Messages, tools.Results(answers...)...)
//
// # Results
//
// A result is a text, with the name of the tool, and the id of the call, which older
// servers do not have. Whether the tool failed is said in the text. Images follow in
// messages of the user, one for each, behind all results: the field Images of a message
// of a tool is dropped by the prompts of some models that can see, such as Qwen3-VL.
// For models that cannot, there is [profile.TurnOptions].TextOnly. Anything else is a
// line of text.
//
// Ollama puts an image where a prompt says [img-0], even in the text of a tool, and fails
// if there is no such image. The adapter takes these marks out of results, and of all
// that the model is told of tools.
package ollama
