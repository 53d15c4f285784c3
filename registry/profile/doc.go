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
// # What is lost
//
// A [Loss] says which part of a schema the provider does not get, where, and what
// that means for calls: usually nothing, for the registry checks all arguments
// against the tool's own schema.
//
// # What is mapped back
//
// Some of what a provider does not know is written in another way that it does
// know, such as a map as a list of pairs. [Tool.Unmap] turns the arguments back into
// those of the tool's own schema, exactly: what was not written in another way
// keeps its bytes.
package profile
