package mcp_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/mcp/mcptest"
)

// cacheables are what can be kept: results with a number in them and further members, and
// how to ask for them.
var cacheables = []struct {
	method, result string
	ask            func(ctx context.Context, c *mcp.Client) (string, error)
}{
	{"tools/list", `{"tools":[{"name":"%d","inputSchema":{"type":"object"}}]%s}`, func(ctx context.Context, c *mcp.Client) (string, error) {
		tools, err := c.Tools(ctx)
		return names(tools), err
	}},
	{"resources/read", `{"contents":[{"uri":"a:x","text":"%d"}]%s}`, func(ctx context.Context, c *mcp.Client) (string, error) { return read(ctx, c, "a:x", nil) }},
}

func read(ctx context.Context, c *mcp.Client, uri string, opts *mcp.RequestOptions) (string, error) {
	res, err := c.ReadResource(ctx, uri, opts)
	if err != nil {
		return "", err
	}
	return res.Contents[0].Text, nil
}

// counting answers all cacheable requests with the number of the answer.
func counting(more string) mcptest.Script {
	script := mcptest.Script{}
	for _, kind := range cacheables {
		script[kind.method] = func(c *mcptest.Call) { c.Result(fmt.Sprintf(kind.result, c.Number, more)) }
	}
	return script
}

// eachCacheable runs a test for each method in a bubble; want asks and compares.
func eachCacheable(t *testing.T, test func(t *testing.T, method string, want func(t *testing.T, c *mcp.Client, n int))) {
	for _, kind := range cacheables {
		runInBubble(t, kind.method, func(t *testing.T) {
			test(t, kind.method, func(t *testing.T, c *mcp.Client, n int) {
				t.Helper()
				assert.Equal(t, assert.Value(kind.ask(t.Context(), c))(t), fmt.Sprint(n))
			})
		})
	}
}

func wantRead(t *testing.T, c *mcp.Client, uri, want string) {
	t.Helper()
	assert.Equal(t, assert.Value(read(t.Context(), c, uri, nil))(t), want, "%s", uri)
}

func TestCacheTTL(t *testing.T) {
	for _, p := range planes() {
		for _, capabilities := range []string{quiet, allFeatures} {
			eachCacheable(t, func(t *testing.T, method string, want func(*testing.T, *mcp.Client, int)) {
				server := mcptest.NewServer(t, mcptest.Handshake(mcp.Revision20260728, capabilities), counting(`,"ttlMs":1500,"cacheScope":"public"`))
				c := newReady(t, p.to(server), nil)
				want(t, c, 1)
				pass(1500*time.Millisecond - time.Nanosecond)
				want(t, c, 1)
				pass(time.Nanosecond)
				want(t, c, 2)
				want(t, c, 2)
				wantCount(t, server, method, 2)
			})
		}
	}
}

// What says nothing of its time, or nonsense, is stale at once; only the tools
// of a server that announces changes are good until it does.
func TestCacheStale(t *testing.T) {
	for _, hint := range []string{"", `,"ttlMs":0`, `,"ttlMs":-5`, `,"ttlMs":"1000"`, `,"ttlMs":null`, `,"TTLMS":1000`} {
		eachCacheable(t, func(t *testing.T, method string, want func(*testing.T, *mcp.Client, int)) {
			c := newClient(t, mcptest.NewServer(t, mcptest.Handshake(mcp.Revision20260728, quiet), counting(hint+`,"cacheScope":"public"`)), nil)
			want(t, c, 1)
			want(t, c, 2)
			want(t, c, 3)
			explicit := hint == `,"ttlMs":0` || hint == `,"ttlMs":-5`
			c = newClient(t, featured(t, mcp.Revision20260728, counting(hint)), nil)
			want(t, c, 1)
			if method == "tools/list" && !explicit {
				want(t, c, 1)
			} else {
				want(t, c, 2)
			}
		})
	}
}

func TestCacheLongTTL(t *testing.T) {
	for _, ttl := range []string{"86400001", "1e300", "9223372036854775808", "1e999"} {
		eachCacheable(t, func(t *testing.T, _ string, want func(*testing.T, *mcp.Client, int)) {
			c := newClient(t, mcptest.NewServer(t, mcptest.Handshake(mcp.Revision20260728, quiet), counting(`,"ttlMs":`+ttl)), &mcp.ClientOptions{HealthInterval: -1})
			want(t, c, 1)
			pass(24*time.Hour - time.Nanosecond)
			want(t, c, 1)
			pass(time.Nanosecond)
			want(t, c, 2)
		})
	}
}

// Older revisions know no such hints.
func TestCacheLegacy(t *testing.T) {
	eachCacheable(t, func(t *testing.T, method string, want func(*testing.T, *mcp.Client, int)) {
		c := newClient(t, mcptest.NewServer(t, mcptest.Handshake(mcp.Revision20251125, quiet), counting(`,"ttlMs":1500,"cacheScope":"public"`)), nil)
		want(t, c, 1)
		if method == "tools/list" {
			want(t, c, 1)
			pass(time.Hour)
			want(t, c, 1)
			return
		}
		want(t, c, 2)
	})
}

// Announcements count at once, whatever the time that was given.
func TestCacheForgets(t *testing.T) {
	announcements := map[string]string{
		"tools/list": "tools/list_changed", "prompts/list": "prompts/list_changed", "resources/list": "resources/list_changed",
		"resources/read": "resources/updated",
	}
	for _, p := range planes() {
		eachCacheable(t, func(t *testing.T, method string, want func(*testing.T, *mcp.Client, int)) {
			server := featured(t, mcp.Revision20260728, counting(`,"ttlMs":60000,"cacheScope":"public"`))
			c := newClient(t, p.to(server), nil)
			want(t, c, 1)
			for _, name := range announcements {
				if name != announcements[method] {
					server.Notify("notifications/"+name, `{"uri":"a:y"}`)
				}
			}
			synctest.Wait()
			want(t, c, 1)
			server.Notify("notifications/"+announcements[method], `{"uri":"a:x"}`)
			synctest.Wait()
			want(t, c, 2)
		})
	}
}

// What was asked for before an announcement is not kept.
func TestCacheForgetsUnderWay(t *testing.T) {
	changed := func(notification, params, result string) mcptest.Handler {
		return func(c *mcptest.Call) {
			if c.Number == 1 {
				c.Notify(notification, params)
			}
			c.Result(fmt.Sprintf(result, c.Number))
		}
	}
	synctest.Test(t, func(t *testing.T) {
		c := newClient(t, featured(t, mcp.Revision20260728, mcptest.Script{
			"resources/read": changed("notifications/resources/updated", `{"uri":"a:x/part"}`, `{"contents":[{"uri":"a:x","text":"%d"}],"ttlMs":60000}`),
		}), nil)
		for _, want := range []string{"1", "2", "2"} {
			wantRead(t, c, "a:x", want)
		}
	})
}

// A change of a part is one of the whole.
func TestCacheForgetsWhole(t *testing.T) {
	for changed, want := range map[string]string{"f://a/b": "2", "f://a/b/c": "2", "f://a/b/c/d": "2", "f://a": "1", "f://a/bc": "1", "g://x": "1"} {
		runInBubble(t, changed, func(t *testing.T) {
			server, c := withClient(t, featured(t, mcp.Revision20260728, counting(`,"ttlMs":60000`)), nil)
			wantRead(t, c, "f://a/b", "1")
			updated(server, changed)
			synctest.Wait()
			wantRead(t, c, "f://a/b", want)
		})
	}
}

func TestCacheFresh(t *testing.T) {
	c := newClient(t, featured(t, mcp.Revision20260728, counting(`,"ttlMs":60000`)), nil)
	for i, test := range []struct {
		uri   string
		fresh bool
		want  string
	}{{"a", false, "1"}, {"a", false, "1"}, {"b", false, "2"}, {"a", false, "1"}, {"a", true, "3"}, {"a", false, "3"}, {"b", false, "2"}} {
		assert.Equal(t, assert.Value(read(t.Context(), c, test.uri, &mcp.RequestOptions{Fresh: test.fresh}))(t), test.want, "%d", i)
	}
}

// What needed an answer of the user's is for this call alone, and so is an error
// and an answer that is none.
func TestCacheKeepsNoOther(t *testing.T) {
	good := func(n int) mcptest.Handler {
		return mcptest.Result(fmt.Sprintf(`{"contents":[{"uri":"a","text":"%d"}],"ttlMs":60000,"cacheScope":"public"}`, n))
	}
	c := newClient(t, featured(t, mcp.Revision20260728, mcptest.Script{"resources/read": mcptest.Sequence(
		needs(`{"q":`+inputRequest+`}`, `"s"`), good(1),
		mcptest.Error(-32603, "busy"),
		mcptest.Result(`{"contents":[{"text":"no uri"}],"ttlMs":60000}`),
		good(2), good(3),
	)}), &mcp.ClientOptions{Elicit: annAnswers})
	for i, want := range []string{"1", "", "", "2", "2"} {
		got, err := read(t.Context(), c, "a", nil)
		assert.Equal(t, [...]any{got, err == nil}, [...]any{want, want != ""}, "%d", i)
	}
}

// An answer that came later takes the place of a kept one, also if it must not
// be kept itself.
func TestCacheLastAnswerCounts(t *testing.T) {
	answer := func(n int, hint string) mcptest.Handler {
		return mcptest.Result(fmt.Sprintf(`{"contents":[{"uri":"a","text":"%d"}]%s}`, n, hint))
	}
	c := newClient(t, featured(t, mcp.Revision20260728, mcptest.Script{"resources/read": mcptest.Sequence(
		answer(1, `,"ttlMs":60000,"cacheScope":"public"`), answer(2, `,"ttlMs":0`), answer(3, `,"ttlMs":60000`), answer(4, ""))}), nil)
	for i, want := range []string{"1", "2", "3", "3"} {
		assert.Equal(t, assert.Value(read(t.Context(), c, "a", &mcp.RequestOptions{Fresh: i == 1}))(t), want, "%d", i)
	}
}

// What callers do with what they get does not reach other callers.
func TestCacheGivesCopies(t *testing.T) {
	server, c := withClient(t, featured(t, mcp.Revision20260728, mcptest.Script{
		"resources/read": mcptest.Result(`{"contents":[{"uri":"a","blob":"AAE="}],"ttlMs":60000,"_meta":{"k":"v"}}`),
	}), nil)
	for range 3 {
		res := assert.Value(c.ReadResource(t.Context(), "a", nil))(t)
		assert.Equal(t, [...]any{res.Contents[0].Blob[0], res.Meta["k"], res.TTLMs}, [...]any{byte(0), "v", 60000})
		res.Contents[0].Blob[0], res.Contents[0].URI, res.Meta["k"] = 9, "b", "w"
	}
	wantCount(t, server, "resources/read", 1)
}

// A new connection may be that of another user.
func TestCacheForgetsWithConnection(t *testing.T) {
	eachCacheable(t, func(t *testing.T, _ string, want func(*testing.T, *mcp.Client, int)) {
		c := newClient(t, featured(t, mcp.Revision20260728, counting(`,"ttlMs":60000`)), nil)
		want(t, c, 1)
		assert.OK(t, c.Reconnect(t.Context()))
		want(t, c, 2)
	})
}

// What is larger than the cache stays out, and what does not fit beside the rest clears it.
func TestCacheBounded(t *testing.T) {
	long := strings.Repeat("x", 2500<<10)
	server := featured(t, mcp.Revision20260728, mcptest.Script{"resources/read": func(c *mcptest.Call) {
		more := map[string]string{`"large"`: long, `"b"`: long, `"huge"`: long + long}[memberOf(t, c.Params, "uri")]
		c.Result(fmt.Sprintf(`{"contents":[{"uri":"a","text":"%d"}],"ttlMs":60000,"more":"%s"}`, c.Number, more))
	}})
	c := newClient(t, server, nil)
	for _, read := range []string{"huge 1", "huge 2", "large 3", "a 4", "large 3", "a 4", "b 5", "b 5", "a 6", "large 7"} {
		uri, want, _ := strings.Cut(read, " ")
		wantRead(t, c, uri, want)
	}
}

// What was read before the server agreed to announce changes may be old by then.
func TestCacheForgetsWhenFollowed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClient(t, announcer(t, mcp.Revision20260728, counting(`,"ttlMs":60000`)), nil)
		wantRead(t, c, "a:x", "1")
		wantRead(t, c, "a:x", "1")
		f := follow(t, c, "a:x")
		f.want(t, "a:x")
		wantRead(t, c, "a:x", "2")
		wantRead(t, c, "a:x", "2")
		f.stop()
		f.want(t, "end")
	})
}

// What was asked with metadata of the caller's is not what is asked without.
func TestCacheMeta(t *testing.T) {
	server, c := withClient(t, featured(t, mcp.Revision20260728, counting(`,"ttlMs":60000`)), nil)
	special := &mcp.RequestOptions{Meta: mcp.Meta{"com.example/tenant": "a"}}
	for i, opts := range []*mcp.RequestOptions{special, nil, special, nil} {
		assert.Value(c.ReadResource(t.Context(), "a:a", opts))(t)
		wantCount(t, server, "resources/read", []int{1, 2, 3, 3}[i])
	}
}
