package main

import "fmt"

// A constant is what one thing costs, as it was measured.
type constant struct {
	name   string
	about  string // in docs/scale.md
	unit   string
	factor float64 // what a figure is multiplied by, to have the unit
	// axis, subject and figure say which series it is taken from.
	axis, subject, figure string
	// growth takes how much the figure grows with each one counted, from the least size to the greatest; else it
	// is taken at the greatest size.
	growth bool
}

func allConstants() []constant {
	const memory, listening = "resident, MB", ", with a listening stream"
	return []constant{
		{name: "call_cpu", about: "a call through the gateway, small, 512 at one time: processor time of the gateway", unit: "µs", factor: 1, axis: "gateway", subject: oldIdle, figure: "CPU per call, µs"},
		{name: "session", about: "an idle session of a client of the gateway", unit: "KB", factor: 1000, axis: "sessions", subject: oldIdle, figure: memory, growth: true},
		{name: "stream_old", about: "the same" + listening + " (2025-11-25)", unit: "KB", factor: 1000, axis: "sessions", subject: oldListen, figure: memory, growth: true},
		{name: "stream_new", about: "an idle listening stream (2026-07-28)", unit: "KB", factor: 1000, axis: "sessions", subject: newListen, figure: memory, growth: true},
		{name: "client", about: "an idle client of a user at a server over HTTP (2025-11-25)", unit: "KB", factor: 1000, axis: "clients", subject: oldIdle, figure: memory, growth: true},
		{name: "client_old", about: "the same" + listening, unit: "KB", factor: 1000, axis: "clients", subject: oldListen, figure: memory, growth: true},
		{name: "client_new", about: "the same of 2026-07-28" + listening, unit: "KB", factor: 1000, axis: "clients", subject: newListen, figure: memory, growth: true},
		{name: "client_sockets", about: "its open files", unit: "", factor: 1, axis: "clients", subject: newListen, figure: "open files", growth: true},
		{name: "renewal_cpu", about: "a renewal of a login, 32 at one time: processor time of the process", unit: "µs", factor: 1, axis: "renewals", subject: inPostgres, figure: "CPU per renewal, µs"},
		{name: "renewal_database", about: "the same: processor time of PostgreSQL", unit: "µs", factor: 1, axis: "renewals", subject: inPostgres, figure: "PostgreSQL CPU per renewal, µs"},
		{name: "renewals", about: "renewals of one process, 32 at one time", unit: "a second", factor: 1, axis: "renewals", subject: inPostgres, figure: "renewals/s"},
		{name: "load_database", about: "a query of one record: processor time of PostgreSQL", unit: "µs", factor: 1, axis: "logins", subject: inPostgres, figure: "PostgreSQL CPU per load, µs"},
		{name: "row", about: "a login in the table, its access token 1 KB of it", unit: "KB", factor: 1000, axis: "logins", subject: inPostgres, figure: "table, MB", growth: true},
		{name: "row_index", about: "the same in the index", unit: "KB", factor: 1000, axis: "logins", subject: inPostgres, figure: "index, MB", growth: true},
	}
}

// A trend is a series of which the exponent counts.
type trend struct{ axis, subject, figure string }

// key is its name among the constants.
func (t trend) key() string { return "exponent of " + t.axis + ": " + t.figure }

// trends returns what grows in time and in memory, by what they grow with.
func trends() []struct {
	with         string
	time, memory trend
} {
	return []struct {
		with         string
		time, memory trend
	}{
		{"local servers", trend{"servers", hostStdio, "open, ms"}, trend{"servers", hostStdio, "heap, MB"}},
		{"tools", trend{"tools", "registry", "fill, ms"}, trend{"tools", "registry", "heap, MB"}},
		{"users, with a client each", trend{"users", poolForAll, "call, µs"}, trend{"clients", newListen, "heap, MB"}},
		{"clients of a gateway", trend{"gateway", oldIdle, "CPU per call, µs"}, trend{"sessions", newListen, "heap, MB"}},
		{"bytes of a result", trend{"sizes", hostHTTP, "call, µs"}, trend{"sizes", hostHTTP, "allocated per call, KB"}},
		{"logins in the database", trend{"logins", inPostgres, "load, µs"}, trend{"logins", inPostgres, "table, MB"}},
	}
}

// command returns what measures the constant.
func (c constant) command() string {
	return fmt.Sprintf("go run . -match '^%s %s [0-9]'", c.axis, c.subject)
}

// constants returns the constants and exponents that were measured, by their names: three digits of each.
func (r *results) constants() map[string]float64 {
	all := map[string]float64{}
	for _, c := range allConstants() {
		s := r.seriesOf(trend{c.axis, c.subject, c.figure})
		last := len(s.sizes) - 1
		if last < 0 || last == 0 && c.growth {
			continue
		}
		all[c.name] = rounded(c.factor * s.values[last])
		if c.growth {
			all[c.name] = rounded(c.factor * (s.values[last] - s.values[0]) / float64(s.sizes[last]-s.sizes[0]))
		}
	}
	for _, t := range trends() {
		for _, t := range []trend{t.time, t.memory} {
			if b, ok := r.seriesOf(t).exponent(); ok {
				all[t.key()] = b
			}
		}
	}
	return all
}

// seriesOf returns a series; an empty one if it was not measured.
func (r *results) seriesOf(t trend) series {
	a, err := axisOf(t.axis)
	if err != nil {
		return series{}
	}
	for _, s := range r.series(a, t.figure) {
		if s.subject == t.subject {
			return s
		}
	}
	return series{}
}
