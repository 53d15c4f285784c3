// Package bedrock lets the models of Amazon Bedrock call the tools of a registry, with
// the Converse API of the AWS SDK.
//
//	turn, err := belt.Tools(ctx, reg, &belt.Options{Model: model})
//	out, err := client.Converse(ctx, &bedrockruntime.ConverseInput{
//		ModelId: &model, Messages: messages, ToolConfig: turn.Config(messages),
//	})
//	messages = belt.Append(messages, belt.Message(out))
//	results, err := turn.Run(ctx, out)
//	messages = belt.Append(messages, results...)
//
// Call [Tools] once for each request: the turn has the tools that are listed then.
// [Collect] makes of a stream what Converse returns. [Append] keeps to the order that
// Bedrock wants of messages, also where the user goes on after a call was cancelled: Run
// returns the results with the error of ctx.
//
// # Schemas and arguments
//
// The schemas of tools go out byte by byte, in the order of their author and with all
// digits. Arguments reach the tool with all their digits, too; those of a stream byte by
// byte.
//
// # Images and documents
//
// All models take images and documents in a message of the user, as far as they take
// them at all, but only the Claude and the Nova models in the result of a tool, and only
// images. So images stand in the result if [Options].Model is such a model, and documents
// behind the results. Other models get both in a message of their own.
//
// # Waiting for people
//
// If a call needs an approval or a login, the error is a [*profile.WaitingError], which
// has the answers to the other calls. Show a person what waits, and wait:
//
//	answers, err := turn.Wait(ctx, waiting)
//	messages = belt.Append(messages, turn.Results(answers...)...)
package bedrock
