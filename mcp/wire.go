package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
)

// aside sends one request beside those of callers.
func (conn *connection) aside(ctx context.Context, method string, meta []byte) (result []byte, err error) {
	ctx, info := conn.shared.trace(ctx, &request{method: method})
	defer func() { info.end(result, err) }()
	var opts CallOptions
	info.departs(conn.describe, &opts)
	return conn.exchangeOn(ctx, method, fmt.Appendf(nil, `{"_meta":{%s}}`, bytes.TrimSuffix(meta, []byte(","))), &opts)
}

// exchangeOn exchanges one request on the data plane of a connection.
func (conn *connection) exchangeOn(ctx context.Context, method string, params json.RawMessage, opts *CallOptions) (json.RawMessage, error) {
	before := conn.login.Load()
	result, err := conn.wire.Call(ctx, method, params, opts)
	conn.heed(before, err)
	return result, err
}

// heed draws from the end of a request whether the user has to log in. Until they have,
// the connection stays: other requests may be on their way, and each later one finds
// out for itself whether it is let in. before is what was needed when the request was
// sent: an answer shows that it is needed no more.
func (conn *connection) heed(before *login, err error) {
	if err == nil && before == nil {
		return
	}
	if n := loginFor(err); n != nil && !needsRights(err) {
		conn.login.Store(n)
		conn.shared.notify(loginChanged)
	} else if before != nil && OutcomeOf(err) == Answered && conn.login.CompareAndSwap(before, nil) {
		conn.shared.notify(loginChanged)
	}
}
