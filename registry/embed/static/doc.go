// Package static embeds texts by the vectors of their words, which it reads from a file: a
// search of package registry/toolset then finds tools that say it in other words, without a
// service and without a model. It is a module of its own, in pure Go.
//
//	vectors, err := static.Open("vectors.txt", nil)
//	...
//	finder, err := toolset.New(r, &toolset.Options{Embedder: vectors})
//
// # Files
//
// [Open] reads the text format of GloVe, the text and the binary format of word2vec, and a
// table of its own with a byte for each number, which [Vectors.WriteTo] and the program in
// registry/embed/static/compact write. All list the most frequent words first. This package
// comes without vectors: take them from where you trust the licence.
//
// # What it can do
//
// The vector of a text is the mean of those of its words, where frequent words count less:
// it knows that an invoice is like a bill, and nothing of the order of words. A text costs a
// few microseconds. A language model that embeds whole texts finds more, and costs more.
package static
