package registry

// App returns the URI, at the tool's server, of the page on which results of the tool are shown (MCP Apps), such as
// "ui://clock/view.html"; empty if the tool has none. Package host/apps shows it.
func (d *Definition) App() string { return d.page }

// ForModels reports whether models are told of the tool and may call it (MCP Apps, Visibility).
func (d *Definition) ForModels() bool { return !d.appOnly }

// ForApps reports whether the tool may be called by the apps of its server, and by no others (MCP Apps, Visibility).
func (d *Definition) ForApps() bool { return d.Origin.Server != "" && !d.modelOnly }
