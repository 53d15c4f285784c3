package main

import (
	"context"
	"os"
	"testing"
	"time"
)

// dialTest connects a peer to a neutral server of its own.
func dialTest(t *testing.T, peer, link string) session {
	t.Helper()
	c, err := newClient(peer, 2)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	c.server.Tools = toolCount
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(stop)
	s, err := c.session(ctx, link)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestPeersGetRightAnswers(t *testing.T) {
	for _, peer := range peers() {
		for _, link := range []string{linkStdio, linkRegistry, linkHTTP, linkSSE, linkListen} {
			if d, err := dialerOf(peer); err != nil || link == linkRegistry && d.registry == nil {
				continue
			}
			t.Run(peer+"/"+link, func(t *testing.T) {
				ctx, stop := context.WithTimeout(t.Context(), time.Minute)
				defer stop()
				s := dialTest(t, peer, link)
				small, long := echo(7), big()
				for range 3 {
					if err := s.Call(ctx, &small); err != nil {
						t.Error(err)
					}
					if err := s.Call(ctx, &long); err != nil {
						t.Error(err)
					}
				}
				n, err := callFor(ctx, s, work{callers: manyCallers}, 0)
				if err != nil || n < manyCallers {
					t.Errorf("%d callers: %d answers, %v", manyCallers, n, err)
				}
				if n, err := s.List(ctx); err != nil || n != toolCount {
					t.Errorf("%d tools, %v; want %d", n, err, toolCount)
				}
			})
		}
	}
}

// TestPeersSeeWrongAnswers gives each peer a call whose answer cannot be right.
func TestPeersSeeWrongAnswers(t *testing.T) {
	for _, peer := range peers() {
		t.Run(peer, func(t *testing.T) {
			ctx, stop := context.WithTimeout(t.Context(), time.Minute)
			defer stop()
			s := dialTest(t, peer, linkStdio)
			other, long := echo(1), big()
			other.text = echo(2).text
			if err := s.Call(ctx, &other); err == nil {
				t.Error("the answer of another caller passed")
			}
			long.size *= 2
			if err := s.Call(ctx, &long); err == nil {
				t.Error("half an answer passed")
			}
		})
	}
}

func TestDialersReportFailure(t *testing.T) {
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, peer := range peers()[1:] { // the floor shakes no hands
		t.Run(peer, func(t *testing.T) {
			ctx, stop := context.WithTimeout(t.Context(), time.Minute)
			defer stop()
			d, err := dialerOf(peer)
			if err != nil {
				t.Fatal(err)
			}
			if s, err := d.stdio(ctx, program, []string{roleServer, "nothing"}); err == nil {
				_ = s.Close()
				t.Error("connected to a server that does not start")
			}
		})
	}
	if _, err := dialerOf("nobody"); err == nil {
		t.Error("a peer that does not exist was found")
	}
}
