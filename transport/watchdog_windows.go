package transport

// A keeper does nothing: a job object dies with its last handle, and so with
// this process.
type keeper struct{}

func (*keeper) start(string)    {}
func (*keeper) add(int)         {}
func (*keeper) drop(int)        {}
func (*keeper) degraded() error { return nil }
func (*keeper) close()          {}
