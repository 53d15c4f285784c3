// Package toolset decides which tools of a registry a model is told of, and finds the
// others.
//
// A request to a model has room for some tools, and each of them takes a part of the
// context window. [New] makes a [Finder] for a registry. [Finder.Toolset] returns all
// tools as long as they fit; if they do not, it returns the tools search_tools,
// describe_tool and call_tool in their place, by which the model finds, reads and calls
// the others:
//
//	r := registry.New(nil)
//	finder, err := toolset.New(r, nil)
//	...
//	set := finder.Toolset(ctx, nil)
//	// set.Tools go with the request; r.Call makes the calls of the model.
//
// [Finder.Search] is the same search for programs. It ranks tools by the words of their
// names, descriptions and parameters, by what the host says of them ([Options].About).
//
// A turn of package registry/profile takes a Finder as an option.
package toolset
