// Package policy decides by rules which calls a registry makes.
//
//	p, err := policy.New(approval.Ask,
//		policy.Rule{Verdict: approval.Deny, Server: "prod-*"},
//		policy.Rule{Verdict: approval.Allow, Server: "github", Tool: "{get,list}_*"})
//	r := registry.New(&registry.Options{Approver: p})
//
// A [Policy] is an approver of package registry: the first [Rule] that is for a call
// decides it, and the default of [New] any other call. [Cautious] is one that is ready
// for use.
package policy
