// Package approval holds the decisions about calls of tools, and the errors of calls that
// were not approved.
//
// A registry.Approver returns a [Decision] for each call; package registry/policy makes
// one of rules. A call that it wants to [Ask] about waits in the registry until
// registry.Registry.Approve or Deny is called, or its time is over.
package approval
