// Package host keeps the MCP servers of a program connected and their tools in one registry: it
// reads the config file, starts the servers side by side, and starts again what ends. A call
// goes to the registry, whichever server has the tool.
//
//	h, err := host.Open(ctx, "mcp.json", nil)
//	if err != nil {
//		return err
//	}
//	defer h.Close()
//	h.Registry().Add(registry.MustFunc("add", "Add two numbers", add))
//	res, err := h.Registry().Call(ctx, "notes__create", json.RawMessage(`{"text":"hi"}`))
//
// # Opening
//
// Open reads a config file of any format that package config knows, and starts all
// servers in parallel. It returns when each is ready or has failed once, and after
// [Options].OpenWait at the latest. A server that is slow or has failed harms no other: it
// stands in [Host.Servers] with its error, and goes on, or is tried again, in the
// background. Only the failure of a server that the file calls required makes Open fail.
//
// A call of a tool that is not there because its server is not ready says so: it fails
// with a [*registry.NotReadyError], which has the reason and the server's own error, such
// as a variable that is not set.
//
// # What becomes of tools
//
// A server's tools appear in the registry when it is ready, and change with it.
// When its connection is lost they stay for a minute, since
// most connections come back at once, and calls wait for that; then they
// vanish, and appear again when the server does. Disable, Apply without the
// server, and Close remove them at once.
//
// Before the first call on a new connection the tools are read anew. A tool that is
// another one than was called fails with a [*ChangedError], and one that the
// registry's ledger holds back with a [*registry.QuarantinedError]: what was not
// accepted is not called.
//
// # Lazy servers
//
// A server with "lazy": true is started by the first call of one of its tools, and
// stops when it was unused for a while ("idleTimeoutSeconds" of its entry). Its tools are listed
// all the time: they are kept in [Options].StateDir, or Catalogs, from the last time. If they are not
// there yet the server is started once, in the background, to read them.
// [Status].Stage tells which servers are cached, starting, or ready.
//
// # Changing
//
// [Host.Apply] takes another configuration while the host runs: what did not
// change is not touched, and a changed server is replaced when its successor is
// ready. No call fails because of it, and no tool that both have is missing for a
// moment. If the changed entry does not work, the server goes on as it was,
// [Status].Unapplied says so, and the entry is tried again. A server of a file whose launches have to
// be allowed is not replaced: it stops as soon as its entry is another one, and starts
// when that is allowed. With [Options].Follow the config file is applied again when it has changed;
// [Host.Follow] does that for other files, and for configurations of any kind.
// [Host.Enable], [Host.Disable], [Host.Restart] and [Host.Refresh] act on single servers,
// and those on different servers do not wait for each other.
//
// # Many files
//
// Other programs on this machine have config files too, in their usual places:
//
//	found := config.Find(&config.FindOptions{Project: dir})
//	configs, err := config.LoadAll(ctx, found, nil) // err tells of the files that cannot be read
//	h := host.New(nil)
//	report, err := h.Apply(ctx, config.Merge(configs...))
//
// A file in a project may come from strangers. Its servers are not started before a
// user has allowed exactly what would be run: [Host.PendingLaunches] shows it, and
// [Host.AllowLaunch] starts it. So it is with a file that Open is given and that has the name
// of a project's file, such as .mcp.json, unless the Scope of [Options].Config says that
// it is the program's own or the user's. A server of the user that has the name of one
// that waits runs until that is allowed.
//
// # Many users
//
// By default all users share a server's connection. With "identity": "user" each has
// one of their own, with their own login, and with "identity": "header" one with headers
// that name them. The user is that of [session.WithUser] in the context of a call. The
// clients of users are bounded in number ([Options].MaxUserClients), and end when they
// are not used. A tool that a server shows a single user in another form than the
// catalogue of all has it, is not called for them.
//
// # Looking
//
// [Host.Servers] and [Host.Watch] tell where each server stands, and [Host.Inspect] more of
// one. Package host/doctor says how servers do, what is wrong with one and how to cure it,
// and tries out a server that is not configured yet, by [Host.Try]. [Options].Activity
// writes down what happens.
//
// # Resources and prompts
//
// Package host/content has those of all servers, beside their tools in the registry.
//
// # Records
//
// Package host/manage adds, changes and removes servers while the host runs, and keeps them
// as records in the config file or another store.
//
// # Ending
//
// [Host.Shutdown] lets calls under way finish; [Host.Close] does not. When they
// return, no process and no goroutine of the host is left.
package host

// Order of the files, from the bottom: options, errors, consents, calls, shared, transport, listing,
// pool, discovery, server, server_tools, status, list, call, start, supervisor, host,
// apply, change, allow, user, explain, open.
