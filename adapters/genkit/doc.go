// Package genkit gives the tools of a registry to Genkit.
//
//	turn, err := belt.Tools(ctx, reg, nil)
//	...
//	resp, err := genkit.Generate(ctx, g, turn.Options(ai.WithPrompt("What is new?"))...)
//
// Call [Tools] once for each Generate: what a server has listed by then is what the
// model is told of. The tools are not registered with Genkit; they live as long as
// the request does, and any number of requests may run at the same time.
//
// [Turn.Options] has a middleware beside the tools. It mends what Genkit leaves
// undone: the tools come in the same order each time, so that the provider's cache of
// the prompt stays of use, results come in the order of their calls, images reach
// models whose plugin takes no more than text as a result, and a call of an undeclared
// tool has a result that says so, where Genkit would give up the whole request.
//
// # Who waits for a person
//
// A call that waits for an approval or a login is Genkit's interrupt. [Interrupts]
// says what it waits for. When a person has answered, [Turn.Responses] returns what
// [ai.WithToolResponses] takes; it also waits until they do.
//
// # Limits of Genkit 1.4
//
// Plugins send a result as a JSON string. Genkit has no place to say that a tool
// failed: the text of the result says it. Numbers of arguments have the precision of
// a float64. A request ends after five rounds of calls unless ai.WithMaxTurns says
// otherwise. Genkit writes arguments and results into its traces.
package genkit
