// Package seedrows has tests only: it runs the samples of the five documents that this
// library was made after (MateClaw, IronClaw, HandsAI, MCPProxy and Kode), as they stand
// there, and checks what each document states.
//
// There is one file for each document. The documents and their programs together have 63
// capabilities, and each subtest is named after one of them. A test holds that none is
// forgotten.
package seedrows
