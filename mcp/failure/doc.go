// Package failure says what kind of failure an error of a call or a connection is, so that
// a program can count, log or explain it without knowing the types of all errors.
//
//	switch failure.Of(err) {
//	case failure.Busy, failure.Unreachable:
//		// try again later
//	case failure.LoginRequired:
//		// show the login
//	}
package failure
