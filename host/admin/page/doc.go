// Package page serves the page on which administrators manage the servers of a host in a browser.
//
//	api, err := admin.Handler(manager, &admin.Options{Authenticate: keys.Authenticate})
//	if err != nil {
//		return err
//	}
//	p, err := page.New(api)
//	if err != nil {
//		return err
//	}
//	http.Handle("/admin/", p)
//	http.Handle("/api/v1/", p)
//
// The page is one document and a few scripts and styles, all embedded in the program: it loads
// nothing from elsewhere, and a Content-Security-Policy sees to that.
//
// # Signing in
//
// People sign in with a credential that the API takes as a bearer token, such as an API key. The
// page posts it once. The handler tries it at the API, keeps it in memory, and gives the browser
// the random ID of a session in a cookie that no script can read, and the tab a second random value,
// which its scripts send with each request. Requests to the API that come with both, and with no
// credential of their own, get the credential: the API decides each of them, so a key that is
// revoked ends what its sessions may do. A session ends after an hour without a request, and 12
// hours after someone has signed in, in any case.
//
// A browser sends the cookie to all ports of a host, where others may listen. What the tab has goes
// to the page only, and no other tab has it: there people sign in again.
package page
