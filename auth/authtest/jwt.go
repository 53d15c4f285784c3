package authtest

import (
	"context"
	"crypto"
	"encoding/json"
	"errors"
	"net/url"
)

const authJWT = "private_key_jwt"

func parseJWKS(data json.RawMessage) ([]crypto.PublicKey, error) {
	return nil, errors.New("not supported yet")
}

func (s *Server) authenticateJWT(ctx context.Context, form url.Values) (*client, error) {
	return nil, refusef("invalid_client", "not supported yet")
}
