// Package replica has the replicas of a program share the calls that wait for approval, and the tools that users have
// allowed for a session: a call that waits on one is approved or denied on another, and is made once, by the replica
// on which it waits.
//
//	m, err := replica.Join(ctx, store, nil)
//	if err != nil {
//		return err
//	}
//	defer m.Close(ctx)
//	...
//	err = m.Attach(h.Registry())
//	...
//	waiting, err := m.Approvals(ctx) // of all replicas
//	res, err := m.Approve(ctx, waiting[0].ID, nil)
//
// The replicas need a [storage.Store] that all of them reach, and no way to each other: an
// answer is a record, which the replica that holds the call takes before it makes the call, and which
// the one that gave the answer takes back if it cannot wait any longer. Whoever is first has it. So a
// call that was approved is never made twice, and after a replica has died it is known of each answer whether
// it was taken: one that was not has no effect, the outcome of one that was is unknown.
//
// A call that waits ends with its replica. The agent that wanted it, which ended with the same replica or was told to
// go on elsewhere, makes it again and is asked again.
//
// What a user allows for a session counts on all replicas whose registry was made with [Member.Approver]. A grant is
// a record, which another replica reads when its policy would ask. [Member.EndConversation] and [Member.RevokeGrants]
// take grants back on all replicas; one that cannot reach the store does so when it can, and goes on with what it
// knows until then.
//
// Replicas notice each other by records that they renew every 5 seconds. One whose record has
// not changed for 20 seconds, by the clock of who looks, counts as dead; the clocks of machines are not compared.
// Records hold the arguments and results of calls: give Join a store that is sealed.
package replica
