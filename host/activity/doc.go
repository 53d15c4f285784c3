// Package activity writes down what an agent does with its servers: every call, and
// every one that was not made; logins; what becomes of servers; changes of the
// configuration. An [Event] says who did what, what became of it, how long it took,
// how large it was, and a hash of its arguments.
//
// # Write it down
//
// [New] makes a [Log] of sinks, and host.Options.Activity has a host record to it:
//
//	file, err := activity.OpenFile("activity.jsonl")
//	log := activity.New(nil, file)
//	defer log.Close(ctx)
//	h, err := host.Open(ctx, "mcp.json", &host.Options{Activity: log})
//
// [Log.Record] records what else a program does. Nothing waits for a sink: when the
// sinks are too slow events are dropped, and an event says how many.
//
// # Tell calls apart
//
// A call of a model has the id that the model gave it, if profile.Turn makes it; it is
// the ID of the events about the call. registry.WithCallID gives any other call an id.
//
// # Read it
//
// [Memory.Recent] has the newest events of this process, [File.Events] and [Events]
// read files backwards. Package sqlstore keeps events in a database.
//
// # What is not in it
//
// Arguments are left out, unless [Options].KeepArguments wants them, and results
// always. Their hash has a key, so that short arguments cannot be found by trying.
// Secrets of known forms are taken out of errors, details, names of tools and the
// arguments that are kept.
package activity
