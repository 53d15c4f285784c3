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
// [Memory] keeps records no longer than the program runs, package session/filestore
// keeps sessions in files, and package sqlstore keeps all of it in a database. Test
// another Store with package storage/storagetest.
package storage
