package oidc

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"
)

const (
	// fetchWithin bounds how long an issuer may take, and a request may wait for it.
	fetchWithin = 5 * time.Second
	// fetchApart is how often the same is asked for: tokens that no one signed make no more requests.
	fetchApart = 2 * time.Second
	// maxDocument bounds what an issuer answers, in bytes.
	maxDocument = 1 << 20
)

// A fetcher reads the documents of issuers, and keeps the last of each that was good.
type fetcher struct {
	ctx    context.Context // ends all requests
	client *http.Client

	mu        sync.Mutex // guards the following
	documents map[string]*document
}

// A document is what an issuer has at one address.
type document struct {
	mu   sync.Mutex // guards the following, and is held while it is read
	data []byte     // the last good one
	at   time.Time  // when it was tried last
	err  error      // of the last try
}

func newFetcher(ctx context.Context, client *http.Client) *fetcher {
	if client == nil {
		client = &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	}
	return &fetcher{ctx: ctx, client: client, documents: map[string]*document{}}
}

// document returns the document at an address, of which there are few.
func (f *fetcher) document(address string) *document {
	f.mu.Lock()
	defer f.mu.Unlock()
	d := f.documents[address]
	if d == nil {
		d = &document{}
		f.documents[address] = d
	}
	return d
}

// get returns the document at an address. Data may be there with an error: those of an earlier time.
func (f *fetcher) get(ctx context.Context, address string) ([]byte, error) {
	d := f.document(address)
	d.mu.Lock()
	defer d.mu.Unlock()
	if time.Since(d.at) < fetchApart {
		return d.data, d.err
	}
	by := time.Now().Add(fetchWithin)
	if deadline, ok := ctx.Deadline(); ok && deadline.Before(by) {
		by = deadline
	}
	data, err := f.read(address, by)
	if d.at, d.err = time.Now(), err; err == nil {
		d.data = data
	}
	return d.data, err
}

// failure returns why the last try to read a document failed; nil if it did not.
func (f *fetcher) failure(address string) error {
	d := f.document(address)
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.err
}

// read makes a request. It does not end with that of a caller who goes away, since others wait for it too.
func (f *fetcher) read(address string, by time.Time) ([]byte, error) {
	ctx, cancel := context.WithDeadline(f.ctx, by)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Accept", "application/json")
	resp, err := f.client.Do(r)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: status %d", address, resp.StatusCode)
	}
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxDocument+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: %w", address, err)
	case len(data) > maxDocument:
		return nil, fmt.Errorf("%s: more than %d bytes", address, maxDocument)
	}
	return data, nil
}

// cached returns a client whose answers are the documents, as far as there are any.
func (f *fetcher) cached() *http.Client { return &http.Client{Transport: cachedTransport{f}} }

type cachedTransport struct{ *fetcher }

// RoundTrip implements [http.RoundTripper].
func (t cachedTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	data, err := t.get(r.Context(), r.URL.String())
	if data == nil {
		return nil, err
	}
	return &http.Response{
		StatusCode: http.StatusOK, Status: "200 OK", Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(bytes.NewReader(data)), ContentLength: int64(len(data)), Request: r,
	}, nil
}
