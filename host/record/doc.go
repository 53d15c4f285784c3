// Package record keeps the entries of servers that a program manages: administrators list
// them, change them and take back what they removed.
//
// # Records and patches
//
// A record is a [config.Server] as written: references are not replaced, and [Of] makes one of a
// server that was read. Its name is the Title: 1-128 of letters, digits, '_', '-', '.' and blanks
// inside, at least one of them a letter or digit. In a record that a program makes the Name will
// do. It is shown with its secrets masked, and what was shown comes back as a [Patch]:
// [Patch.Apply] keeps the secrets that are still masked, and refuses to send them elsewhere.
// [Encode] is the one way to have them in clear.
//
// # Stores
//
// A [Store] keeps records: [NewStore] in any storage.Store, such as that of package sqlstore,
// [NewMemoryStore] in memory, and host/config/edit.OpenFileStore in a config file. [Add],
// [Update], [Remove] and [Restore] check what they are told before they change it, and repeat
// the change if another program was faster. [Read] makes a configuration of a store. Package
// host/manage changes a store together with the servers of a host.
//
// # Status
//
// A [StatusStore] keeps what became of servers between the runs of a program:
// [OpenStatusFile] in a file, [NewStatuses] in any storage.Store.
package record
