package rest_test

import (
	"fmt"

	"github.com/mcpbelt/mcpbelt/registry/rest"
)

func ExampleParse() {
	apis, err := rest.Parse([]byte(`{
		"apis": [
			{
				"name": "shop",
				"baseUrl": "https://api.shop.example/v1",
				"auth": {"type": "bearer", "value": "${SHOP_TOKEN}"},
				"endpoints": [
					{"name": "get_order", "path": "/orders/{id}", "params": [{"name": "id", "in": "path"}]},
				],
			},
		],
	}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(apis[0].Name, apis[0].Endpoints[0].Name, apis[0].Secrets())

	_, err = rest.Parse([]byte(`{
		"apis": [
			{"name": "shop", "baseUrl": "https://api.shop.example/v1", "endpoints": []},
			{"name": "stock", "base_url": "https://stock.example", "endpoints": []},
		],
	}`))
	fmt.Println(err) // and none of them is read
	// Output:
	// shop get_order [SHOP_TOKEN]
	// rest: apis:4:22: apis[1].base_url: there is no such key; write "baseUrl"
}

func ExampleExport() {
	data, left, _ := rest.Export(&rest.API{
		Name:    "shop",
		BaseURL: "https://api.shop.example/v1",
		Auth:    rest.Auth{Type: rest.Bearer, Value: "swordfish"},
	})
	fmt.Print(string(data))
	for _, p := range left {
		fmt.Println(p)
	}
	// Output:
	// {
	//   "apis": [
	//     {
	//       "name": "shop",
	//       "baseUrl": "https://api.shop.example/v1",
	//       "auth": {
	//         "type": "bearer",
	//         "value": "${SHOP_AUTH_VALUE}"
	//       },
	//       "endpoints": []
	//     }
	//   ]
	// }
	// API "shop": auth.value is ${SHOP_AUTH_VALUE} now
}
