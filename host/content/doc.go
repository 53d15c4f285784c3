// Package content gives the resources and prompts of all servers of a host, as the registry
// gives their tools.
//
//	c := content.New(h)
//	for _, r := range c.Resources(ctx, nil).Items {
//		fmt.Println(r.Name, r.Address)
//	}
//	res, err := c.ReadResource(ctx, "mcpbelt:github/repo://octocat/hello/readme", nil)
//	prompt, err := c.GetPrompt(ctx, "github__review", map[string]string{"pr": "7"}, nil)
//
// # Names
//
// Prompts and resources have names by the [names.Scheme] of the host's registry, as tools
// do. A prompt is asked for by its name. A resource is asked for by its [Address], which
// keeps the URI of the server byte for byte: a name has room for neither its characters nor
// its length, and the names of resources are not unique.
//
// # Lists
//
// Servers are asked at the same time, and one that fails or hangs takes nothing from the
// others: see [Listing]. Their answers are text of untrusted parties; Findings say what
// it hides, or urges a model to do.
package content
