// Package eino gives the tools of a registry to agents that are built with
// github.com/cloudwego/eino: a tools node in a graph, an agent of the package react,
// a ChatModelAgent of the package adk.
//
//	b := belt.New(reg, nil)
//	node, err := b.ToolsNode(ctx)
//	reacting, err := react.NewAgent(ctx, &react.AgentConfig{
//		ToolCallingModel: b.Model(chatModel),
//		ToolsConfig:      node,
//	})
//	message, err := reacting.Generate(ctx, messages, agent.WithComposeOptions(b.Live(ctx)))
//
// # The model
//
// [Belt.Model] stands before the model of an agent. With each request it tells the model
// of the tools that are listed at that moment, and it puts images, which tools return in
// a form that few models take, where all of them do. A conversation can go on after a turn
// that was cancelled, or a program that broke down, in the middle of calls, see
// [Belt.Messages].
//
// # Waiting for people
//
// A call that needs an approval or a login is an interrupt of eino; [Waits] says what it
// waits for. Calls beside it have run, and do not run again. Resume the run when the
// person has answered: by [registry.Registry.Approve] or Refuse, by logging in, or with a
// [Decision] as the data of the resume. A resume that comes too early is an interrupt
// again, and never waits. A checkpoint holds strings: any store will do, and
// the program may be another one by then.
//
// # Results
//
// Images are parts of their own in a [schema.ToolResult]; with [Options].Files, files are,
// too. Everything else, and what the provider would refuse, is a line of text. There is
// always text or an image. That a tool failed is said in front.
//
// Nothing but the end of its context and an interrupt lets a tool return an error, which
// would end the run of an agent.
package eino
