package auth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/deadport"
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
		Scopes: []string{"a", "offline_access"}, AuthMethods: []string{"none"},
		PKCE: true, NamesIssuer: true, MetadataDocuments: true, DPoPAlgorithms: []string{"ES256"},
	}
	assert.True(t, reflect.DeepEqual(got, want), "the authority %+v is as published", got)
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
			a := assert.Value(server.discover(t, Config{URL: server.url + test.path}))(t)
			assert.Equal(t, a.Resource, server.url+test.resource, "resource")
			assert.True(t, a.HasMetadata, "it has metadata")
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
			assert.Equal(t, assert.Value(server.discover(t, Config{}))(t).Issuer, as.url+test.path, "issuer")
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
			e := wantAs[*IssuerMismatchError](t, errOf(server.discover(t, Config{})))
			assert.Equal(t, e.what+" "+e.want, "metadata "+as.url+test.named)
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
			assert.Equal(t, wantAs[*metadataError](t, errOf(server.discover(t, Config{}))).field, "resource")
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

// A challenge's address that is of no use only leads on to the well-known ones.
func TestChallengesAddressFails(t *testing.T) {
	for name, h := range map[string]http.HandlerFunc{
		"absent": nil, "broken": status(500), "HTML": html, "other JSON": jsonDoc(members{"a": 1}), "list": jsonDoc([]int{}),
	} {
		t.Run(name, func(t *testing.T) {
			server := newSite(t)
			server.put("/custom", h)
			f, o := flowOf(t, &Config{URL: server.url + "/mcp"}), &DiscoverOptions{Challenges: challenge(server.url + "/custom")}
			err := wantAs[*discoveryError](t, errOf(f.Discover(t.Context(), o)))
			assert.Contains(t, err.Error(), server.url+"/custom: ") // and no endpoints are guessed
			assert.Contains(t, err.Error(), server.url+rootPRM+": HTTP status 404")
			server.resource(rootPRM, server.url+"/mcp", server.url)
			server.put(rootAS, jsonDoc(authorityDoc(server.url, nil)))
			a := assert.Value(f.Discover(t.Context(), o))(t)
			assert.Equal(t, [...]any{a.Issuer, a.HasMetadata}, [...]any{server.url, true}, "authority")
		})
	}
}

// What is kept with each session stays small, whatever is published.
func TestLongListsSayNothing(t *testing.T) {
	server, as := newSite(t), newSite(t)
	var many []string
	for i := range 20 << 10 {
		many = append(many, "s"+strconv.Itoa(i))
	}
	server.put(pathPRM, jsonDoc(members{"resource": server.url + "/mcp", "authorization_servers": []string{as.url}, "scopes_supported": many}))
	as.put(rootAS, jsonDoc(authorityDoc(as.url, members{"scopes_supported": many})))
	a := assert.Value(server.discover(t, Config{}))(t)
	assert.Equal(t, len(a.ResourceScopes)+len(a.Scopes), 0)
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
		{name: "device code", config: Config{Grant: DeviceCode}, ok: true},
		{name: "client credentials", config: Config{Grant: ClientCredentials, Client: &Client{ID: "c", Secret: "s"}}, ok: true},
		{name: "workload", config: Config{Grant: WorkloadIdentity, Assertion: noAssertion}, ok: true},
	} {
		t.Run(test.name, func(t *testing.T) {
			server, as := newServer(t, members{
				"code_challenge_methods_supported": test.methods,
				"device_authorization_endpoint":    "https://as.example/device",
			})
			if test.config.Client != nil {
				test.config.Client.Issuer = as.url
			}
			_, err := server.discover(t, test.config)
			if test.ok {
				assert.OK(t, err)
				return
			}
			e := wantAs[*metadataError](t, err)
			assert.Equal(t, e.field, "code_challenge_methods_supported")
			assert.Contains(t, e.Error(), "Authority")
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
			server, as := newServer(t, members{test.field: test.value})
			server.resource(pathPRM, server.url+"/mcp", as.url, "https://127.0.0.1:1") // which is not asked
			e := wantAs[*metadataError](t, errOf(server.discover(t, Config{Grant: test.grant})))
			assert.Equal(t, e.field+" "+e.issuer, test.field+" "+as.url)
		})
	}
}

func TestConfiguredIssuerNeedsNoMetadataOfTheServer(t *testing.T) {
	server, as := newSite(t), newSite(t)
	as.put(rootAS, jsonDoc(authorityDoc(as.url, nil)))
	f := flowOf(t, &Config{URL: server.url + "/mcp", Issuer: as.url})
	a := assert.Value(f.Discover(t.Context(), nil))(t)
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
	_, err := f.Discover(t.Context(), &DiscoverOptions{HadMetadata: true})
	wantAs[*discoveryError](t, err)
	const want = `auth: server "HOST": no usable protected resource metadata: http://HOST/.well-known/oauth-protected-resource/mcp: HTTP status 404; http://HOST/.well-known/oauth-protected-resource: HTTP status 404, although the server had some before`
	assert.Equal(t, err.Error(), strings.ReplaceAll(want, "HOST", parsed(t, server.url).Host))
	server.put(pathPRM, status(503))
	assert.Equal(t, assert.Value(f.Discover(t.Context(), nil))(t).Issuer, as.url, "issuer")
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
	e := wantAs[*IssuerMismatchError](t, errOf(f.Discover(t.Context(), nil)))
	assert.Equal(t, e.want+" "+e.got, as.url+" "+other.url)
	other.wantAsked(t)
}

func TestLookUpIssuer(t *testing.T) {
	idp := newSite(t)
	idp.put(rootOIC, jsonDoc(authorityDoc(idp.url, members{"code_challenge_methods_supported": nil, "authorization_endpoint": nil})))
	f := flowOf(t, &Config{URL: "https://mcp.example", Issuer: idp.url})
	a := assert.Value(f.lookUp(t.Context(), "issuer", idp.url))(t)
	assert.Equal(t, [...]any{a.TokenEndpoint, a.Issuer}, [...]any{idp.url + "/token", idp.url}, "authority")
	assert.Equal(t, wantAs[*URLError](t, errOf(f.lookUp(t.Context(), "issuer", idp.url+"?x"))).Field, "issuer")
}

func TestDiscoverUntilTheContextEnds(t *testing.T) {
	server := newSite(t)
	ctx, cancel := context.WithCancel(t.Context())
	server.put(pathPRM, func(w http.ResponseWriter, r *http.Request) {
		cancel()
		<-r.Context().Done()
	})
	_, err := flowOf(t, &Config{URL: server.url + "/mcp"}).Discover(ctx, nil)
	wantAs[*discoveryError](t, err)
	assert.Is(t, err, context.Canceled)
	server.wantAsked(t, pathPRM)
}

// O7: no one can force the login of revision 2025-03-26.
func TestFallback(t *testing.T) {
	none := []string{pathPRM, rootPRM, rootAS, rootOIC, rootAS + "/mcp", rootOIC + "/mcp", "/mcp" + rootOIC} // nothing is found
	for _, test := range []struct {
		name   string
		docs   map[string]http.HandlerFunc
		config Config
		root   func(at string) members // what is changed in the metadata at the root
		had    bool
		want   string // the authorization endpoint, or the error's type
		asked  []string
	}{
		{name: "default endpoints", want: "/authorize", asked: none},
		{name: "metadata at the root", root: func(at string) members { return members{"authorization_endpoint": at + "/login", "issuer": at + "/"} },
			want: "/login", asked: none[:3]},
		{name: "refused", docs: map[string]http.HandlerFunc{pathPRM: status(401), rootPRM: status(405)}, want: "/authorize", asked: none},
		{name: "had metadata", had: true, want: "*auth.discoveryError", asked: none[:2]},
		{name: "server error", docs: map[string]http.HandlerFunc{pathPRM: status(500)}, want: "*auth.discoveryError", asked: none},
		{name: "server error at the root", docs: map[string]http.HandlerFunc{rootPRM: status(503)}, want: "*auth.discoveryError", asked: none},
		{name: "throttled", docs: map[string]http.HandlerFunc{pathPRM: status(429)}, want: "*auth.discoveryError", asked: none},
		{name: "HTML", docs: map[string]http.HandlerFunc{pathPRM: html}, want: "*auth.discoveryError", asked: none},
		{name: "other JSON", docs: map[string]http.HandlerFunc{rootPRM: jsonDoc(members{"x": 1})}, want: "*auth.discoveryError", asked: none},
		{name: "broken metadata", docs: map[string]http.HandlerFunc{rootAS: status(500)}, want: "*auth.discoveryError", asked: none},
		{name: "HTML for metadata", docs: map[string]http.HandlerFunc{rootAS: html}, want: "*auth.discoveryError", asked: none},
		{name: "without PKCE", root: func(string) members { return members{"code_challenge_methods_supported": nil} }, want: "*auth.metadataError", asked: none[:4]},
		{name: "metadata for the path", docs: map[string]http.HandlerFunc{rootOIC + "/mcp": func(w http.ResponseWriter, r *http.Request) {
			jsonDoc(authorityDoc("http://"+r.Host+"/mcp", nil))(w, r)
		}}, want: "/mcp/authorize", asked: none[:6]},
		{name: "metadata beside a server error", docs: map[string]http.HandlerFunc{pathPRM: status(500), rootPRM: html}, root: func(string) members { return nil },
			want: "/authorize", asked: none[:3]},
		{name: "other issuer", root: func(string) members { return members{"issuer": "https://other.example"} }, want: "*auth.IssuerMismatchError", asked: none[:3]},
		{name: "no device endpoint", config: Config{Grant: DeviceCode}, want: "*auth.metadataError", asked: none},
	} {
		t.Run(test.name, func(t *testing.T) {
			server := newSite(t)
			for path, h := range test.docs {
				server.put(path, h)
			}
			if test.root != nil {
				server.put(rootAS, jsonDoc(authorityDoc(server.url, test.root(server.url))))
			}
			test.config.URL = server.url + "/mcp"
			a, err := flowOf(t, &test.config).Discover(t.Context(), &DiscoverOptions{HadMetadata: test.had})
			server.wantAsked(t, test.asked...)
			if strings.HasPrefix(test.want, "*") {
				assert.Equal(t, fmt.Sprintf("%T", err), test.want, "error %v", err)
				return
			}
			assert.OK(t, err)
			assert.Equal(t, [...]any{a.AuthorizationEndpoint, a.HasMetadata, a.Resource}, [...]any{server.url + test.want, false, server.url + "/mcp"}, "authority")
		})
	}
}

// Several authorization servers: a works, b is gone, c has no metadata, d is of
// another issuer, e fails.
func TestSeveralAuthorizationServers(t *testing.T) {
	for _, test := range []struct {
		name   string
		named  string
		config Config
		issuer string // Config.Issuer
		client string // Config.Client.Issuer
		before string
		want   string // the issuer, or the error's type
	}{
		{name: "first", named: "ax", want: "a"},
		{name: "one is gone", named: "ba", want: "a"},
		{name: "one has none", named: "ca", want: "a"},
		{name: "one fails", named: "ea", want: "a"},
		{name: "one is wrong", named: "da", want: "*auth.IssuerMismatchError"},
		{name: "all are bad", named: "bce", want: "*auth.discoveryError"},
		{name: "none", named: "", want: "*auth.discoveryError"},
		{name: "the one of before", named: "xa", before: "a", want: "a"},
		{name: "the one of before is named no more", named: "xa", before: "c", want: "x"},
		{name: "configured", named: "xa", issuer: "a", want: "a"},
		{name: "configured, not named", named: "x", issuer: "a", want: "*auth.IssuerMismatchError"},
		{name: "configured, none named", named: "", issuer: "a", want: "a"},
		{name: "the client's", named: "xa", client: "a", want: "a"},
		{name: "the client's is gone", named: "bx", client: "b", want: "*auth.discoveryError"},
		{name: "too many", named: "bbbbbbbba", want: "a"}, // each counts once
	} {
		t.Run(test.name, func(t *testing.T) {
			server := newSite(t)
			sites := map[rune]*site{}
			for _, r := range "abcdex" {
				sites[r] = newSite(t)
			}
			sites['b'].url = deadport.URL(t)
			sites['a'].put(rootAS, jsonDoc(authorityDoc(sites['a'].url, nil)))
			sites['d'].put(rootAS, jsonDoc(authorityDoc(sites['a'].url, nil)))
			sites['e'].put(rootAS, status(500))
			sites['x'].put(rootAS, jsonDoc(authorityDoc(sites['x'].url, nil)))
			named := []string{}
			for _, r := range test.named {
				named = append(named, sites[r].url)
			}
			urlOf := func(name string) string {
				if name == "" {
					return ""
				}
				return sites[rune(name[0])].url
			}
			server.resource(pathPRM, server.url+"/mcp", named...)
			test.config.URL, test.config.Issuer = server.url+"/mcp", urlOf(test.issuer)
			if test.client != "" {
				test.config.Client = &Client{ID: "c", Issuer: urlOf(test.client)}
			}
			a, err := flowOf(t, &test.config).Discover(t.Context(), &DiscoverOptions{Issuer: urlOf(test.before)})
			if strings.HasPrefix(test.want, "*") {
				assert.Equal(t, fmt.Sprintf("%T", err), test.want, "error %v", err)
				return
			}
			assert.OK(t, err)
			assert.Equal(t, a.Issuer, urlOf(test.want), "issuer")
			assert.True(t, len(sites['e'].asked()) <= 2, "one that fails was asked on")
		})
	}
}

// What stands in front of an authorization server may answer at one well-known address with anything; the
// metadata is at the next (typescript-sdk#1631, xpzouying/xiaohongshu-mcp#540).
func TestMetadataIsAtTheNextAddress(t *testing.T) {
	//report: Logins | modelcontextprotocol/typescript-sdk#1631, xpzouying/xiaohongshu-mcp#540, anthropics/claude-code#84123 | a gateway before the authorization server answers 502, or a page, at the first well-known address; the metadata is at the next | all addresses of an issuer are tried; if none has it, the error says what there was at each
	for name, answer := range map[string]http.HandlerFunc{
		"502": status(502), "500": status(500), "503": status(503), "429": status(429), "404": status(404), "401": status(401),
		"a page":           func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>")) },
		"another document": jsonDoc(map[string]any{"ok": true}),
		"a cut-off answer": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			_, _ = w.Write([]byte("{"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			server, idp := newSite(t), newSite(t)
			issuer := idp.url + "/team/app"
			server.resource(pathPRM, server.url+"/mcp", issuer)
			idp.put("/.well-known/oauth-authorization-server/team/app", answer)
			idp.put("/.well-known/openid-configuration/team/app", answer)
			_, err := flowOf(t, &Config{URL: server.url + "/mcp"}).Discover(t.Context(), nil)
			for _, at := range []string{"/.well-known/oauth-authorization-server/team/app: ", "; " + idp.url + "/.well-known/openid-configuration/team/app: ", "; " + issuer + "/.well-known/openid-configuration: HTTP status 404"} {
				assert.Contains(t, wantAs[*discoveryError](t, err).Error(), at)
			}
			idp.put("/team/app/.well-known/openid-configuration", jsonDoc(authorityDoc(issuer, nil)))
			assert.Equal(t, assert.Value(flowOf(t, &Config{URL: server.url + "/mcp"}).Discover(t.Context(), nil))(t).Issuer, issuer)
		})
	}
}

// Many servers write the issuer with a slash that it does not have, or without the
// one it has. Without a word from the configuration that is another issuer.
func TestIssuerWithASlashTooMuch(t *testing.T) {
	for _, slash := range []string{"", "/"} {
		server, as := newSite(t), newSite(t)
		issuer := as.url + slash
		named := as.url + "/"
		if slash != "" {
			named = as.url
		}
		server.resource(pathPRM, server.url+"/mcp", named)
		as.put(rootAS, jsonDoc(authorityDoc(issuer, members{
			"authorization_endpoint": as.url + "/authorize", "token_endpoint": as.url + "/token",
		})))
		mismatch := wantAs[*IssuerMismatchError](t, errOf(server.discover(t, Config{})))
		assert.Equal(t, mismatch.what, "metadata")
		assert.Contains(t, mismatch.Error(), "as Config.Issuer")
		for _, c := range []Config{{Issuer: issuer}, {Client: &Client{ID: "c", Issuer: issuer}}} {
			assert.Equal(t, assert.Value(server.discover(t, c))(t).Issuer, issuer, "issuer")
		}
	}
}

func TestTooManyAuthorizationServers(t *testing.T) {
	server, last := newSite(t), newSite(t)
	last.put(rootAS, jsonDoc(authorityDoc(last.url, nil)))
	var named []string
	for i := range maxIssuers {
		named = append(named, fmt.Sprintf("%s/%d", newSite(t).url, i))
	}
	server.resource(pathPRM, server.url+"/mcp", append(named, last.url)...)
	wantAs[*discoveryError](t, errOf(server.discover(t, Config{})))
	last.wantAsked(t)
}

// A server on this machine cannot have the program speak to another of its addresses,
// unless the configuration allows that.
func TestMetadataOfAnotherLoopbackAddress(t *testing.T) {
	const other = "http://127.0.0.2:1"
	server := newSite(t)
	server.resource(pathPRM, server.url+"/mcp", other)
	assert.Equal(t, wantAs[*URLError](t, errOf(server.discover(t, Config{}))).Origin, other, "origin")
	err := errOf(server.discover(t, Config{Network: Network{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}}))
	assert.Fails(t, err, "nothing listens there")
	assert.False(t, errors.As(err, new(*URLError)), "%v: refused", err)
}

func TestShown(t *testing.T) {
	for raw, want := range map[string]string{
		"":                      "",
		"https://as.example":    "https://as.example",
		"https://as.example/t/": "https://as.example/t/",
		"https://u:SECRET@as.example/?SECRET#SECRET": "https://as.example/",
		"::SECRET":             "(not a URL)",
		"https://as.example/?": "https://as.example/",
	} {
		assert.Equal(t, shown(raw), want, "of %q is shown", raw)
	}
	assert.True(t, len(shown("https://as.example/"+strings.Repeat("x", 1<<20))) <= maxShown+3, "it is short")
}

// Whatever a document has in it, what comes out can be used.
func FuzzMetadata(f *testing.F) {
	for _, seed := range []string{
		`{"issuer":"https://as.example","authorization_endpoint":"https://as.example/a","token_endpoint":"https://as.example/t","code_challenge_methods_supported":["S256"]}`,
		`{"resource":"https://mcp.example/mcp","authorization_servers":["https://as.example",7],"scopes_supported":["a","b c"]}`,
		`{"issuer":null,"token_endpoint":[],"scopes_supported":"x","revocation_endpoint":"javascript:x"}`,
		`[]`, `null`, `{}`, `{"token_endpoint":"https://10.0.0.1/"}`,
	} {
		f.Add([]byte(seed))
	}
	flow := flowOf(f, &Config{URL: "https://mcp.example/mcp"})
	server := parsed(f, flow.config.URL)
	f.Fuzz(func(t *testing.T, data []byte) {
		var d answer
		if json.Unmarshal(data, &d) != nil || d == nil {
			return
		}
		if m := newResourceMetadata(d); m != nil {
			if flow.checkResource(server, m) == nil {
				assert.Contains(t, strings.ToLower(m.resource), "mcp.example", "resource that is taken for the server")
			}
			assert.True(t, len(m.issuers) <= maxIssuers)
		}
		a, err := flow.acceptAuthority(d, "https://as.example")
		if err != nil {
			_ = err.Error()
			return
		}
		for _, scope := range a.Scopes {
			assert.True(t, validScope(scope), "scope %q", scope)
		}
		for _, e := range []string{a.AuthorizationEndpoint, a.TokenEndpoint, a.RegistrationEndpoint, a.RevocationEndpoint, a.DeviceEndpoint} {
			assert.True(t, e == "" || strings.HasPrefix(strings.ToLower(e), "https://"), "endpoint %q", e)
		}
	})
}
