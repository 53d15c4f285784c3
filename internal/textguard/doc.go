// Package textguard finds what a text of a stranger hides from people, and what it
// urges a model to do. It reads text and nothing else: no files, no network, no
// state.
//
// # What is hidden
//
// [Hidden] finds the characters that a person does not see or that turn what they
// see into something else: escape sequences, tag characters, overrides of the
// direction of writing, and characters without width. Where such a character is part of
// how a script or an emoji is written it is left alone.
//
// # What is urged
//
// [Urging] finds sentences that speak to a model behind a person's back: to forget
// what it was told, to keep something from the user, to read a key and hand it on.
// It knows English, and it is a smoke detector: silence proves nothing.
//
// # What is named
//
// [Mentions] finds the words that are formed like the name of a tool or server,
// and [Skeleton] makes names equal that look alike.
//
// All of it takes time in proportion to the text.
package textguard
