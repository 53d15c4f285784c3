package authtest_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/mcpbelt/mcpbelt/auth/authtest"
)

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
	response, err := server.Client().PostForm(server.URL(authtest.TokenEndpoint), url.Values{
		"grant_type": {"client_credentials"}, "client_id": {"robot"}, "client_secret": {"secret"}, "resource": {resource.URL},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	response.Body.Close()

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
		Device:  &authtest.DeviceOptions{},
		Clients: []authtest.Client{{ID: "tv"}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer server.Close()
	const resource = "https://mcp.example.com/mcp"
	response, err := server.Client().PostForm(server.URL(authtest.DeviceEndpoint), url.Values{"client_id": {"tv"}, "resource": {resource}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer response.Body.Close()
	var begun struct {
		DeviceCode string `json:"device_code"`
		UserCode   string `json:"user_code"`
	}
	if err := json.NewDecoder(response.Body).Decode(&begun); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(server.ApproveDevice(begun.UserCode))
	poll, err := server.Client().PostForm(server.URL(authtest.TokenEndpoint), url.Values{
		"grant_type":  {"urn:ietf:params:oauth:grant-type:device_code"},
		"device_code": {begun.DeviceCode}, "client_id": {"tv"}, "resource": {resource},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer poll.Body.Close()
	fmt.Println(poll.Status)
	// Output:
	// <nil>
	// 200 OK
}
