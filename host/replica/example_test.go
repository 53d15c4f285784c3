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
	"github.com/mcpbelt/mcpbelt/session"
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
	r := registry.New(&registry.Options{Approver: m.Approver(ask), Approvals: approval.Options{Replica: m.ID()}})
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

// allow has the user of ctx allow the tool send for the conversation, on a replica.
func allow(ctx context.Context, r *registry.Registry) {
	_, err := r.Call(ctx, "send", []byte(`{"To":"ada"}`))
	var asks *registry.ApprovalRequiredError
	if !errors.As(err, &asks) {
		log.Fatal(err)
	}
	if _, err := r.Approve(ctx, asks.Request.ID, &registry.ApproveOptions{ForConversation: true}); err != nil {
		log.Fatal(err)
	}
}

// isAsked reports whether a call of the tool send waits for approval.
func isAsked(ctx context.Context, r *registry.Registry) bool {
	_, err := r.Call(ctx, "send", []byte(`{"To":"bob"}`))
	return errors.As(err, new(*registry.ApprovalRequiredError))
}

// A user allows a tool on one replica, and is not asked on another.
func ExampleMember_Approver() {
	ctx := registry.WithConversation(context.Background(), "chat-1")
	store := storage.NewMemory()
	here, one := newReplica(ctx, store) // with one.Approver(policy) as its Approver
	defer one.Close(ctx)
	there, other := newReplica(ctx, store)
	defer other.Close(ctx)

	allow(ctx, here)
	fmt.Println("asked elsewhere:", isAsked(ctx, there))
	fmt.Println("in another conversation:", isAsked(registry.WithConversation(ctx, "chat-2"), there))
	// Output:
	// asked elsewhere: false
	// in another conversation: true
}

// A conversation ends on all replicas.
func ExampleMember_EndConversation() {
	ctx := registry.WithConversation(context.Background(), "chat-1")
	store := storage.NewMemory()
	here, one := newReplica(ctx, store)
	defer one.Close(ctx)
	_, other := newReplica(ctx, store)
	defer other.Close(ctx)

	allow(ctx, here)
	err := other.EndConversation(ctx)
	fmt.Println("asked:", isAsked(ctx, here), err)
	// Output: asked: true <nil>
}

// A user takes back what they have allowed, on all replicas.
func ExampleMember_RevokeGrants() {
	ctx := session.WithUser(context.Background(), "ann")
	store := storage.NewMemory()
	here, one := newReplica(ctx, store)
	defer one.Close(ctx)
	_, other := newReplica(ctx, store)
	defer other.Close(ctx)

	allow(registry.WithConversation(ctx, "chat-1"), here)
	err := other.RevokeGrants(ctx)
	fmt.Println("asked:", isAsked(registry.WithConversation(ctx, "chat-1"), here), err)
	// Output: asked: true <nil>
}
