// Package storage is what a place offers that keeps the data of this library: names,
// bytes and revisions. It does not know what the bytes mean.
//
// # Who keeps what
//
// A session manager keeps its sessions in a [Store], sealed by package session/seal.
// ledger.Load, consent.Load, record.NewStore and record.NewStatuses keep one record each:
// the accepted tools, the allowed launches, the entries of servers and their last status.
//
// # Which stores there are
//
// [NewMemory] keeps records no longer than the program runs, package session/filestore
// keeps sessions in files, and package sqlstore keeps all of it in a database. Test
// another Store with package storage/storagetest.
//
// # What else a store may offer
//
// A [Locker] keeps other processes away while one changes a record, a [Watcher] tells
// when records change, and a [Leaser] gives a name to one process for a time. They are optional, and
// found by a type assertion:
//
//	           Locker  Watcher  Leaser
//	Memory     yes     yes      yes
//	files      yes     yes      no: a lock ends with its process, which is better
//	sqlstore   no      yes      yes
package storage
