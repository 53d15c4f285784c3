// Package goose reads the config.yaml of Goose, which lists MCP servers under
// "extensions".
//
// # Reading
//
// Give [Format] to package config, in config.Options.Formats; files that end in .yaml
// or .yml are then read:
//
//	config.Load("config.yaml", &config.Options{Formats: []config.Format{goose.Format()}})
//
// All else of the file is left alone. Errors say line, column and key path of the YAML
// file, such as extensions.github.envs.TOKEN. Aliases and merge keys are followed, up to
// the number of values that any file may have.
//
// # Keys
//
//	type             stdio, sse or streamable_http. What is built into Goose (builtin,
//	                 platform, frontend, inline_python) only Goose can run: it is in
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
package goose
