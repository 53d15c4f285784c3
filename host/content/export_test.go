package content

import "time"

// Limits sets other limits for the list of one server; zero: as ever.
func (c *Content) Limits(timeout time.Duration, items int) *Content {
	if timeout > 0 {
		c.timeout = timeout
	}
	if items > 0 {
		c.maxItems = items
	}
	return c
}

// ExpandsTo is for tests.
var ExpandsTo = expandsTo
