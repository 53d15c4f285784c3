package dialect

import (
	"bytes"
	"encoding/json"
	"slices"
)

// Own is an entry as JSON, with the keys of package config, and its name.
type Own struct {
	Name                  string            `json:"name,omitempty"`
	Description           string            `json:"description,omitempty"`
	Transport             string            `json:"transport,omitempty"`
	URL                   string            `json:"url,omitempty"`
	Headers               map[string]string `json:"headers,omitempty"`
	Command               string            `json:"command,omitempty"`
	Args                  []string          `json:"args,omitempty"`
	Env                   map[string]string `json:"env,omitempty"`
	Cwd                   string            `json:"cwd,omitempty"`
	Enabled               *bool             `json:"enabled,omitempty"`
	Builtin               bool              `json:"builtin,omitempty"`
	Proposed              bool              `json:"proposed,omitempty"`
	Required              bool              `json:"required,omitempty"`
	Lazy                  bool              `json:"lazy,omitempty"`
	Trust                 bool              `json:"trust,omitempty"`
	Quarantined           bool              `json:"quarantined,omitempty"`
	Ledger                string            `json:"ledger,omitempty"`
	ConnectTimeoutSeconds float64           `json:"connectTimeoutSeconds,omitempty"`
	ReadTimeoutSeconds    float64           `json:"readTimeoutSeconds,omitempty"`
	IdleTimeoutSeconds    float64           `json:"idleTimeoutSeconds,omitempty"`
	Identity              string            `json:"identity,omitempty"`
	UserHeader            string            `json:"userHeader,omitempty"`
	Proxy                 string            `json:"proxy,omitempty"`
	TLS                   *OwnTLS           `json:"tls,omitempty"`
	Auth                  *OwnAuth          `json:"auth,omitempty"`
	Isolation             *OwnIsolation     `json:"isolation,omitempty"`
	Limits                *OwnLimits        `json:"limits,omitempty"`
	Tools                 *OwnTools         `json:"tools,omitempty"`
}

// OwnIsolation is "isolation" as JSON.
type OwnIsolation struct {
	Kind    string     `json:"kind,omitempty"`
	Image   string     `json:"image,omitempty"`
	Mounts  []OwnMount `json:"mounts,omitempty"`
	Network bool       `json:"network,omitempty"`
	Args    []string   `json:"args,omitempty"`
}

// OwnMount is one of the "mounts" as JSON.
type OwnMount struct {
	Path   string `json:"path"`
	Target string `json:"target,omitempty"`
	Write  bool   `json:"write,omitempty"`
}

// OwnLimits is "limits" as JSON.
type OwnLimits struct {
	MaxTools    int   `json:"maxTools,omitempty"`
	MaxInFlight int   `json:"maxInFlight,omitempty"`
	MaxQueued   int   `json:"maxQueued,omitempty"`
	MaxMessage  int64 `json:"maxMessageBytes,omitempty"`
}

// OwnTools is "tools" as JSON.
type OwnTools struct {
	Allow  *[]string         `json:"allow,omitempty"` // an empty list allows none
	Deny   []string          `json:"deny,omitempty"`
	Rename map[string]string `json:"rename,omitempty"`
}

// OwnAuth is "auth" as JSON.
type OwnAuth struct {
	ClientID         string            `json:"clientId,omitempty"`
	ClientSecret     string            `json:"clientSecret,omitempty"`
	Scopes           []string          `json:"scopes,omitempty"`
	Issuer           string            `json:"issuer,omitempty"`
	RedirectURL      string            `json:"redirectUrl,omitempty"`
	AuthorizationURL string            `json:"authorizationUrl,omitempty"`
	TokenURL         string            `json:"tokenUrl,omitempty"`
	DeviceURL        string            `json:"deviceUrl,omitempty"`
	Grant            string            `json:"grant,omitempty"`
	LoginParams      map[string]string `json:"loginParams,omitempty"`
	AskConsent       bool              `json:"askConsent,omitempty"`
}

// OwnTLS is "tls" as JSON.
type OwnTLS struct {
	CAFile   string `json:"caFile,omitempty"`
	CertFile string `json:"certFile,omitempty"`
	KeyFile  string `json:"keyFile,omitempty"`
	Insecure bool   `json:"insecure,omitempty"`
}

// EncodeOwn returns an entry as JSON, with further members at its end, but for those that
// have a field.
func EncodeOwn(w *Own, extra map[string]json.RawMessage) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(w); err != nil {
		return nil, err
	}
	own := append(OwnKeys(), "name", "revision")
	object := bytes.TrimSuffix(b.Bytes(), []byte("\n"))
	for _, key := range InOrder(extra) {
		if !slices.Contains(own, key) {
			var err error
			if object, err = AppendMember(object, key, extra[key]); err != nil {
				return nil, err
			}
		}
	}
	return object, nil
}

// AppendMember puts a member at the end of an object.
func AppendMember(object []byte, key string, value json.RawMessage) ([]byte, error) {
	name, err := json.Marshal(key)
	if err != nil {
		return nil, err
	}
	object = object[:len(object)-1]
	if len(object) > 1 {
		object = append(object, ',')
	}
	return append(append(append(append(object, name...), ':'), value...), '}'), nil
}
