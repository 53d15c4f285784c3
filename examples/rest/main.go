// Rest makes tools of an OpenAPI document, the Swagger Petstore, beside a tool of its
// own, and calls some of each.
//
//	cd examples/rest && go run .
//
// The petstore is a server in this program, whose routes come from the same document.
// The program needs nothing but Go.
package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/rest"
	"github.com/mcpbelt/mcpbelt/registry/rest/openapi"
)

//go:embed testdata/petstore.json
var document []byte

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "rest:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	defer func() { _ = listener.Close() }()

	// The document becomes an API, which is data: print it, change it, keep it in a
	// file.
	api, problems, err := openapi.Parse(document, &openapi.Options{
		Name:     "petstore",
		BaseURL:  "http://" + listener.Addr().String(), // that of the document is relative
		Security: []string{"petstore_auth", "api_key"}, // some operations need one, some the other
		Include:  func(op *openapi.Operation) bool { return !slices.Contains(op.Tags, "user") },
	})
	if err != nil {
		return err
	}
	fmt.Printf("%d endpoints, and what could not be taken over:\n", len(api.Endpoints))
	for _, p := range problems {
		fmt.Println("  ", p)
	}

	store := &http.Server{Handler: newStore(api), ReadHeaderTimeout: time.Second}
	defer func() { _ = store.Close() }()
	go func() { _ = store.Serve(listener) }()

	// The API has names of secrets only. They are asked for when a request is made:
	// here could be one for each user.
	fmt.Println("\nsecrets:", api.Secrets())
	service, err := rest.New(api, &rest.Options{Secrets: secret})
	if err != nil {
		return err
	}
	tools := registry.New(nil)
	if _, err := service.Publish(tools); err != nil {
		return err
	}
	if err := tools.Add(registry.MustFunc("total", "Add up numbers", total)); err != nil {
		return err
	}
	fmt.Println("\ntools:")
	for _, t := range tools.Snapshot().Tools() {
		fmt.Println("  ", t.Definition().Name)
	}

	fmt.Println("\ncalls:")
	for _, call := range []struct{ tool, args string }{
		{"petstore__addPet", `{"name":"Rex","photoUrls":[],"status":"available","tags":[{"name":"a/b & c"}]}`},
		{"petstore__addPet", `{"name":"Mimi","photoUrls":[],"status":"sold"}`},
		{"petstore__getPetById", `{"petId":1}`},
		{"petstore__findPetsByStatus", `{"status":"sold"}`},
		{"petstore__getPetById", `{"petId":99}`},
		{"petstore__findPetsByStatus", `{"status":"lost"}`},
		{"total", `{"numbers":[1,1]}`},
	} {
		show(ctx, tools, call.tool, call.args)
	}
	return nil
}

// secret gives the secrets of the store. Without it they come from the environment.
func secret(_ context.Context, name string) (string, error) {
	switch name {
	case "REST_PETSTORE___API_KEY":
		return storeKey, nil
	case "REST_PETSTORE___PETSTORE_AUTH":
		return storeToken, nil
	}
	return "", rest.ErrNotSet
}

type numbers struct {
	Numbers []float64 `json:"numbers"`
}

func total(_ context.Context, in numbers) (float64, error) {
	sum := 0.0
	for _, n := range in.Numbers {
		sum += n
	}
	return sum, nil
}

// show calls a tool and prints what a model would read.
func show(ctx context.Context, tools *registry.Registry, tool, args string) {
	res, err := tools.Call(ctx, tool, json.RawMessage(args))
	if err != nil {
		// The call was not made, or its outcome is unknown. A model reads
		// that, too.
		res = registry.ErrorResult(err)
	}
	outcome := "ok"
	if res.IsError {
		outcome = "error"
	}
	fmt.Printf("  %s %s\n    %s: ", tool, args, outcome)
	fmt.Println(strings.ReplaceAll(strings.TrimSpace(res.Text()), "\n", "\n    "))
}
