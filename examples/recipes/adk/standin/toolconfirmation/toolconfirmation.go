// Package toolconfirmation stands in for google.golang.org/adk/v2/tool/toolconfirmation.
package toolconfirmation

// A ToolConfirmation is what a person says to a call.
type ToolConfirmation struct {
	Hint      string
	Confirmed bool
	Payload   any
}
