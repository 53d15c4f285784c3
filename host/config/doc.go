// Package config reads the files that list MCP servers.
//
// # Reading a file
//
// [Load] reads a file and [Parse] bytes, in the format that the file's name and content
// show, or that [Options] names. Comments and trailing commas are allowed. Other parts
// of the file, such as the rest of a settings.json, are left alone.
//
// [Formats] are always read, and [Options].Formats adds those of codex.Format() of package
// host/config/codex, goose.Format() and goose.Continue() of host/config/goose, and [NewFormat].
// A table of all programs, with their formats and files, stands in docs/configuration.md: it is
// written from the formats themselves.
//
// A format translates the keys of its program; an entry may have our own besides. All
// errors say the file's own keys, with line and column. A file where a program keeps its
// own is read in that program's format if the content fits. Of others, a file that may be
// of two formats is an error that says how to name one: nothing is guessed.
//
// A file that cannot be parsed or lists no servers is an error. A bad entry only puts
// its own server out of use: see [Server.Err]. An entry that is no MCP server, such as an
// extension that is built into Goose, is in [Config.Skipped]. A key that looks like a misspelled one is
// a warning: see [Config.Warnings]. In the sections tools, isolation and limits an
// unknown key is a fault, because a misspelled one would let everything through.
//
// # Finding files
//
// [Find] has the usual places of all these programs, [LoadAll] loads those that exist,
// and [Merge] puts them together: of entries of one name that of the stronger [Scope]
// counts, and [Config.Shadowed] says which others it hides.
//
//	configs, err := config.LoadAll(ctx, config.Find(&config.FindOptions{Project: "."}), nil)
//	all := config.Merge(configs...)
//
// The files of a project may come from others. Their servers wait for approval, see
// [Scope.NeedsApproval], and what they say of their own trust and builtin is ignored. A
// file that is read by the name of a project's file is one, unless [Options].Scope says
// otherwise.
//
// # Keys of an entry
//
//	command, args, cwd          a local server, over stdio
//	url, headers                a remote server; also httpUrl (Gemini CLI: always
//	                            streamable HTTP) and serverUrl (Windsurf). A URL
//	                            unix:///path is a Unix socket with a JSON message a line
//	type or transport           stdio (local), http, streamable-http, sse or auto
//	                            (remote), or unix; without it command means stdio and url
//	                            auto or unix
//	enabled, disabled           false and true switch the server off
//	description                 free text
//	connectTimeoutSeconds       see Server.ConnectTimeout
//	readTimeoutSeconds          see Server.ReadTimeout
//	timeout                     the same in milliseconds, in the file of Cline in
//	                            seconds. Less than 1000 milliseconds is ignored with a
//	                            warning, as Claude Code does
//	idleTimeoutSeconds          see Server.IdleTimeout
//	trust, lazy, required       true or false, default false
//	quarantined                 true or false, see Server.Quarantined
//	ledger                      trust, pin or review, see Server.Ledger; a project's file
//	                            can only say review
//	builtin                     true or false: the program's own, not to be removed
//	proposed                    true or false: its launch has to be allowed, see
//	                            ScopeProposed
//	proxy                       the proxy to a remote server, see Server.Proxy
//	tls                         {"caFile", "certFile", "keyFile", "insecure"}, see TLS
//	identity, userHeader        shared, user or header; see Server.Identity
//	auth                        {"clientId", "clientSecret", "authMethod", "scopes", "issuer",
//	                            "redirectUrl", "authorizationUrl", "tokenUrl", "deviceUrl",
//	                            "registrationUrl", "revocationUrl", "grant", "loginParams",
//	                            "askConsent", "noResource", "off"}, see Auth; "oauth" says
//	                            what is so anyway
//	oauth                       what other programs have in place of auth: also callbackPort,
//	                            authServerMetadataUrl, audiences, enabled and other
//	                            spellings. Both count, and auth where they differ. false
//	                            switches logins off. Without a redirect URL the client of a
//	                            program comes back where that program listens
//	oauthScopes                 like auth.scopes (Kiro, Amazon Q)
//	isolation                   {"kind": "docker", "image", "mounts": [{"path", "target",
//	                            "write"}], "network", "args"}, see Isolation. In a list
//	                            without "kind" it is mcpproxy's, and ignored
//	limits                      {"maxTools", "maxInFlight", "maxQueued",
//	                            "maxMessageBytes", "maxArgumentBytes"}, see Limits
//	env                         variables for the process, {"NAME": "value"}. Of this
//	                            program's environment it has only what transport.BaseEnv
//	                            says, such as PATH, HOME, LANG and HTTPS_PROXY; any
//	                            other has to stand here: "GITHUB_TOKEN": "${GITHUB_TOKEN}"
//	envFile                     a file of lines NAME=value, which env wins over
//	tools                       {"allow": [names], "deny": [names], "rename": {old: new},
//	                            "skipOutputCheck": true}, see ToolFilter;
//	                            a list is allow, and ["*"] all of them (Copilot CLI)
//	includeTools                like tools.allow (Gemini CLI)
//	excludeTools, disabledTools like tools.deny (Gemini CLI, Windsurf)
//	alwaysAllow, autoApprove    ignored: approval is not a property of the file
//
// In a settings.json of Gemini CLI the lists "allowed" and "excluded" of the
// section "mcp" switch servers off, as they do there.
//
// As in VS Code, a variable in its files may be a number, or null, which sets none.
//
// null is the same as an absent key. All other keys are kept in [Server.Extra].
//
// # Variables
//
// In command, args, env values, cwd, the URLs, header values, and the values of auth and
// isolation:
//
//	${VAR}              the environment variable VAR; unset is an error
//	$VAR                the same, where the file's program replaces it: Gemini CLI,
//	                    IronClaw and Goose. Elsewhere it is plain text
//	${VAR:-default}     VAR, or default if VAR is not set
//	${env:VAR}          the same as ${VAR}; ${env:VAR:-default} works too
//	${file:path}        the content of a file of at most 1 MiB, without one line break
//	                    at its end; a relative path starts at the config file's folder
//	${input:id}         what Options.Input answers to that input of the file
//	${keyring:name}     the secret of that name in Options.Secrets
//	${{ secrets.NAME }} ${NAME}, or else ${keyring:NAME}, as Continue has it
//	${workspaceFolder}  the folder of the project, see Options.Project; also
//	                    ${workspaceFolderBasename}, ${userHome}, ${pathSeparator}
//	                    and ${/}
//
// In files of a scope that needs approval ${input:id} and ${keyring:name} are looked up
// after that, see [Server.Answered]; they stand in args, env, headers and url only.
// The References of [Server.Launch] say to those who approve what else a server gets to see.
//
// In the format opencode {env:VAR}, which is empty if VAR is not set, and {file:path} take
// the place of all these. In the format crush $(command) is a fault: it is never run.
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
//
// # Writing a file
//
// Package host/config/edit changes a file in place. [Schema] is the JSON Schema of the keys
// above, for editors.
package config
