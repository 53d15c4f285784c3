// Package transporttest has servers and faults for tests of transports, and of programs
// that use them. Package mcp/cassette records a server and plays it back.
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
//
// # Faults
//
// [Faulty] makes a recipe of package transport misbehave, as networks and servers
// do: requests are held back or refused, answers are cut off, doubled, preceded
// by garbage, or never come although the request was run. So a test can check how
// a program copes with it:
//
//	tr := transporttest.Faulty(t, server, transporttest.Fault{
//		Kind: transporttest.FaultDrop, Method: "tools/call", Nth: 1,
//	})
package transporttest
