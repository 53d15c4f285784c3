// Package ask has handlers for elicitation and sampling: the fields Elicit, ElicitURL
// and Sample of [mcp.ClientOptions]. A [Console] asks at a terminal, and can serve any
// number of clients:
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
// Every question names the server that asks, by the program's name for it. The
// server's text is not trusted: a Console makes control characters, escape sequences and
// marks that turn the direction of writing visible, and sets the server's lines off from its
// own.
package ask
