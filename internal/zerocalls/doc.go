// Package zerocalls calls every exported function and method of the core module
// with nil, zero and empty arguments, on nil, zero and well-made receivers. It has
// tests only.
//
// A call may panic in the goroutine of its caller, in words of ours or, on a
// receiver that is nil or zero, because of that. None may end the process, or hang.
package zerocalls
