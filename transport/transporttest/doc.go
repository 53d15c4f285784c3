// Package transporttest has servers for tests of transports, and of programs that use
// them. Package mcp/cassette records a server and plays it back.
//
// # Testing a transport of your own
//
// [TestTransport] checks that a recipe keeps the promises of mcp.Transport,
// mcp.Conn and mcp.Caller. It needs a way to reach the server that [NewServer]
// makes:
//
//	func TestMine(t *testing.T) {
//		transporttest.TestTransport(t, func(t *testing.T) transporttest.Recipe {
//			return transporttest.Recipe{Transport: &mine.Transport{...}}
//		})
//	}
//
// # Servers as child processes
//
// [Child] is a transport.Command that runs the test binary itself as a server
// which follows a script: one that answers, crashes, floods, hangs or leaves
// processes behind. TestMain must call [RunChild] first.
package transporttest
