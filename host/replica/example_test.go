package replica_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/mcpbelt/mcpbelt/host/replica"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/approval"
	"github.com/mcpbelt/mcpbelt/registry/result"
	"github.com/mcpbelt/mcpbelt/storage"
)

// newReplica returns a registry with a tool that needs approval, and its place among those that share a store.
func newReplica(ctx context.Context, store storage.Store) (*registry.Registry, *replica.Member) {
	m, err := replica.Join(ctx, store, &replica.Options{Every: 50 * time.Millisecond})
	if err != nil {
		log.Fatal(err)
	}
	ask := registry.ApproverFunc(func(context.Context, *registry.ApprovalRequest) (approval.Decision, error) {
		return approval.Decision{Verdict: approval.Ask, Reason: "it sends mail"}, nil
	})
	r := registry.New(&registry.Options{Approver: ask, Approvals: approval.Options{Replica: m.ID()}})
	err = r.Add(registry.MustFunc("send", "Send mail.", func(_ context.Context, in struct{ To string }) (string, error) {
		return "sent to " + in.To, nil
	}))
	if err == nil {
		err = m.Attach(r)
	}
	if err != nil {
		log.Fatal(err)
	}
	return r, m
}

// A call is wanted on one replica, and approved on another.
func ExampleJoin() {
	ctx := context.Background()
	store := storage.NewMemory() // programs on several machines share a sqlstore.Database
	here, one := newReplica(ctx, store)
	defer one.Close(ctx)
	_, other := newReplica(ctx, store)
	defer other.Close(ctx)

	_, err := here.Call(ctx, "send", []byte(`{"To":"ada"}`))
	var asks *registry.ApprovalRequiredError
	if !errors.As(err, &asks) {
		log.Fatal(err)
	}
	for {
		waiting, err := other.Approvals(ctx)
		if err != nil {
			log.Fatal(err)
		}
		if len(waiting) == 0 {
			<-time.After(10 * time.Millisecond) // a program that shows them asks now and then
			continue
		}
		fmt.Println(waiting[0].Tool.Name, string(waiting[0].Args), waiting[0].Reason)
		res, err := other.Approve(ctx, waiting[0].ID, nil)
		fmt.Println(result.Text(res), err)
		return
	}
	// Output:
	// send {"To":"ada"} it sends mail
	// sent to ada <nil>
}
