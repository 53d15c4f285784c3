// Package session keeps the logins of users at MCP servers: it gets them, renews
// them before they end, and keeps them in a store that several processes can
// share.
package session
