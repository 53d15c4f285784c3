// Package openai gives the tools of a registry to programs that use
// github.com/openai/openai-go, in the Responses API and in Chat Completions.
//
// # A request
//
// [ResponseTools] and [ChatTools] make the tools of one request; call them again for
// the next one, so that it has what is listed then.
//
//	tools, err := belt.ResponseTools(ctx, reg, nil)
//	params.Tools = tools.Params()
//	response, err := client.Responses.New(ctx, params)
//
// A declaration goes byte by byte: the order of properties and the digits of numbers
// are those of the tool's author.
//
// # The calls
//
// Run makes the calls of the model's answer, all at the same time, and returns what
// goes into the next request. The API may keep the conversation, or the program does:
//
//	results, err := tools.Run(ctx, response)
//	params.PreviousResponseID, input = openai.String(response.ID), results
//	// or
//	input = belt.AppendInput(belt.AppendInput(input, belt.Input(response)...), results...)
//
// No results and no error: the model has called nothing. Calls of custom tools, of
// functions in a namespace of the program's, and what the API runs itself are left
// alone. A program with functions of its own beside those of the registry takes its
// calls out of [ResponseTurn.Calls], and gives the others to [profile.Turn.Run].
//
// # Waiting for people
//
// If a call needs an approval or a login, the error is a [*profile.WaitingError], which
// has the answers to the other calls. Show a person what waits, and wait:
//
//	answers, err := tools.Wait(ctx, waiting)
//	results = tools.Results(answers...)
//
// # Search and programs
//
// With ProviderSearch of [profile.TurnOptions], OpenAI searches the tools that are too
// many to be told of. With AllowedCallers, JavaScript that the model writes, and that
// OpenAI runs, may call tools. Params has the tools of OpenAI that this needs. Both are
// in the Responses API alone.
//
// # Results
//
// In the Responses API, images and PDF files are part of the result. Chat Completions
// takes nothing but text there: they follow in a message of the user, behind all
// results, and the text says so. Content that neither takes, such as sounds, is a line of
// text. That a tool failed is said in the text, too.
package openai
