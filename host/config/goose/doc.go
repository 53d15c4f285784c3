// Package goose reads the config.yaml of Goose, which lists MCP servers under
// "extensions", and that of Continue, which has a list "mcpServers" of them: the formats
// that need a parser of YAML.
//
// # Reading
//
// Give [Format] to package config, in config.Options.Formats; files that end in .yaml
// or .yml are then read:
//
//	config.Load(ctx, "config.yaml", &config.Options{Formats: []*config.Format{goose.Format(), goose.Continue()}})
//
// All else of the file is left alone. Errors say line, column and key path of the YAML
// file, such as extensions.github.envs.TOKEN. Aliases and merge keys are followed, up to
// the number of values that any file may have.
//
// # Keys of Goose
//
//	type             stdio, sse or streamable_http. Only Goose can run what is built into it
//	                 (builtin, platform, frontend, inline_python): that is in
//	                 config.Config.Skipped
//	cmd, args, envs  command, args, env
//	env_keys         names of variables: from the environment, else from the secret store
//	uri, headers     the URL of a remote server, and headers
//	timeout          seconds, for the answer to one request
//	enabled          true or false
//	available_tools  which tools are used; empty means all
//	description      free text
//
// The keys of package config may stand there too, in snake_case or as they are.
//
// # Keys of Continue
//
//	name, type, url          type is stdio, sse or streamable-http
//	command, args, env, cwd  as everywhere
//	apiKey                   the token of the header Authorization
//	requestOptions           its headers; all else is left to Continue
//	connectionTimeout        milliseconds, for start and handshake
//	uses                     a server that stands elsewhere, which is left out
//
// ${{ secrets.NAME }} is the variable of that name, or else the secret in
// config.Options.Secrets. Continue has no word that switches a server off.
package goose
