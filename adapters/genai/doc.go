// Package genai gives the tools of a registry to programs that use
// google.golang.org/genai, against the Gemini API or Vertex AI.
//
// # A request
//
// [Tools] makes the tools of one request; call it again for the next one, so that it
// has what is listed then.
//
//	tools, err := belt.Tools(ctx, reg, nil)
//	config := &genai.GenerateContentConfig{Tools: tools.Params()}
//	response, err := client.Models.GenerateContent(ctx, model, contents, config)
//
// # The calls
//
// [Turn.Run] makes the calls of the model's answer, all at the same time, and returns
// what goes into the next request behind it.
//
//	results, err := tools.Run(ctx, response)
//	contents = belt.Append(belt.Append(contents, belt.Content(response)), results...)
//
// No contents and no error: the model has called nothing. If ctx ends, the results come
// with its error: without them Gemini refuses all that follows. Behind them stands what the
// user writes next, in a content of its own, for Gemini takes nothing beside responses.
//
// # Chats
//
// A [genai.Chat] keeps the conversation and its config itself, and sends one content with
// each message. So make another one for each request, with the tools of that request and
// all that goes in front of its last content in the history:
//
//	history := slices.Concat(chat.History(true), contents[:last])
//	chat, err = client.Chats.Create(ctx, model, config, history)
//	response, err := chat.Send(ctx, contents[last].Parts...)
//
// # Thought signatures
//
// The calls of Gemini 3 and later carry signatures, and a request without them is
// refused. They stand in the parts of the model's answer: keep these as they came, in
// one content for each answer, as [Content] returns it. Of a stream, that is one
// content for all its chunks: Content and Run take the whole stream. The SDK's own
// Chat.SendStream keeps a content for each chunk, where the second of two calls has no
// signature; send with Chat.Send, or use GenerateContentStream.
//
// # Waiting for people
//
// If a call needs an approval or a login, the error is a [*profile.WaitingError], which
// has the answers to the other calls. Show a person what waits, and wait:
//
//	answers, err := tools.Wait(ctx, waiting)
//	contents = append(contents, tools.Results(answers...)...)
//
// # Results
//
// A result is a text under the key output, or error if the tool failed. Images and
// PDFs stand within the response, which Gemini takes from version 3 on; for older
// models, which refuse the request then, they follow in a content of their own, and
// the text says so. See [Options].Model. Anything else is a line of text.
package genai
