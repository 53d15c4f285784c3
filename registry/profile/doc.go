// Package profile shapes tools for the providers of models.
//
// Each provider takes another part of JSON Schema, other names, and refuses a whole
// request for one schema that it does not like. [Compile] makes of each tool what a
// [Provider] takes, says what was lost on the way, and remembers how to turn the
// arguments back that a model writes for it.
//
//	set, err := profile.Compile(profile.OpenAI, reg.Callable(ctx), nil)
//	// send each t.Declaration() of set.Tools() with the request
//	res, err := set.Call(ctx, reg, call.Name, call.Arguments)
//
// # A turn
//
// [NewTurn] does that with the tools that are listed at the moment, and that the user
// may call: one for each request. [Turn.Run] makes all calls of a message of the model
// at the same time, and [Parts] turns a result into what the provider takes, for it
// refuses a whole conversation for one image that is none. Calls that have to be
// approved, or need a login, are a [*WaitingError], and [Turn.Wait] waits for the people.
//
//	turn, err := profile.NewTurn(ctx, reg, profile.Anthropic, nil)
//	// send turn.Set().Tools(), receive calls
//	answers, err := turn.Run(ctx, calls)
//	// send turn.Set().Parts(answers[i].Result) for each
//
// The adapters of this module stand on that, one for each SDK.
//
// # Sending
//
// [Tool.Declaration] is meant to go into the request byte by byte: the order of the
// properties is the author's, and so is the spelling of numbers. SDKs that have a
// way to send raw JSON should be given it that way, such as param.Override of
// openai-go. Those that want a map or a structure take what json.Unmarshal makes of
// it, and lose the order, and digits of integers beyond 2^53. The document of
// Bedrock's SDK makes a list of numbers of bytes, as [Tool].Schema is, and a string of a
// json.Number: embed one, and give yours a MarshalSmithyDocument that returns the bytes,
// as adapters/bedrock does.
//
// # What is lost
//
// A [Loss] says which part of a schema the provider does not get, where, and what
// that means for calls: usually nothing, for the registry checks all arguments
// against the tool's own schema. Another form that means the same is no loss, such as a
// reference that is written out.
//
// # Strict mode
//
// In strict mode ([OpenAIStrict]) the model cannot write arguments that do not fit the
// schema. The schema has to list all properties of each object, and the model writes all
// of them: null stands for an optional property that is missing, and so never means null
// there. A tool with a schema that cannot be written so, such as one that takes an object
// with any names, is sent as for [OpenAI], and a loss says which part of its
// schema is the reason.
//
// # What is mapped back
//
// [Tool.Unmap] turns the arguments that a model wrote back into those of the tool's own
// schema: null for a missing property in strict mode, and, for Anthropic and Bedrock, the
// properties of the arguments whose names they do not take. Values that were not written
// in another way keep their bytes. A model that writes the tool's own form after all is
// understood.
//
// # Names
//
// A name that the provider takes stays. Another one is cleaned, cut, and gets a hash
// of the whole, so that it does not depend on what other tools are called, and the
// provider's cache of the prompt stays of use when tools come and go.
//
// # Limits
//
// A schema is compiled in bounded time, whatever it refers to; so are arguments
// turned back. Providers also limit how many tools a request may have: OpenAI 128, Gemini
// 512. With more, [NewTurn] has the model search if there is a Finder, and is an error
// otherwise, before anything is sent; [Compile] takes any number.
package profile
