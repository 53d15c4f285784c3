// Package nils finds interfaces that hold nothing.
package nils

import "reflect"

// Is reports whether an interface is nil or holds a nil pointer or function.
func Is(v any) bool {
	r := reflect.ValueOf(v)
	switch r.Kind() {
	case reflect.Invalid:
		return true
	case reflect.Pointer, reflect.Func:
		return r.IsNil()
	}
	return false
}
