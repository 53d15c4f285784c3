package authtest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/mcpbelt/mcpbelt/auth/authtest"
)

// A program without a human, and what it may do.
func ExampleNewServer() {
	t := &testing.T{} // your test has its own
	server := authtest.NewServer(t, &authtest.Options{
		Clients: []authtest.Client{{ID: "robot", Secret: "secret", AuthMethod: "client_secret_post"}},
	})
	defer server.Close()
	resource := server.NewMCP(nil)

	fmt.Println(post(server, authtest.TokenEndpoint, url.Values{
		"grant_type": {"client_credentials"}, "client_id": {"robot"}, "client_secret": {"secret"}, "resource": {resource.URL},
	}, nil))
	fmt.Println(server.Granted("client_credentials"), server.Families()[0].User)
	// Output:
	// 200 OK <nil>
	// 1 robot
}

// post sends a form and reads the answer.
func post(server *authtest.Server, e authtest.Endpoint, form url.Values, answer any) (status string, err error) {
	response, err := server.Client().PostForm(server.URL(e), form)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	if answer != nil {
		err = json.NewDecoder(response.Body).Decode(answer)
	}
	return response.Status, err
}

// The user agrees, and the browser is sent back.
func ExampleServer_Approve() {
	server, err := authtest.New(&authtest.Options{
		Clients: []authtest.Client{{ID: "app", RedirectURIs: []string{"http://127.0.0.1/callback"}}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer server.Close()
	login := server.URL(authtest.AuthorizationEndpoint) + "?" + url.Values{
		"response_type": {"code"}, "client_id": {"app"}, "redirect_uri": {"http://127.0.0.1/callback"},
		"code_challenge": {"E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"}, "code_challenge_method": {"S256"},
		"resource": {"https://mcp.example.com/mcp"}, "state": {"af0ifjsldkj"},
	}.Encode()
	callback, err := server.Approve(context.Background(), login)
	fmt.Println(err, strings.HasPrefix(callback, "http://127.0.0.1/callback?code="))
	callback, err = server.Deny(context.Background(), login)
	fmt.Println(err, strings.Contains(callback, "error=access_denied"))
	// Output:
	// <nil> true
	// <nil> true
}

// A handler of one's own, and a tool that needs more rights than others.
func ExampleServer_Protect() {
	server, err := authtest.New(nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer server.Close()
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintln(w, "hello,", r.Header.Get("Authtest-User"))
	})
	resource := server.Protect(handler, &authtest.ResourceOptions{
		ChallengeScopes: []string{"files:read"},
		ToolScopes:      map[string][]string{"delete": {"files:write"}},
	})
	response, err := server.Client().Get(resource.URL)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer response.Body.Close()
	fmt.Println(response.Status)
	// Output:
	// 401 Unauthorized
}

// The answer to a refresh is lost, after the refresh token was used up.
func ExampleServer_Fail() {
	server, err := authtest.New(nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer server.Close()
	server.Fail(authtest.TokenEndpoint, 1, authtest.Fault{Commit: true, Cut: true})
	_, err = post(server, authtest.TokenEndpoint, url.Values{"grant_type": {"refresh_token"}}, nil)
	fmt.Println(err != nil)
	// Output:
	// true
}

// A token expires before its time, and the resource says so.
func ExampleServer_ExpireAll() {
	server, err := authtest.New(&authtest.Options{
		Clients: []authtest.Client{{ID: "robot", Secret: "secret", AuthMethod: "client_secret_post"}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer server.Close()
	resource := server.NewMCP(nil)
	_, err = post(server, authtest.TokenEndpoint, url.Values{
		"grant_type": {"client_credentials"}, "client_id": {"robot"}, "client_secret": {"secret"}, "resource": {resource.URL},
	}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}

	call := func() int {
		r, err := http.NewRequest(http.MethodPost, resource.URL, strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"ping"}`))
		if err != nil {
			return 0
		}
		r.Header.Set("Authorization", "Bearer "+server.Families()[0].Access)
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		response, err := server.Client().Do(r)
		if err != nil {
			return 0
		}
		response.Body.Close()
		return response.StatusCode
	}
	fmt.Println(call())
	server.ExpireAll()
	fmt.Println(call())
	// Output:
	// 200
	// 401
}

// The user types a code on another device.
func ExampleServer_ApproveDevice() {
	server, err := authtest.New(&authtest.Options{
		Device:  time.Second,
		Clients: []authtest.Client{{ID: "tv"}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer server.Close()
	const resource = "https://mcp.example.com/mcp"
	var begun struct {
		DeviceCode string `json:"device_code"`
		UserCode   string `json:"user_code"`
	}
	_, err = post(server, authtest.DeviceEndpoint, url.Values{"client_id": {"tv"}, "resource": {resource}}, &begun)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(server.ApproveDevice(begun.UserCode))
	fmt.Println(post(server, authtest.TokenEndpoint, url.Values{
		"grant_type":  {"urn:ietf:params:oauth:grant-type:device_code"},
		"device_code": {begun.DeviceCode}, "client_id": {"tv"}, "resource": {resource},
	}, nil))
	// Output:
	// <nil>
	// 200 OK <nil>
}
