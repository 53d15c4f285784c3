package mcp

import (
	"strings"
)

// decodeIcons decodes icons. Those that could not be shown without danger are
// left out: a picture comes from the web or stands in the address itself, and
// never from a file, a script or elsewhere.
func decodeIcons(key, value []byte) ([]Icon, error) {
	var icons []Icon
	err := arrayOf(&icons, func(raw []byte) (Icon, error) { return decodeAs[Icon](nil, raw) })(value)
	return safeIcons(icons), at(string(key), err)
}

func safeIcons(icons []Icon) []Icon {
	var safe []Icon
	for _, icon := range icons {
		scheme, _, found := strings.Cut(icon.Source, ":")
		if found && (strings.EqualFold(scheme, "https") || strings.EqualFold(scheme, "data")) {
			safe = append(safe, icon)
		}
	}
	return safe
}

// withSafeIcons returns what a server says of its program, with safe icons only.
func withSafeIcons(server *Implementation) *Implementation {
	if server == nil || len(server.Icons) == 0 {
		return server
	}
	safe := *server
	safe.Icons = safeIcons(server.Icons)
	return &safe
}

func decodeListedResource(raw []byte, _ bool) (*Resource, error) {
	r := &Resource{}
	return decoded(r, decodeObject(raw,
		field{name: "uri", into: &r.URI, need: true},
		field{name: "name", into: &r.Name},
		field{name: "title", into: &r.Title},
		field{name: "description", into: &r.Description},
		field{name: "mimeType", into: &r.MIMEType},
		field{name: "size", into: &r.Size},
		field{name: "annotations", into: &r.Annotations},
		field{name: "icons", into: &r.Icons},
		field{name: "_meta", into: &r.Meta},
	))
}

func decodeResourceTemplate(raw []byte, _ bool) (*ResourceTemplate, error) {
	t := &ResourceTemplate{}
	return decoded(t, decodeObject(raw,
		field{name: "uriTemplate", into: &t.URITemplate, need: true},
		field{name: "name", into: &t.Name},
		field{name: "title", into: &t.Title},
		field{name: "description", into: &t.Description},
		field{name: "mimeType", into: &t.MIMEType},
		field{name: "annotations", into: &t.Annotations},
		field{name: "icons", into: &t.Icons},
		field{name: "_meta", into: &t.Meta},
	))
}

func decodePrompt(raw []byte, _ bool) (*Prompt, error) {
	p := &Prompt{}
	return decoded(p, decodeObject(raw,
		field{name: "name", into: &p.Name, need: true},
		field{name: "title", into: &p.Title},
		field{name: "description", into: &p.Description},
		field{name: "arguments", into: arrayOf(&p.Arguments, decodePromptArgument)},
		field{name: "icons", into: &p.Icons},
		field{name: "_meta", into: &p.Meta},
	))
}

func decodePromptArgument(raw []byte) (*PromptArgument, error) {
	a := &PromptArgument{}
	return decoded(a, decodeObject(raw,
		field{name: "name", into: &a.Name, need: true},
		field{name: "title", into: &a.Title},
		field{name: "description", into: &a.Description},
		field{name: "required", into: &a.Required},
	))
}
