// Package edit changes config files in place: comments, order and what other programs keep
// in them stay.
//
// # Change a file
//
// [OpenFileStore] is a store of records over a config file: record.Add, record.Update and
// record.Remove change it.
//
// Each change is made in the text: comments, the order of entries and keys, white
// space, and what this package knows nothing of stay as they are. References such as
// ${VAR} are written as they are given. What the file's program calls otherwise than we
// do is written in its words where it stands in them already; where the program has no
// word, ours is written, which only this package reads. A server is switched off in the
// word that the program reads; that goes when it is on again.
//
// After each change the text is read back. If the server does not say what it was to
// say, if it cannot be used and could before, or if another server says something else,
// there is an error and the file is as it was.
//
// # Import servers
//
// [PlanImport] says what would become of the servers of one file in another one, of
// whatever formats, before [Import.Apply] writes anything.
package edit
