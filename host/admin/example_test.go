package admin_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/access"
	"github.com/mcpbelt/mcpbelt/host/activity"
	"github.com/mcpbelt/mcpbelt/host/admin"
	"github.com/mcpbelt/mcpbelt/host/manage"
	"github.com/mcpbelt/mcpbelt/host/record"
	"github.com/mcpbelt/mcpbelt/storage"
)

func ExampleHandler() {
	ctx := context.Background()
	m, err := manage.OpenStore(ctx, record.NewMemoryStore(), &manage.Options{Host: host.Options{StateDir: host.NoState}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer m.Close()
	keys, err := access.LoadKeys(ctx, storage.NewMemory(), "keys")
	if err != nil {
		fmt.Println(err)
		return
	}
	secret, root, err := keys.Create(ctx, access.KeyOptions{Label: "root", Grant: &access.Grant{Manage: true}})
	if err != nil {
		fmt.Println(err)
		return
	}
	h, err := admin.Handler(m, &admin.Options{
		Authenticate: keys.Authenticate,
		Roles: func(c *access.Caller) []admin.Role {
			if c.Credential == root.ID {
				return []admin.Role{admin.Operate, admin.StdioWrite}
			}
			return admin.DefaultRoles(c)
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	w, req := httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/api/v1/mcp/servers", nil)
	req.Header.Set("Authorization", "Bearer "+secret)
	h.ServeHTTP(w, req)
	fmt.Print(w.Body)
	// Output: {"code":200,"data":[]}
}

func serveAdmin(ctx context.Context, store storage.Store) error {
	file, err := activity.OpenFile("activity.jsonl")
	if err != nil {
		return err
	}
	feed := admin.NewFeed(file.Events)
	defer feed.Close()
	log := activity.New(nil, file, feed)
	defer log.Close(context.Background())
	m, err := manage.Open(ctx, "mcp.json", &manage.Options{Host: host.Options{Activity: log}})
	if err != nil {
		return err
	}
	defer m.Close()
	keys, err := access.LoadKeys(ctx, store, "keys")
	if err != nil {
		return err
	}
	h, err := admin.Handler(m, &admin.Options{
		Authenticate: keys.Authenticate,
		Roles: func(c *access.Caller) []admin.Role {
			if c.User == "ada" {
				return []admin.Role{admin.Operate, admin.StdioWrite}
			}
			return []admin.Role{admin.View}
		},
		Keys: keys,
		Feed: feed,
	})
	if err != nil {
		return err
	}
	return http.ListenAndServe("localhost:8081", h)
}

// An admin API that tells what happens, also what happened in the run before.
func ExampleNewFeed() {
	if err := serveAdmin(context.Background(), storage.NewMemory()); err != nil {
		fmt.Println(err)
	}
}
