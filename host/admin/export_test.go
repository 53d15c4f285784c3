package admin

import (
	"context"
	"net/http"
	"reflect"
)

// A Route is what tests know of a route.
type Route struct {
	Method, Path      string
	Role              Role
	In                bool // it takes a body
	Stream, Enveloped bool
	Out               reflect.Type
}

// Routes returns the routes of a handler.
func Routes(h http.Handler) []Route {
	var all []Route
	for _, r := range h.(*admin).routes() {
		all = append(all, Route{r.method, r.path, r.role, r.in != nil, r.stream != nil, isEnveloped(r.path), r.out})
	}
	return all
}

// Listens reports whether there is room for a listener of an owner.
func (f *Feed) Listens(owner string) bool {
	l, _, _ := f.listen(context.Background(), "", owner)
	return l != nil
}

// MaxListeners bounds the listeners of a feed.
const MaxListeners = maxListeners
