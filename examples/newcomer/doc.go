// Package newcomer has the programs that a user writes first, made of what the pages say and of nothing
// else: an agent, a careful one, a transport of one's own, a test with faults, and an agent with more
// tools than a request takes. It has tests only. The web back end is examples/webbackend, the gateway below a
// path stands in host/gateway, and a store of one's own in sqlstore.
package newcomer
