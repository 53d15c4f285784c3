// Package metatools has the tools of a gateway by which a client finds and calls the tools that are not in its
// list, and by which one that may do so changes the servers.
//
// Retrieve and Describe of a [Belt] find tools and show their definitions, as far as a client sees them. A
// call of call_tool, or of one of its variants, is read by [ReadCall]: the gateway makes it as it makes
// any other. [Servers] is the tool upstream_servers. [Listed] has the definitions.
//
// What is wrong with arguments is an error that a model can read.
package metatools
