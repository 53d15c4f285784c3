package openapi

import (
	"errors"

	"github.com/mcpbelt/mcpbelt/registry/rest"
)

// acceptable reports what package rest has against an endpoint, as it decides in the
// end.
func acceptable(api *rest.API, endpoint string) error {
	_, err := rest.New(api, nil)
	var refused *rest.APIError
	if !errors.As(err, &refused) {
		return err
	}
	// What is wrong with the API itself is no fault of the endpoint.
	for _, p := range refused.Problems {
		if p.Endpoint == endpoint {
			return errors.New(p.Field + " " + p.Text)
		}
	}
	return nil
}
