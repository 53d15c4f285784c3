package rest

// A TokenSource says how to fetch a token before the first request. One fetch
// serves all requests that wait for it; the token is used until it expires, and a
// request that is answered with 401 is made once more with a new one.
type TokenSource struct {
	// URL is where the token comes from.
	URL string `json:"url"`
}
