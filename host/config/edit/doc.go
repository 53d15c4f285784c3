// Package edit changes config files in place: comments, order and what other programs keep
// in them stay.
//
// # Change a file
//
// [Change] calls a function with the [File], which adds, changes and removes servers, and
// puts the result in its place, whatever happens meanwhile. A server is switched off in the
// word that the file's program reads; where it has none, [File.Remarks] says so.
//
// # Import servers
//
// [PlanImport] says what would become of the servers of one file in another one, of
// whatever formats, before [Import.Apply] writes anything.
//
// # Keep records in a file
//
// [OpenFileStore] is a store of records over a config file. Each change is one of [Change].
package edit
