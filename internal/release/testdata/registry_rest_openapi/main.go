// Openapi makes a tool of a document, and calls it.
package main

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"

	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/rest"
	"github.com/mcpbelt/mcpbelt/registry/rest/openapi"
	"github.com/mcpbelt/mcpbelt/registry/result"
)

const library = `
openapi: 3.1.0
info: {title: Library, version: "1"}
paths:
  /books/{isbn}:
    get:
      operationId: getBook
      parameters:
        - {name: isbn, in: path, required: true, schema: {type: string}}
`

func main() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, r.Method, " ", r.URL.EscapedPath())
	}))
	defer server.Close()
	api, _, err := openapi.Parse([]byte(library), &openapi.Options{Name: "library", BaseURL: server.URL})
	if err != nil {
		log.Fatal(err)
	}
	service, err := rest.New(api, nil)
	if err != nil {
		log.Fatal(err)
	}
	tools := registry.New(nil)
	if _, err := service.Publish(tools); err != nil {
		log.Fatal(err)
	}
	res, err := tools.Call(context.Background(), "library__getBook", []byte(`{"isbn":"a/b"}`))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("ok", result.Text(res))
}

// Output: ok GET /books/a%2Fb
