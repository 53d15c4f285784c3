// Package cassette records what passes between a client and a server in a file, and plays
// it back without the server.
//
// A test of an agent does not need the servers that the agent uses, nor does a
// demonstration or the reproduction of a fault. [Record] wraps a transport; at the end
// [Recorder.Save] writes a file, without secrets and made to be read in a review. [Replay]
// plays the file back through an unchanged mcp.Client, without a process or a network:
//
//	weather, err := cassette.Replay("testdata/weather.json", nil)
//	if err != nil {
//		return err
//	}
//	c := mcp.NewClient("weather", weather, nil)
//
// A call that was not recorded fails with an [UnrecordedError], which shows how it
// differs from the nearest one that was.
//
// An agent that plays a file back gets what the file says: treat a file of others as a
// server of theirs.
package cassette
