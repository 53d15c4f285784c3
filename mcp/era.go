package mcp

// An era is what a client has learned about the revisions that its server
// speaks. It belongs to the supervisor.
type era struct {
	// legacy is set once the server has shown that it wants the initialize
	// handshake; it is then spared the probe.
	legacy bool
	// suspect is set when a connection died of the probe, or never answered
	// it: the next attempt does without.
	suspect bool
	// patient is set when the server answered the probe after its time: the
	// next attempts wait for it as long as there is time at all.
	patient bool
}

// version returns the revision with which to begin the next attempt.
func (e *era) version() string {
	if e.legacy || e.suspect {
		return Revision20251125
	}
	return Revision20260728
}

// succeeded learns from a handshake that ended with the given revision.
func (e *era) succeeded(version string) {
	legacy := version < Revision20260728
	*e = era{legacy: legacy, patient: e.patient && !legacy}
}

// failed learns from a handshake that was begun with the given revision and
// failed. It reports whether another attempt makes sense at once, on a new
// connection and without the probe.
func (e *era) failed(begunWith string, t *tap) (again bool) {
	if begunWith != Revision20260728 {
		// Whatever was known does not hold any more: a server may have been
		// replaced by a newer one.
		*e = era{}
		return false
	}
	probed, late := t.probed()
	e.patient = late
	e.suspect = probed && !late
	return e.suspect
}
