package rest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"

	"github.com/mcpbelt/mcpbelt/internal/jsonc"
)

// Parse reads APIs from JSON, with comments and trailing commas if people like:
//
//	{
//	  "apis": [
//	    {
//	      "name": "shop",
//	      "baseUrl": "https://api.shop.example/v1",
//	      "auth": {"type": "bearer", "value": "${SHOP_TOKEN}"},
//	      "endpoints": [
//	        {"name": "get_order", "path": "/orders/{id}", "params": [{"name": "id", "in": "path"}]},
//	      ],
//	    },
//	  ],
//	}
//
// The keys are those of [API], [Endpoint] and so on. It is all or nothing: a key that
// is not known or comes twice, a value of another type, two APIs of one name and what
// [New] would refuse of any API is an error, and then there are no APIs. Errors of several
// APIs are joined; they name the line that the API begins at, and show no text of it. Which
// addresses may be spoken to is not looked at, see [Network].
//
// An API says which secrets go where, see [API.Secrets]. Parse asks for none of them:
// a call does, and [Service.Health].
func Parse(data []byte) ([]*API, error) {
	doc, err := jsonc.Parse(data)
	if err != nil {
		return nil, fmt.Errorf("rest: %w", err)
	}
	list := doc.Root.Member("apis")
	if list == nil || list.Value.Kind != jsonc.Array || len(doc.Root.Members) > 1 {
		return nil, errors.New(`rest: the file has to be an object with one key, "apis", which is the list of the APIs`)
	}
	apis := make([]*API, len(list.Value.Elems))
	var errs []error
	names := map[string]bool{}
	for i := range list.Value.Elems {
		n := &list.Value.Elems[i]
		if apis[i], err = parseAPI(n.JSON()); err == nil && names[apis[i].Name] {
			err = &APIError{apis[i].Name, []Problem{{Field: "name", Text: "is that of another API, too"}}}
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("line %d, apis[%d]: %w", doc.Position(n.Offset).Line, i, err))
			continue
		}
		names[apis[i].Name] = true
	}
	if errs != nil {
		return nil, errors.Join(errs...)
	}
	return apis, nil
}

func parseAPI(data []byte) (*API, error) {
	api := new(API)
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	err := d.Decode(&api)
	var wrong *json.UnmarshalTypeError
	switch {
	case errors.As(err, &wrong): // whose text may hold the value
		return nil, fmt.Errorf("rest: %s: a value is not a %s", wrong.Field, wrong.Type)
	case err != nil:
		return nil, fmt.Errorf("rest: %w", err)
	case api == nil:
		return nil, errors.New("rest: null is no API")
	}
	return api, checkAPI(api)
}

// checkAPI refuses what New refuses, wherever the API may be.
func checkAPI(api *API) error {
	s, err := New(api, &Options{Network: Network{AllowHTTP: true, Allow: []netip.Prefix{
		netip.PrefixFrom(netip.IPv4Unspecified(), 0), netip.PrefixFrom(netip.IPv6Unspecified(), 0),
	}}})
	if err != nil {
		return err
	}
	return s.Close()
}
