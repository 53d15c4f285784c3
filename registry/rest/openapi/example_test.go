package openapi_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"

	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/rest"
	"github.com/mcpbelt/mcpbelt/registry/rest/openapi"
)

const library = `
openapi: 3.1.0
info: {title: Library, version: "1"}
components:
  securitySchemes: {card: {type: apiKey, in: header, name: X-Card}}
security: [{card: []}]
paths:
  /books/{isbn}:
    get:
      operationId: getBook
      summary: Get a book
      parameters:
        - {name: isbn, in: path, required: true, schema: {type: string}}
    put:
      operationId: putCover
      parameters:
        - {name: isbn, in: path, required: true, schema: {type: string}}
      requestBody: {required: true, content: {image/png: {}}}
`

func ExampleParse() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "%s %s with card %s", r.Method, r.URL.EscapedPath(), r.Header.Get("X-Card"))
	}))
	defer server.Close()

	api, problems, err := openapi.Parse([]byte(library), &openapi.Options{Name: "library", BaseURL: server.URL})
	if err != nil {
		log.Fatal(err)
	}
	for _, p := range problems {
		fmt.Println(p)
	}
	fmt.Println(api.Secrets())

	service, err := rest.New(api, &rest.Options{
		Secrets: func(context.Context, string) (string, error) { return "card-no-12345", nil },
	})
	if err != nil {
		log.Fatal(err)
	}
	tools := registry.New(nil)
	_, _ = service.Publish(tools)
	res, _ := tools.Call(context.Background(), "library__getBook", []byte(`{"isbn":"a/b"}`))
	fmt.Println(res.Content[0].(*mcp.TextContent).Text)
	// Output:
	// PUT /books/{isbn}: #/paths/~1books~1{isbn}/put/requestBody: operation left out: it is none of JSON, form, multipart and text, and only these can be written
	// [REST_LIBRARY___CARD]
	// GET /books/a%2Fb with card [redacted]
}
