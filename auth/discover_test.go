package auth

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

func TestDiscover(t *testing.T) {
	server, as := newSite(t), newSite(t)
	server.put("/custom", jsonDoc(members{
		"resource": server.url + "/mcp", "authorization_servers": []string{as.url},
		"scopes_supported": []any{"a", "b", "a", "not one"}, "dpop_bound_access_tokens_required": true,
	}))
	as.put(rootAS, jsonDoc(authorityDoc(as.url, members{
		"registration_endpoint":                          as.url + "/register",
		"revocation_endpoint":                            as.url + "/revoke",
		"device_authorization_endpoint":                  as.url + "/device",
		"scopes_supported":                               []string{"a", "offline_access"},
		"grant_types_supported":                          []string{"authorization_code"},
		"token_endpoint_auth_methods_supported":          []string{"none"},
		"authorization_response_iss_parameter_supported": true,
		"client_id_metadata_document_supported":          true,
		"dpop_signing_alg_values_supported":              []string{"ES256"},
		"Issuer":                                         "https://other.example",
		"jwks_uri":                                       7,
	})))
	f := flowOf(t, &Config{URL: server.url + "/mcp?api_key=SECRET"})
	got := assert.Value(f.Discover(t.Context(), &DiscoverOptions{Challenges: challenge(server.url + "/custom")}))(t)
	want := &Authority{
		Resource: server.url + "/mcp", ResourceScopes: []string{"a", "b"}, DPoPRequired: true, HasMetadata: true,
		Issuer: as.url, AuthorizationEndpoint: as.url + "/authorize", TokenEndpoint: as.url + "/token",
		RegistrationEndpoint: as.url + "/register", RevocationEndpoint: as.url + "/revoke", DeviceEndpoint: as.url + "/device",
		Scopes: []string{"a", "offline_access"}, GrantTypes: []string{"authorization_code"}, AuthMethods: []string{"none"},
		PKCE: true, NamesIssuer: true, MetadataDocuments: true, DPoPAlgorithms: []string{"ES256"},
	}
	assert.Equal(t, reflect.DeepEqual(got, want), true, "authority is\n")
	server.wantAsked(t, "/custom")
	as.wantAsked(t, rootAS)
}

// Where the server's metadata is looked for.
func TestResourcePlaces(t *testing.T) {
	for _, test := range []struct {
		name     string
		path     string // of the server
		at       string // where its metadata is
		resource string // its path
		asked    []string
	}{
		{"path", "/mcp", pathPRM, "/mcp", []string{pathPRM}},
		{"root after path", "/mcp", rootPRM, "", []string{pathPRM, rootPRM}},
		{"resource above", "/a/b/mcp", rootPRM, "/a", []string{rootPRM + "/a/b/mcp", rootPRM}},
		{"server at the root", "", rootPRM, "", []string{rootPRM}},
		{"slash alone", "/", rootPRM, "/", []string{rootPRM}},
		{"slash at the end", "/mcp/", pathPRM, "/mcp", []string{pathPRM}},
		{"slash in the resource", "/mcp", pathPRM, "/mcp/", []string{pathPRM}},
		{"query stays behind", "/mcp?api_key=SECRET", pathPRM, "/mcp", []string{pathPRM}},
		{"fragment stays behind", "/mcp#x", pathPRM, "/mcp", []string{pathPRM}},
		{"escaped", "/a%2Fb", rootPRM, "", []string{rootPRM + "/a%2Fb", rootPRM}},
	} {
		t.Run(test.name, func(t *testing.T) {
			server, as := newSite(t), newSite(t)
			server.resource(test.at, server.url+test.resource, as.url)
			as.put(rootAS, jsonDoc(authorityDoc(as.url, nil)))
			a := assert.Value(flowOf(t, &Config{URL: server.url + test.path}).Discover(t.Context(), nil))(t)
			assert.Equal(t, [...]any{a.Resource, a.HasMetadata}, [...]any{server.url + test.resource, true}, "resource")
			server.wantAsked(t, test.asked...)
		})
	}
}

// Where an authorization server's metadata is looked for.
func TestAuthorityPlaces(t *testing.T) {
	for _, test := range []struct {
		name  string
		path  string // of the issuer
		at    string
		other http.HandlerFunc // at the other places
		asked []string
	}{
		{"root", "", rootAS, nil, []string{rootAS}},
		{"root, OpenID", "", rootOIC, nil, []string{rootAS, rootOIC}},
		{"root with a slash", "/", rootOIC, nil, []string{rootAS, rootOIC}},
		{"path", "/t/1", rootAS + "/t/1", nil, []string{rootAS + "/t/1"}},
		{"path, OpenID inserted", "/t", rootOIC + "/t", nil, []string{rootAS + "/t", rootOIC + "/t"}},
		{"path, OpenID appended", "/t", "/t" + rootOIC, nil, []string{rootAS + "/t", rootOIC + "/t", "/t" + rootOIC}},
		{"path with a slash", "/t/", "/t" + rootOIC, nil, []string{rootAS + "/t", rootOIC + "/t", "/t" + rootOIC}},
		{"after HTML", "/t", "/t" + rootOIC, html, []string{rootAS + "/t", rootOIC + "/t", "/t" + rootOIC}},
		{"after refusals", "/t", "/t" + rootOIC, status(403), []string{rootAS + "/t", rootOIC + "/t", "/t" + rootOIC}},
		{"after redirects", "/t", "/t" + rootOIC, elsewhere, []string{rootAS + "/t", rootOIC + "/t", "/t" + rootOIC}},
		{"after other JSON", "/t", "/t" + rootOIC, jsonDoc(members{"error": "not found"}), []string{rootAS + "/t", rootOIC + "/t", "/t" + rootOIC}},
		{"after a list", "", rootOIC, jsonDoc([]int{1}), []string{rootAS, rootOIC}},
	} {
		t.Run(test.name, func(t *testing.T) {
			server, as := newSite(t), newSite(t)
			server.resource(pathPRM, server.url+"/mcp", as.url+test.path)
			if test.other != nil {
				for _, p := range test.asked {
					as.put(p, test.other)
				}
			}
			as.put(test.at, jsonDoc(authorityDoc(as.url+test.path, nil)))
			a := assert.Value(flowOf(t, &Config{URL: server.url + "/mcp"}).Discover(t.Context(), nil))(t)
			assert.Equal(t, a.Issuer, as.url+test.path, "issuer")
			as.wantAsked(t, test.asked...)
		})
	}
}

// O7: metadata of another issuer than the one that was named.
func TestIssuerHasToBeIdentical(t *testing.T) {
	for _, test := range []struct{ name, named, says string }{
		{"slash too much", "", "/"},
		{"slash missing", "/", ""},
		{"path", "/t", "/T"},
		{"tenant", "/t", "/u"},
		{"missing", "", "-"},
	} {
		t.Run(test.name, func(t *testing.T) {
			server, as := newSite(t), newSite(t)
			server.resource(pathPRM, server.url+"/mcp", as.url+test.named)
			doc := authorityDoc(as.url+test.says, nil)
			if test.says == "-" {
				delete(doc, "issuer")
			}
			for _, p := range []string{rootAS, rootAS + "/t"} {
				as.put(p, jsonDoc(doc))
			}
			_, err := flowOf(t, &Config{URL: server.url + "/mcp"}).Discover(t.Context(), nil)
			e := wantAs[*IssuerMismatchError](t, err)
			assert.Equal(t, [...]any{e.What, e.Want}, [...]any{"metadata", as.url + test.named})
			assert.Equal(t, len(as.asked()), 1, "after the wrong issuer it asked on")
		})
	}
}

func TestResourceHasToBeTheServer(t *testing.T) {
	for _, resource := range []string{
		"", "https://other.example/mcp", "SERVER.evil.example/mcp", "SERVER/mc", "SERVER/mcp/deeper", "SERVER/other",
		"SERVER/mcp?x=SECRET", "SERVER/mcp#f", "SERVER/%6dcp/../x", "//HOST/mcp", "ftp://HOST/mcp", "http://u:SECRET@HOST/mcp", "SERVER:1/mcp", "::SECRET",
	} {
		t.Run(resource, func(t *testing.T) {
			server := newSite(t)
			resource := strings.NewReplacer("SERVER", server.url, "HOST", strings.TrimPrefix(server.url, "http://")).Replace(resource)
			server.resource(pathPRM, resource, server.url)
			server.resource(rootPRM, server.url, server.url) // which is not asked for
			_, err := flowOf(t, &Config{URL: server.url + "/mcp"}).Discover(t.Context(), nil)
			wantAs[*ResourceMismatchError](t, err)
			server.wantAsked(t, pathPRM)
		})
	}
}

func TestResourceInOtherForms(t *testing.T) {
	for _, test := range []struct{ server, resource string }{
		{"https://MCP.example/mcp", "https://mcp.example:443/mcp"},
		{"https://mcp.example:443", "HTTPS://mcp.EXAMPLE/"},
		{"https://mcp.example:8443/a/b", "https://mcp.example:8443/a"},
	} {
		f := flowOf(t, &Config{URL: test.server})
		assert.OK(t, f.checkResource(parsed(t, test.server), &resourceMetadata{resource: test.resource}), "%s", test.server)
	}
	for raw, want := range map[string]string{
		"https://MCP.example:443/":      "https://mcp.example",
		"HTTPS://mcp.example/Mcp":       "https://mcp.example/Mcp",
		"http://127.0.0.1:80/x/?k=v#f":  "http://127.0.0.1/x/",
		"https://mcp.example:8443/a%2F": "https://mcp.example:8443/a%2F",
	} {
		assert.Equal(t, canonicalResource(parsed(t, raw)), want, "the resource of %s", raw)
	}
}

// A challenge's address is the only one: no other is guessed when it fails.
func TestChallengesAddressFails(t *testing.T) {
	for name, h := range map[string]http.HandlerFunc{
		"absent": nil, "broken": status(500), "HTML": html, "other JSON": jsonDoc(members{"a": 1}), "list": jsonDoc([]int{}),
	} {
		t.Run(name, func(t *testing.T) {
			server := newSite(t)
			server.resource(pathPRM, server.url+"/mcp", server.url)
			server.put(rootAS, jsonDoc(authorityDoc(server.url, nil)))
			if h != nil {
				server.put("/custom", h)
			}
			_, err := flowOf(t, &Config{URL: server.url + "/mcp"}).Discover(t.Context(), &DiscoverOptions{Challenges: challenge(server.url + "/custom")})
			assert.Equal(t, wantAs[*DiscoveryError](t, err).Stage, resourceStage, "stage")
			wantAs[*RequestError](t, err)
			server.wantAsked(t, "/custom")
		})
	}
}

// What is kept with each session stays small, whatever somebody publishes.
func TestLongListsSayNothing(t *testing.T) {
	server, as := newSite(t), newSite(t)
	var many []string
	for i := range 20 << 10 {
		many = append(many, "s"+strconv.Itoa(i))
	}
	server.put(pathPRM, jsonDoc(members{"resource": server.url + "/mcp", "authorization_servers": []string{as.url}, "scopes_supported": many}))
	as.put(rootAS, jsonDoc(authorityDoc(as.url, members{"scopes_supported": many, "grant_types_supported": many})))
	a := assert.Value(flowOf(t, &Config{URL: server.url + "/mcp"}).Discover(t.Context(), nil))(t)
	assert.Equal(t, len(a.ResourceScopes)+len(a.Scopes)+len(a.GrantTypes), 0)
}

func TestPKCE(t *testing.T) {
	for _, test := range []struct {
		name    string
		config  Config
		methods any
		ok      bool
	}{
		{name: "missing"},
		{name: "plain only", methods: []string{"plain"}},
		{name: "other case", methods: []string{"s256"}},
		{name: "no list", methods: "S256"},
		{name: "S256", methods: []string{"S256"}, ok: true},
		{name: "assumed", config: Config{AssumePKCE: true}, ok: true},
		{name: "device code", config: Config{Grant: DeviceCode}, ok: true},
		{name: "client credentials", config: Config{Grant: ClientCredentials, Client: &Client{ID: "c", Secret: "s"}}, ok: true},
		{name: "workload", config: Config{Grant: WorkloadIdentity, Assertion: func(context.Context, string, string) (Secret, error) { return "", nil }}, ok: true},
	} {
		t.Run(test.name, func(t *testing.T) {
			server, as := newSite(t), newSite(t)
			server.resource(pathPRM, server.url+"/mcp", as.url)
			as.put(rootAS, jsonDoc(authorityDoc(as.url, members{
				"code_challenge_methods_supported": test.methods,
				"device_authorization_endpoint":    as.url + "/device",
			})))
			test.config.URL = server.url + "/mcp"
			if test.config.Client != nil {
				test.config.Client.Issuer = as.url
			}
			_, err := flowOf(t, &test.config).Discover(t.Context(), nil)
			if test.ok {
				assert.OK(t, err)
				return
			}
			e := wantAs[*MetadataError](t, err)
			assert.Equal(t, e.Field, "code_challenge_methods_supported")
			assert.Contains(t, e.Error(), "AssumePKCE")
		})
	}
}

func TestMissingEndpoints(t *testing.T) {
	for _, test := range []struct {
		field string
		grant GrantType
		value any
	}{
		{"token_endpoint", AuthorizationCode, nil},
		{"token_endpoint", DeviceCode, ""},
		{"authorization_endpoint", AuthorizationCode, nil},
		{"device_authorization_endpoint", DeviceCode, nil},
		{"token_endpoint", AuthorizationCode, 7},
		{"registration_endpoint", AuthorizationCode, []string{"x"}},
	} {
		t.Run(test.field, func(t *testing.T) {
			server, as := newSite(t), newSite(t)
			server.resource(pathPRM, server.url+"/mcp", as.url, "https://127.0.0.1:1")
			as.put(rootAS, jsonDoc(authorityDoc(as.url, members{test.field: test.value})))
			_, err := flowOf(t, &Config{URL: server.url + "/mcp", Grant: test.grant}).Discover(t.Context(), nil)
			e := wantAs[*MetadataError](t, err)
			assert.Equal(t, [...]any{e.Field, e.Issuer}, [...]any{test.field, as.url})
		})
	}
}

func TestConfiguredIssuerNeedsNoMetadataOfTheServer(t *testing.T) {
	server, as := newSite(t), newSite(t)
	as.put(rootAS, jsonDoc(authorityDoc(as.url, nil)))
	f := flowOf(t, &Config{URL: server.url + "/mcp", Issuer: as.url, NoFallback: true})
	a, err := f.Discover(t.Context(), nil)
	assert.OK(t, err)
	assert.Equal(t, [...]any{a.Issuer, a.HasMetadata, a.Resource}, [...]any{as.url, false, server.url + "/mcp"}, "authority")
	// Programs of one page answer all addresses with it.
	for name, h := range map[string]http.HandlerFunc{"HTML": html, "other JSON": jsonDoc(members{"x": 1}), "redirect": elsewhere} {
		server.put(pathPRM, h)
		server.put(rootPRM, h)
		a, err := f.Discover(t.Context(), nil)
		assert.OK(t, err, "%s", name)
		assert.Equal(t, [...]any{a.Issuer, a.HasMetadata}, [...]any{as.url, false}, "%s", name)
	}
	server.put(pathPRM, nil)
	server.put(rootPRM, nil)
	_, err = f.Discover(t.Context(), &DiscoverOptions{HadMetadata: true})
	wantAs[*DiscoveryError](t, err)
	host := parsed(t, server.url).Host
	want := fmt.Sprintf("auth: server %q: no usable protected resource metadata: metadata request to %s: HTTP status 404, although the server had some before", host, host)
	assert.Equal(t, err.Error(), want, "error\n")
	server.put(pathPRM, status(503))
	_, err = f.Discover(t.Context(), nil)
	wantAs[*DiscoveryError](t, err)
}

// A client that was registered by hand is known at its own authorization server
// only: no other is asked for anything, the server itself included.
func TestClientsIssuerIsTheOnlyOne(t *testing.T) {
	server, as, other := newSite(t), newSite(t), newSite(t)
	as.put(rootAS, jsonDoc(authorityDoc(as.url, nil)))
	f := flowOf(t, &Config{URL: server.url + "/mcp", Client: &Client{ID: "c", Issuer: as.url}})
	a := assert.Value(f.Discover(t.Context(), nil))(t)
	assert.Equal(t, [...]any{a.Issuer, a.HasMetadata}, [...]any{as.url, false})
	server.resource(pathPRM, server.url+"/mcp", other.url)
	_, err := f.Discover(t.Context(), nil)
	e := wantAs[*IssuerMismatchError](t, err)
	assert.Equal(t, [...]any{e.Want, e.Got}, [...]any{as.url, other.url})
	other.wantAsked(t)
}

func TestLookUpIssuer(t *testing.T) {
	idp := newSite(t)
	idp.put(rootOIC, jsonDoc(authorityDoc(idp.url, members{"code_challenge_methods_supported": nil, "authorization_endpoint": nil})))
	f := flowOf(t, &Config{URL: "https://mcp.example", Issuer: idp.url})
	a, err := f.lookUpIssuer(t.Context(), idp.url)
	assert.OK(t, err)
	assert.Equal(t, [...]any{a.TokenEndpoint, a.Issuer}, [...]any{idp.url + "/token", idp.url}, "authority")
	_, err = f.lookUpIssuer(t.Context(), idp.url+"?x")
	assert.Equal(t, wantAs[*URLError](t, err).Field, "issuer", "wantAs")
}

func TestDiscoverUntilTheContextEnds(t *testing.T) {
	server := newSite(t)
	ctx, cancel := context.WithCancel(t.Context())
	server.put(pathPRM, func(w http.ResponseWriter, r *http.Request) {
		cancel()
		<-r.Context().Done()
	})
	_, err := flowOf(t, &Config{URL: server.url + "/mcp"}).Discover(ctx, nil)
	if wantAs[*DiscoveryError](t, err); !errors.Is(err, context.Canceled) {
		t.Errorf("%v is not the context's end", err)
	}
	server.wantAsked(t, pathPRM)
}
