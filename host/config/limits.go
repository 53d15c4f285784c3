package config

// Limits bound what a server may do, the key "limits". Zero means the default of who
// uses this package.
type Limits struct {
	MaxTools    int   // tools in its list
	MaxInFlight int   // requests that wait for it at one time
	MaxQueued   int   // requests that wait for their turn; negative: none
	MaxMessage  int64 // bytes of one message
}
