// Package record keeps the entries of servers that a program manages: administrators list
// them, change them and take back what they removed.
//
// # Records and patches
//
// A [Record] is the entry of one server as written. It is shown with its secrets masked,
// and what was shown comes back as a [Patch]: [Record.Apply] keeps the secrets that are
// still masked, and refuses to send them elsewhere.
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
