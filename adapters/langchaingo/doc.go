// Package langchaingo gives the tools of a registry to programs that use
// github.com/tmc/langchaingo: to a model, and to its agents.
//
// # A model
//
// [Tools] makes the tools of one request; call it again for the next one, so that it
// has what is listed then. [Turn.Run] makes the calls of a response, all at the same
// time, and returns what goes into the next request behind it: the model's own message
// and the results.
//
//	turn, err := belt.Tools(ctx, reg, nil)
//	response, err := llm.GenerateContent(ctx, messages, llms.WithTools(turn.Params(messages...)))
//	results, err := turn.Run(ctx, response)
//	messages = append(messages, results...)
//
// No messages and no error: the model has called nothing. The response may be that of
// a stream: langchaingo puts it together.
//
// # Agents
//
// [Turn.AgentTools] are tools for langchaingo's agents and their executor, and
// [Turn.Model] tells an agent that uses function calls the true schemas, where the
// agent itself has one string for every tool. Make both, with the agent and the
// executor, for each message of the user: an executor keeps the tools that it began
// with.
//
//	agent := agents.NewOpenAIFunctionsAgent(turn.Model(llm), turn.AgentTools())
//	answer, err := chains.Run(ctx, agents.NewExecutor(agent), "What is new?")
//
// # Waiting for people
//
// If a call needs an approval or a login, Run fails with a [*profile.WaitingError].
// Show a person what waits, and wait:
//
//	answers, err := turn.Wait(ctx, waiting)
//	messages = append(messages, turn.Messages(response, answers...)...)
//
// An executor gives up its work when a tool fails. So let its tools wait:
// [Options].Waiting is told what they wait for.
//
// # Results
//
// langchaingo takes nothing but text as the result of a tool. An image follows in a
// message of the user, behind all results, and the text says so; agents get that line
// alone. That a tool failed is said in the text, too.
package langchaingo
