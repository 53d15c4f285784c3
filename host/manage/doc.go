// Package manage changes the servers of a host while it runs: a program, or its
// administrators, add, update and remove them, and what they did is still there in the next
// run.
//
// # Records and servers
//
// A [Manager] keeps each server as a record in a store, which may be the config file
// itself, and has the host run what the store says.
//
//	m, err := manage.Open(ctx, "mcp.json", nil)
//	if err != nil {
//		return err
//	}
//	defer m.Close()
//	report, err := m.Add(ctx, &config.Server{Name: "files", Command: "files-server"})
//	tools := m.Host().Registry()
//
// [Manager.Update] applies a patch, and [Manager.Remove] takes a server out. The
// store keeps what was removed, and [Manager.Restore] takes it back.
//
// # What becomes of servers
//
// [Manager.Servers] returns the records, with their secrets masked, and where their servers
// stand. A [record.StatusStore] keeps the status of each between runs.
package manage
