package auth_test

import (
	"context"
	"fmt"
	"log"

	"github.com/mcpbelt/mcpbelt/auth"
	"github.com/mcpbelt/mcpbelt/auth/authtest"
)

// The user of a program without a browser types a short code at another machine.
func ExampleFlow_BeginDevice() {
	server, err := authtest.New(&authtest.Options{Device: &authtest.DeviceOptions{}})
	if err != nil {
		log.Fatal(err)
	}
	defer server.Close()
	files := server.NewMCP(nil)

	flow, err := auth.New(&auth.Config{Server: "files", URL: files.URL, Grant: auth.DeviceCode})
	if err != nil {
		log.Fatal(err)
	}
	defer flow.Close()
	ctx := context.Background()
	authority, err := flow.Discover(ctx, nil)
	if err != nil {
		log.Fatal(err)
	}
	client, err := flow.Register(ctx, authority, "", nil)
	if err != nil {
		log.Fatal(err)
	}
	pending, err := flow.BeginDevice(ctx, authority, client, []string{"files:read"})
	if err != nil {
		log.Fatal(err)
	}
	// Show pending.URL and pending.Device.UserCode. The user types the code:
	if err := server.ApproveDevice(pending.Device.UserCode); err != nil {
		log.Fatal(err)
	}
	grant, err := flow.Poll(ctx, pending)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(grant.Token.Type, grant.Scopes)
	// Output: Bearer [files:read]
}

// A login that waits can be stored, sealed, and be polled for by another process.
func ExampleFlow_Poll() {
	server, err := authtest.New(&authtest.Options{Device: &authtest.DeviceOptions{}})
	if err != nil {
		log.Fatal(err)
	}
	defer server.Close()
	files := server.NewMCP(nil)
	config := &auth.Config{Server: "files", URL: files.URL, Grant: auth.DeviceCode}

	begin := func(ctx context.Context) []byte {
		flow, err := auth.New(config)
		if err != nil {
			log.Fatal(err)
		}
		defer flow.Close()
		authority, err := flow.Discover(ctx, nil)
		if err != nil {
			log.Fatal(err)
		}
		client, err := flow.Register(ctx, authority, "", nil)
		if err != nil {
			log.Fatal(err)
		}
		pending, err := flow.BeginDevice(ctx, authority, client, nil)
		if err != nil {
			log.Fatal(err)
		}
		stored, err := pending.MarshalBinary()
		if err != nil {
			log.Fatal(err)
		}
		return stored
	}

	ctx := context.Background()
	var pending auth.Pending
	if err := pending.UnmarshalBinary(begin(ctx)); err != nil {
		log.Fatal(err)
	}
	if err := server.DenyDevice(pending.Device.UserCode); err != nil {
		log.Fatal(err)
	}
	flow, err := auth.New(config)
	if err != nil {
		log.Fatal(err)
	}
	defer flow.Close()
	_, err = flow.Poll(ctx, &pending)
	fmt.Println(err)
	// Output: auth: server "files": token refused: access_denied (HTTP status 400)
}
