package mcp

// defaultCacheBytes bounds a client's own cache.
const defaultCacheBytes = 4 << 20

// A Cache keeps answers for as long as their servers allow.
type Cache struct{}

// NewCache returns a cache that holds at most the given number of bytes.
func NewCache(bytes int64) *Cache { return &Cache{} }

// forgetLists makes lists be read again.
func (c *Client) forgetLists(kinds listKinds) {}

// forgetResource makes a resource be read again.
func (c *Client) forgetResource(uri string) {}
