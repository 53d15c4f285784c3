// Package codex reads the config.toml of Codex, which lists MCP servers in tables
// [mcp_servers.NAME].
//
// # Reading
//
// Give [Format] to package config, in config.Options.Formats; files that end in .toml
// are then read:
//
//	config.Load(ctx, "config.toml", &config.Options{Formats: []*config.Format{codex.Format()}})
//
// All else of the file is left alone. Errors say line, column and key path of the TOML
// file, such as mcp_servers.docs.env_http_headers.X-Key.
//
// # Keys
//
//	command, args, env, cwd        as everywhere
//	env_vars                       names of variables that are passed on, if they are set
//	url                            always streamable HTTP
//	http_headers                   headers
//	env_http_headers               names of headers to names of variables, if they are set
//	bearer_token_env_var           the variable that holds the token
//	scopes                         what to ask for at the login
//	startup_timeout_sec, startup_timeout_ms   for start and handshake
//	tool_timeout_sec               for the answer to one request
//	enabled, required              true or false
//	enabled_tools, disabled_tools  which tools are used
//
// The keys of package config may stand there too, in snake_case or as they are. A
// variable is written ${VAR}; $VAR without braces is plain text, as for Codex.
package codex
