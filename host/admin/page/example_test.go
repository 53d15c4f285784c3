package page_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/mcpbelt/mcpbelt/host/admin/page"
	"github.com/mcpbelt/mcpbelt/host/apps"
)

func ExampleNew() {
	var api http.Handler = http.NotFoundHandler() // that of admin.Handler
	p, err := page.New(api)
	if err != nil {
		fmt.Println(err)
		return
	}
	mux := http.NewServeMux()
	mux.Handle("/admin/", p)
	mux.Handle("/api/v1/", p)

	w := httptest.NewRecorder()
	mux.ServeHTTP(w, httptest.NewRequest("GET", "/admin/servers", nil))
	fmt.Println(w.Code, w.Header().Get("Content-Type"))
	// Output: 200 text/html; charset=utf-8
}

func serveAdminPage(api http.Handler, secret string) error {
	p, err := page.New(api)
	if err != nil {
		return err
	}
	http.Handle("/admin/", p)
	http.Handle("/api/v1/", p)
	fmt.Println("http://localhost:8081" + p.Link(secret))
	return http.ListenAndServe("localhost:8081", nil)
}

// A page whose link signs in without asking.
func ExamplePage_Link() {
	if err := serveAdminPage(http.NotFoundHandler(), "the secret of a key"); err != nil {
		fmt.Println(err)
	}
}

// A page that shows the apps of tools that are tried: those that its API has, too.
func ExamplePage_ShowApps() {
	var shows *apps.Apps // of apps.New, as in admin.Options
	p, err := page.New(http.NotFoundHandler())
	if err == nil {
		p.ShowApps(shows)
	}
	fmt.Println(err)
	// Output: <nil>
}
