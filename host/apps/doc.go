// Package apps shows the apps of servers (MCP Apps 2026-01-26): pages on which people see and change what a tool has
// brought, beside the text that the model gets.
//
//	opts := &host.Options{}
//	apps.Prepare(opts) // servers are told that this program shows apps
//	h, err := host.Open(ctx, "mcp.json", opts)
//	...
//	a, err := apps.New(h, &apps.Options{
//		SandboxURL: "http://127.0.0.1:8081",
//		Show:       func(ctx context.Context, s *apps.Shown) { _ = json.NewEncoder(w).Encode(s) }, // to the page of s.User
//	})
//	...
//	http.Handle("/apps/", http.StripPrefix("/apps", a.Bridge()))
//	go http.ListenAndServe("127.0.0.1:8080", nil)
//	http.ListenAndServe("127.0.0.1:8081", a.Sandbox())
//
// In the page of the program:
//
//	import { show } from "/apps/apps.js";
//	show(element, { call, bridge: "/apps" }); // call is what Show has sent
//
// # What an app can do
//
// A page is code of a stranger. It runs in a frame of an origin of its own, which belongs to no other app, inside of a
// frame of the sandbox, whose Content-Security-Policy is made of the domains that its server declares: without any it loads
// and sends nothing. Links, messages to the model and calls of tools go through the bridge. It calls tools of its own server
// that are for apps, by the [registry.Registry], as the user and in the conversation of the call that it shows: policy,
// approval, ledger and observers see these calls, too.
//
// What was accepted of a tool holds its page, see RecordApp of package ledger: one that has changed, or declares other
// domains or permissions, is not shown before a person has accepted it.
package apps
