// Package results has the form of what is kept in docs/adapters/results.
package results

// A Record is what came of one runtime of an adapter, as it is kept in
// docs/adapters/results.
type Record struct {
	Adapter   string            `json:"adapter"`
	Runtime   string            `json:"runtime"`
	Framework string            `json:"framework"`
	Interrupt string            `json:"interrupt"`
	InOrder   bool              `json:"inOrder"`
	TextOnly  bool              `json:"textOnly"`
	Fixed     bool              `json:"fixed"`
	Checks    map[string]string `json:"checks"` // "yes", "no", or why not
}
