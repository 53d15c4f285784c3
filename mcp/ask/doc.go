// Package ask holds ready-made handlers for what servers want of the user or of
// a model: the fields Elicit, ElicitURL and Sample of [mcp.ClientOptions].
//
//   - [Deny] wants nothing of anybody and declines.
//   - A [Console] asks at a terminal.
//   - A [Queue] keeps questions until somebody answers them, such as the user of
//     a web page.
//
// One Console or Queue can serve any number of clients:
//
//	console := &ask.Console{In: os.Stdin, Out: os.Stderr, Open: ask.OpenURL}
//	defer console.Close()
//	c := mcp.NewClient("notes", transport, &mcp.ClientOptions{
//		Elicit:    console.Elicit,
//		ElicitURL: console.ElicitURL,
//		Sample:    console.Sample(model),
//	})
//
// # What is shown
//
// Every question names the server that asks, by the name that the program knows
// it under. What the server wrote is not trusted: control characters, escape
// sequences and marks that turn the direction of writing are made visible with
// [Plain], and a Console sets the server's lines off from its own.
package ask
