package main

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
)

// What is assumed of the users and machines of docs/scale.md.
const (
	users10M      = 10_000_000
	userServers   = 3       // at which each user is logged in
	activeShare   = 0.05    // of the users, at one time
	callRate      = 100_000 // a second
	tokenLife     = 3600.0  // seconds
	renewedAt     = 0.75    // of its life a token is renewed
	stay          = 1800.0  // seconds that a user is active
	replicaCores  = 8.0     // of one replica
	replicaMemory = 32.0    // GB
	used          = 0.5     // of cores and memory
	poolSize      = 10      // connections to PostgreSQL of one replica, without the one that listens
	watched       = 3       // records that each replica watches
	lookEvery     = 3.0     // seconds
	beatEvery     = 5.0     // seconds between two looks of a replica for each other one
	notifications = 4       // a second about one namespace by one replica, at most
	localPorts    = 28_232  // of Linux, by default, for one address of a server
)

// The marks in a page between which its text is made here.
const (
	reachBegin = "<!-- made by make growth: begin -->\n"
	reachEnd   = "<!-- made by make growth: end -->\n"
)

// A reach is the arithmetic of a number of users.
type reach struct {
	cost map[string]float64 // by the names of constants

	active, logins       float64 // at one time
	callCores            float64
	renewals             float64 // a second
	renewalCores         float64
	streams, clients     float64 // GB
	byCores, byMemory    float64 // replicas
	replicas             float64
	loads, looks, beats  float64 // queries a second
	databaseCores        float64
	renewing             float64 // connections of PostgreSQL that renewals keep busy
	rows, table, written float64 // rows, GB, MB a second
}

func newReach(cost map[string]float64) *reach {
	r := &reach{cost: cost}
	r.active = users10M * activeShare
	r.logins = r.active * userServers
	r.callCores = callRate * cost["call_cpu"] / 1e6
	r.renewals = r.logins / (tokenLife * renewedAt)
	r.renewalCores = r.renewals * cost["renewal_cpu"] / 1e6
	r.streams = r.active * math.Max(cost["stream_old"], cost["stream_new"]) / 1e6
	r.clients = r.logins * math.Max(cost["client_old"], cost["client_new"]) / 1e6
	r.byCores = math.Ceil((r.callCores + r.renewalCores) / (replicaCores * used))
	r.byMemory = math.Ceil((r.streams + r.clients) / (replicaMemory * used))
	r.replicas = math.Max(r.byCores, r.byMemory)
	r.loads = r.logins / stay
	r.looks, r.beats = r.queriesOf(r.replicas)
	r.databaseCores = r.coresOf(r.renewals, r.loads+r.looks+r.beats)
	r.renewing = r.renewals * 32 / cost["renewals"]
	r.rows = users10M * userServers
	r.table = r.rows * (cost["row"] + cost["row_index"]) / 1e6
	r.written = 2 * r.renewals * cost["row"] / 1e3
	return r
}

// queriesOf returns the queries a second that n replicas make by being there: looks at what they watch,
// and at each other.
func (r *reach) queriesOf(n float64) (looks, beats float64) {
	return n * watched / lookEvery, n * (n - 1) / beatEvery
}

// coresOf returns the cores of PostgreSQL that renewals and queries a second take.
func (r *reach) coresOf(renewals, queries float64) float64 {
	return (renewals*r.cost["renewal_database"] + queries*r.cost["load_database"]) / 1e6
}

// text returns what a page says of it.
func (r *reach) text() string {
	var b strings.Builder
	b.WriteString("| grows with | time | exponent | memory | exponent |\n|---|---|--:|---|--:|\n")
	for _, t := range trends() {
		fmt.Fprintf(&b, "| %s | %s: %s | %.2f | %s: %s | %.2f |\n", t.with, t.time.axis, t.time.figure, r.cost[t.time.key()],
			t.memory.axis, t.memory.figure, r.cost[t.memory.key()])
	}
	b.WriteString("\n| constant | is | measured in `bench/growth` by |\n|---|--:|---|\n")
	for _, c := range allConstants() {
		fmt.Fprintf(&b, "| %s | %s %s | `%s` |\n", c.about, number(r.cost[c.name]), c.unit, c.command())
	}
	fmt.Fprintf(&b, `
Assumed: **%s users**, each logged in at %d servers; %s %% of them active at one time, for %s minutes, with a
listening stream to the gateway and one to each of their servers; **%s calls a second**; access tokens
of %s hour, renewed after %s %% of it; replicas of %s cores and %s GB, of which %s %% is used; %d watched records and
a pool of %d connections in each; a load balancer that sends a user to the same replica.

`, amount(users10M), userServers, amount(100*activeShare), amount(stay/60), amount(callRate), amount(tokenLife/3600), amount(100*renewedAt),
		amount(replicaCores), amount(replicaMemory), amount(100*used), watched, poolSize)
	b.WriteString("| step | arithmetic | result |\n|---|---|--:|\n")
	step := func(what, result, format string, args ...any) {
		fmt.Fprintf(&b, "| %s | %s | %s |\n", what, fmt.Sprintf(format, args...), result)
	}
	call, perUser := r.cost["call_cpu"], math.Max(r.cost["client_old"], r.cost["client_new"])
	stream := math.Max(r.cost["stream_old"], r.cost["stream_new"])
	step("users active at one time", amount(r.active), "%s × %s", amount(users10M), number(activeShare))
	step("their logins, and clients of servers", amount(r.logins), "%s × %d", amount(r.active), userServers)
	step("calls", number(r.callCores)+" cores", "%s/s × %s µs", amount(callRate), number(call))
	step("renewals", amount(r.renewals)+"/s", "%s / (%s s × %s)", amount(r.logins), amount(tokenLife), number(renewedAt))
	step("their work in replicas", number(r.renewalCores)+" cores", "%s/s × %s µs", amount(r.renewals), number(r.cost["renewal_cpu"]))
	step("streams of clients of the gateway", amount(r.streams)+" GB", "%s × %s KB", amount(r.active), number(stream))
	step("clients of servers", amount(r.clients)+" GB", "%s × %s KB", amount(r.logins), number(perUser))
	step("replicas, by cores", amount(r.byCores), "%s / (%s × %s)", number(r.callCores+r.renewalCores), amount(replicaCores), number(used))
	step("replicas, by memory", amount(r.byMemory), "%s GB / (%s GB × %s)", amount(r.streams+r.clients), amount(replicaMemory), number(used))
	step("**replicas**", "**"+amount(r.replicas)+"**", "the greater one")
	step("sessions of one: `MaxSessions`, `MaxStreams`", amount(r.active/r.replicas), "%s / %s", amount(r.active), amount(r.replicas))
	step("clients of one: `MaxUserClients`, `MaxCached`", amount(r.logins/r.replicas), "%s / %s", amount(r.logins), amount(r.replicas))
	sockets := (r.active + r.logins*r.cost["client_sockets"]) / r.replicas
	step("its sockets: `ulimit -n`", amount(sockets), "(%s + %s × %s) / %s", amount(r.active), amount(r.logins), number(r.cost["client_sockets"]), amount(r.replicas))
	step("addresses of one replica for a server that all use", amount(math.Ceil(r.active/r.replicas/localPorts)), "%s / %s ports", amount(r.active/r.replicas), amount(localPorts))
	step("rows", amount(r.rows), "%s × %d", amount(users10M), userServers)
	step("table and index", amount(r.table)+" GB", "%s × (%s + %s) KB", amount(r.rows), number(r.cost["row"]), number(r.cost["row_index"]))
	step("written by renewals, at least", number(r.written)+" MB/s", "%s/s × 2 × %s KB", amount(r.renewals), number(r.cost["row"]))
	step("loads, as users come", amount(r.loads)+"/s", "%s / %s s", amount(r.logins), amount(stay))
	step("looks at watched records", amount(r.looks)+"/s", "%s × %d / %s s", amount(r.replicas), watched, amount(lookEvery))
	step("looks of replicas for each other", amount(r.beats)+"/s", "%s × %s / %s s", amount(r.replicas), amount(r.replicas-1), amount(beatEvery))
	step("PostgreSQL", number(r.databaseCores)+" cores", "%s/s × %s µs + %s/s × %s µs", amount(r.renewals), number(r.cost["renewal_database"]), amount(r.loads+r.looks+r.beats), number(r.cost["load_database"]))
	step("its connections, without pgbouncer", amount(r.replicas*(poolSize+1)), "%s × (%d + 1 that listens)", amount(r.replicas), poolSize)
	step("of these busy with renewals: what a pgbouncer needs", amount(math.Ceil(r.renewing)), "%s/s × 32 / %s/s", amount(r.renewals), amount(r.cost["renewals"]))
	step("notifications about logins, at most", amount(r.replicas*notifications)+"/s", "%s × %d", amount(r.replicas), notifications)
	step("each to all replicas that listen", amount(r.replicas*r.replicas*notifications)+"/s", "%s × %s", amount(r.replicas*notifications), amount(r.replicas))
	step("a watch for each active user instead", number(r.coresOf(0, r.active/lookEvery))+" cores of PostgreSQL", "%s / %s s × %s µs", amount(r.active), amount(lookEvery), number(r.cost["load_database"]))
	step("a watch for each user", number(r.coresOf(0, users10M/lookEvery))+" cores of PostgreSQL", "%s / %s s × %s µs", amount(users10M), amount(lookEvery), number(r.cost["load_database"]))
	step("renewal of all logins, used or not", number(r.coresOf(r.rows/(tokenLife*renewedAt), 0))+" cores of PostgreSQL", "%s / (%s s × %s) × %s µs", amount(r.rows), amount(tokenLife), number(renewedAt), number(r.cost["renewal_database"]))
	b.WriteString("\nThe same users to a replica, with more of them and fewer, on one database:\n\n" +
		"| replicas | users active | calls/s | renewals/s | connections of PostgreSQL | looks at each other/s | notifications delivered/s | cores of PostgreSQL |\n" +
		"|--:|--:|--:|--:|--:|--:|--:|--:|\n")
	for _, n := range []float64{1, 10, 100, 1000} {
		looks, beats := r.queriesOf(n)
		part := n / r.replicas
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s | %s | %s |\n", amount(n), amount(r.active*part), amount(callRate*part), amount(r.renewals*part),
			amount(n*(poolSize+1)), amount(beats), amount(n*n*notifications), number(r.coresOf(r.renewals*part, r.loads*part+looks+beats)))
	}
	return b.String()
}

// rounded returns a figure with three digits that count.
func rounded(v float64) float64 {
	v, _ = strconv.ParseFloat(strconv.FormatFloat(v, 'g', 3, 64), 64) // it was formatted
	return v
}

// amount returns a number of things: three digits that count, with commas.
func amount(v float64) string {
	if v < 1000 {
		return strconv.FormatFloat(rounded(v), 'f', -1, 64)
	}
	digits := strconv.FormatFloat(math.Round(rounded(v)), 'f', 0, 64)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// replaceReach returns a page with its text between the marks replaced.
func replaceReach(page []byte, text string) ([]byte, error) {
	before, rest, begins := bytes.Cut(page, []byte(reachBegin))
	_, after, ends := bytes.Cut(rest, []byte(reachEnd))
	if !begins || !ends {
		return nil, errors.New("the page has no marks between which its text is made")
	}
	return []byte(string(before) + reachBegin + "\n" + text + "\n" + reachEnd + string(after)), nil
}

// writeReach replaces the arithmetic in a page.
func writeReach(name string, cost map[string]float64) error {
	page, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	if page, err = replaceReach(page, newReach(cost).text()); err != nil {
		return err
	}
	return os.WriteFile(name, page, 0o644)
}
