// Package bm25 ranks short documents, such as the descriptions of tools, by the
// words that they share with a query.
//
// An [Index] scores by BM25F. The occurrences of a word are weighed by the field
// that they stand in and by the length of that field beside the average, added up
// over the fields, and only then saturated; a word counts the more the fewer
// documents have it, and a document that has more of the words is ahead. The index changes in place, and what it returns depends on the
// documents that are in it and on nothing else: not on the order in which they came,
// nor on what was there before.
//
// [Words] and [Stem] make terms of texts, the same for documents and queries.
// [Index.Nearest], [Index.Split] and [Index.Frequency] help with a word of a query
// that no document has.
package bm25
