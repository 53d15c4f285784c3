package mcpgo

// An outcome is that of a function which ran in a goroutine of its own.
type outcome[T any] struct {
	value    T
	err      error
	panicked any
}

// begin runs what should heed its context and may not: a transport waits for a server
// that does not read. Who does not wait for the outcome leaves a goroutine behind, which
// ends with the client's Close.
func begin[T any](run func() (T, error)) <-chan outcome[T] {
	over := make(chan outcome[T], 1)
	go func() {
		var o outcome[T]
		defer func() {
			o.panicked = recover()
			over <- o
		}()
		o.value, o.err = run()
	}()
	return over
}

// get returns the outcome to the goroutine that waited for it.
func (o outcome[T]) get() (T, error) {
	if o.panicked != nil {
		panic(o.panicked)
	}
	return o.value, o.err
}
