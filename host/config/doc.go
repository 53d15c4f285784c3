// Package config reads the files that list MCP servers.
//
// # Reading a file
//
// [Load] reads a file and [Parse] bytes in the mcpServers format that Claude
// Desktop, Claude Code (.mcp.json), Cursor, Windsurf, Cline and Gemini CLI
// share, with the keys of all of them. Comments and trailing commas are
// allowed. Other parts of the file, such as the rest of a settings.json, are
// left alone.
//
// A file that is not JSON or has no mcpServers object is an error. A bad entry
// only puts its own server out of use: see [Server.Err]. A key that looks like
// a misspelled one is a warning: see [Config.Warnings].
//
// # Keys of an entry
//
//	command, args, env, cwd     a local server, over stdio
//	url, headers                a remote server; also httpUrl (Gemini CLI: always
//	                            streamable HTTP) and serverUrl (Windsurf)
//	type or transport           stdio, http, streamable-http, sse or auto; without it
//	                            command means stdio and url means auto
//	enabled, disabled           false and true switch the server off
//	description                 free text
//	connectTimeoutSeconds       see Server.ConnectTimeout
//	readTimeoutSeconds          see Server.ReadTimeout
//	timeout                     the same in milliseconds. Less than 1000 is ignored with
//	                            a warning, as Claude Code does: Cline counts seconds here
//	trust, lazy, required       true or false, default false
//	tools                       {"allow": [names], "deny": [names], "rename": {old: new}}
//	includeTools                like tools.allow (Gemini CLI)
//	excludeTools, disabledTools like tools.deny (Gemini CLI, Windsurf)
//	alwaysAllow, autoApprove    ignored: approval is not a property of the file
//
// In a settings.json of Gemini CLI the lists "allowed" and "excluded" of the
// section "mcp" switch servers off, as they do there.
//
// null is the same as an absent key. All other keys are kept in [Server.Extra].
//
// # Variables
//
// In command, args, env values, cwd, the URLs and header values:
//
//	${VAR} or $VAR      the environment variable VAR; unset is an error
//	${VAR:-default}     VAR, or default if VAR is not set
//	${env:VAR}          the same as ${VAR}; ${env:VAR:-default} works too
//	${file:path}        the content of a file of at most 1 MiB, without one line break
//	                    at its end; a relative path starts at the config file's folder
//	${input:id}         what Options.Input answers to that input of the file
//	${keyring:name}     the secret of that name in Options.Secrets
//
// Substitution is one pass: what a variable holds is never expanded again. A $
// that no name follows, and $$, stay as they are. A literal ${ is written as
// ${DOLLAR:-$}{.
//
// # Folders
//
// A relative cwd starts at the folder of the config file. Without cwd the
// server runs in the working directory of this process, as under Claude Code.
// A relative command with a path separator in it is kept as written: the
// operating system looks it up from the server's working directory.
//
// # Secrets
//
// Values of env and headers are [Secret]: they do not print. No error text
// holds a value from the file or from the environment.
package config
