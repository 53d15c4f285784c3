package catalog

import (
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// What a registry says of a server becomes the entry that it means, or the error says why not.
func TestEntries(t *testing.T) {
	const npm = `"packages":[{"registryType":"npm","identifier":"@acme/weather","version":"1.2.3","transport":{"type":"stdio"}`
	const oci = `"packages":[{"registryType":"oci","identifier":"ghcr.io/acme/weather:1.2.3","runtimeHint":"docker","transport":{"type":"stdio"}`
	const mount = `,"runtimeArguments":[{"type":"named","name":"-v","value":"{source}:/data","isRequired":true,"variables":{"source":{"description":"Folder","format":"filepath"}}}`
	for name, c := range map[string]struct {
		members, kind, typed string
		given                []string
		want, says           string
	}{
		//report: Command | shanraisshan/claude-code-best-practice#67, coinpaprika/dexpaprika-mcp#25, gkrost/scaleway-ops-mcp-server#70 | an entry names a package without a version, and runs what is newest, or what npx has kept from a year ago | `mcpbelt add io.github.OWNER/NAME` writes the exact version of the registry
		"npm": {members: npm + `}]`, want: "npx -y @acme/weather@1.2.3"},
		"pypi": {members: `"packages":[{"registryType":"pypi","identifier":"acme-weather","version":"0.0.1a4","runtimeHint":"python"}]`,
			want: "uvx acme-weather==0.0.1a4"},
		"nuget": {members: `"packages":[{"registryType":"nuget","identifier":"Acme.Weather","version":"0.4.0-beta","packageArguments":[{"type":"positional","value":"mcp"},{"type":"positional","value":"start"}]}]`,
			want: "dnx --yes Acme.Weather@0.4.0-beta -- mcp start"},
		"oci by version": {members: `"packages":[{"registryType":"oci","registryBaseUrl":"https://ghcr.io","identifier":"acme/weather","version":"1.2.3"}]`,
			want: "docker run -i --rm ghcr.io/acme/weather:1.2.3"},
		//report: Command | neon-solutions/add-mcp#28 | a server of a registry is a program that needs the word start, and clients leave out its packageArguments | they stand behind the package, fixed ones as they are, and others are asked for or given with `--arg`
		"package arguments": {members: npm + `,"packageArguments":[{"type":"positional","value":"start"},{"type":"named","name":"--mode","default":"local","choices":["local","proxy"]},{"type":"named","name":"--port","description":"Port"},{"type":"named","name":"--quiet"}]}]`,
			given: []string{"mode=proxy"}, want: "npx -y @acme/weather@1.2.3 start --mode proxy --quiet"},
		"a choice that is none": {members: npm + `,"packageArguments":[{"type":"named","name":"--mode","choices":["local","proxy"]}]}]`,
			given: []string{"mode=x"}, says: `mode is one of local, proxy, not "x"`},
		"a flag": {members: npm + `,"packageArguments":[{"type":"named","name":"--fast","format":"boolean","description":"Fast"},{"type":"named","name":"--slow","format":"boolean","default":"true"}]}]`,
			given: []string{"fast=true", "slow=false"}, want: "npx -y @acme/weather@1.2.3 --fast"},
		"a flag that is none": {members: npm + `,"packageArguments":[{"type":"named","name":"--fast","format":"boolean","description":"Fast"}]}]`,
			given: []string{"fast=yes"}, says: `fast is one of true, false, not "yes"`},
		"an argument that is none": {members: npm + `,"packageArguments":[{"type":"named","name":"--mode","description":"Mode"}]}]`,
			given: []string{"mod=x"}, says: `it has no argument "mod": did you mean "mode"?`},
		"repeated": {members: npm + `,"packageArguments":[{"type":"positional","valueHint":"dir","description":"Folder","isRequired":true,"isRepeated":true}]}]`,
			given: []string{"dir=/a", "dir=/b"}, want: "npx -y @acme/weather@1.2.3 /a /b"},
		"repeated at a terminal": {members: npm + `,"packageArguments":[{"type":"positional","valueHint":"dir","description":"Folder","isRepeated":true}]}]`,
			typed: "/a\n/B\n\n", want: "npx -y @acme/weather@1.2.3 /a /B"},
		"needed": {members: npm + `,"packageArguments":[{"type":"positional","valueHint":"dir","isRequired":true}],"environmentVariables":[{"name":"UNIT","isRequired":true}]}]`,
			says: "it needs to know dir, UNIT: give each with --arg"},
		//report: Command | microsoft/apm#1391, microsoft/apm#2377 | an image needs a mount whose source is a variable of runtimeArguments, and the argument is dropped, or stays {source} | it is asked for, or given with `--arg source=PATH`, and stands before the image
		"variables of docker": {members: oci + mount + `]}]`, given: []string{"source=/home/ann"}, want: "docker run -i --rm -v /home/ann:/data ghcr.io/acme/weather:1.2.3"},
		//report: Command | microsoft/apm#2438 | a second argument refers to a variable that the first one declares, and is started with {dir} in it; the default is taken without a question | the variable is meant wherever the package names it, although the schema would leave the text as it is; at a terminal it is asked for, with the default
		"variable declared once": {members: oci + `,"runtimeArguments":[{"type":"named","name":"-v","value":"{dir}:/w","variables":{"dir":{"default":"/tmp/w"}}},{"type":"named","name":"-w","value":"{dir}/{x}"}]}]`,
			typed: "/Work\n", want: "docker run -i --rm -v /Work:/w -w /Work/{x} ghcr.io/acme/weather:1.2.3"},
		//report: Command | tastytrade/tastytrade-mcp#6, github/github-mcp-server#1217 | the entry of an image itself says run, -i and --rm, as words or as flags with the value true, or -it, and clients say them twice | each stands there once, and never with a terminal, which would spoil the output
		"docker says run": {members: oci + `,"runtimeArguments":[{"type":"positional","value":"run"},{"type":"named","name":"-it","format":"boolean","value":"true"},{"type":"named","name":"--rm","format":"boolean","value":"true"},{"type":"named","name":"--init","format":"boolean","value":"false"}]}]`,
			want: "docker run -i --rm ghcr.io/acme/weather:1.2.3"},
		//report: Command | microsoft/vscode#244621, elastic/mcp-server-elasticsearch#124, anomalyco/opencode#55 | a variable in the entry of an image reaches docker, and not the container | each variable of the entry is passed on by its name with -e
		"variables into a container": {members: oci + `,"environmentVariables":[{"name":"API_KEY","isRequired":true,"isSecret":true},{"name":"UNIT","default":"C"},{"name":"OFF"}]}]`,
			given: []string{"EXTRA=1"}, want: "docker run -i --rm -e API_KEY -e EXTRA -e UNIT ghcr.io/acme/weather:1.2.3 | API_KEY: ${API_KEY} | UNIT: C"},
		//report: Command | agentarea/agentarea#110, pinkpixel-dev/mem0-mcp#2 | a registry marks a variable as a secret, and what is typed for it is kept in clear | it becomes a reference to a variable of the environment, which the command names; a secret on the command line is refused
		"a secret in clear": {members: npm + `,"environmentVariables":[{"name":"API_KEY","isSecret":true}]}]`, given: []string{"API_KEY=sk-1234"},
			says: "API_KEY is a secret, and is not written into the file: give a reference to a variable, such as '${API_KEY}'"},
		"a secret elsewhere": {members: npm + `,"environmentVariables":[{"name":"API_KEY","isSecret":true}]}]`, given: []string{"API_KEY=${WORK_KEY}"},
			want: "npx -y @acme/weather@1.2.3 | API_KEY: ${WORK_KEY}"},
		"a secret that may be left out": {members: npm + `,"environmentVariables":[{"name":"API_KEY"}]}]`, want: "npx -y @acme/weather@1.2.3"},
		"a secret that is wanted":       {members: npm + `,"environmentVariables":[{"name":"API_KEY"}]}]`, typed: "y\n", want: "npx -y @acme/weather@1.2.3 | API_KEY: ${API_KEY}"},
		//report: Command | microsoft/vscode#290552 | the package lies in a registry of a company | npx, uvx and dnx are told so by their flag, and what is no https URL is refused
		"another source": {members: `"packages":[{"registryType":"npm","registryBaseUrl":"https://npm.acme.example/r/","identifier":"weather","version":"1.2.3"}]`,
			want: "npx -y --registry=https://npm.acme.example/r/ weather@1.2.3"},
		"a source that is none": {members: `"packages":[{"registryType":"npm","registryBaseUrl":"file:///etc","identifier":"weather","version":"1.2.3"}]`,
			says: "it comes from a place that is no https URL"},
		//report: Command | microsoft/vscode#336624, modelcontextprotocol/registry#394, modelcontextprotocol/registry#614 | the URL of a remote has a {tenant}, and is written into the file like that | it is asked for, or given with `--arg tenant=NAME`
		"URL variables": {members: `"remotes":[{"type":"streamable-http","url":"https://{tenant}.acme.example/mcp","variables":{"tenant":{"description":"Tenant"}}}]`,
			given: []string{"tenant=blue"}, want: "https://blue.acme.example/mcp"},
		"URL without its variable": {members: `"remotes":[{"type":"streamable-http","url":"https://{tenant}.acme.example/mcp","variables":{"tenant":{}}}]`, says: "it needs to know tenant"},
		"the whole URL": {members: `"remotes":[{"type":"streamable-http","url":"{base}/mcp","variables":{"base":{"isRequired":true}}}]`,
			given: []string{"base=http://localhost:80"}, want: "http://localhost:80/mcp"},
		//report: Command | vastsa/PI-Desktop#646 | a remote has the header `Authorization: Bearer {api_key}`, which is sent like that | a secret becomes a reference to a variable, named after the server, and other variables are asked for
		"header variables": {members: `"remotes":[{"type":"sse","url":"https://old.example"},{"type":"streamable-http","url":"https://acme.example/mcp","headers":[{"name":"Authorization","value":"Bearer {api_key}","isRequired":true,"variables":{"api_key":{"isSecret":true}}},{"name":"X-Region","default":"eu"},{"name":"X-Api-Key","isRequired":true}]}]`,
			want: "https://acme.example/mcp | Authorization: Bearer ${W_API_KEY} | X-Api-Key: ${W_X_API_KEY} | X-Region: eu"},
		"a header that was given": {members: `"remotes":[{"type":"sse","url":"https://acme.example/sse","headers":[{"name":"X-Region","isRequired":true}]}]`,
			given: []string{"X-Region=us"}, want: "https://acme.example/sse | X-Region: us"},
		"remote comes first":          {members: npm + `}],"remotes":[{"type":"streamable-http","url":"https://acme.example/mcp"}]`, want: "https://acme.example/mcp"},
		"a package is chosen":         {members: npm + `}],"remotes":[{"type":"streamable-http","url":"https://acme.example/mcp"}]`, kind: "npm", want: "npx -y @acme/weather@1.2.3"},
		"a package that there is not": {members: npm + `}]`, kind: "oci", says: "io.github.acme/weather has no oci: it has npm"},
		//report: Command | microsoft/vscode#308994 | a server has neither packages nor remotes, and the client shows that it can be installed | the error gives the page of the server
		"nothing":          {members: `"websiteUrl":"https://acme.example/setup"`, says: "io.github.acme/weather has no remote and no package: it has none: https://acme.example/setup"},
		"cargo":            {members: `"packages":[{"registryType":"cargo","identifier":"weather","version":"1.2.3"}]`, says: "the cargo of io.github.acme/weather is not used: nothing runs a package of this type: install it"},
		"HTTP of its own":  {members: `"packages":[{"registryType":"npm","identifier":"weather","version":"1.2.3","transport":{"type":"streamable-http","url":"http://localhost:1"}}]`, says: "it serves HTTP on this machine"},
		"another program":  {members: `"packages":[{"registryType":"npm","identifier":"weather","version":"1.2.3","runtimeHint":"bash","runtimeArguments":[{"value":"-c"}]}]`, says: "its arguments are for another program than npx"},
		"the next package": {members: `"packages":[{"registryType":"npm","identifier":"weather","version":"latest"},{"registryType":"pypi","identifier":"weather","version":"1.2"}]`, want: "uvx weather==1.2"},
	} {
		t.Run(name, func(t *testing.T) {
			a, _ := newAsker(c.typed, c.given...)
			r := assert.Value(Open(Official))(t)
			s, err := r.Entry(t.Context(), a, serverOf(t, c.members), "w", c.kind, &Keeper{})
			if c.says != "" {
				assert.Fails(t, err, "the entry is %v", s)
				assert.Contains(t, err.Error(), c.says)
				return
			}
			assert.OK(t, err)
			assert.Equal(t, shown(s), c.want)
			assert.True(t, s.Proposed, "its launch waits")
			assert.Equal(t, s.Description, "io.github.acme/weather 1.2.3 from "+Official)
		})
	}
}

// No text of a registry is more than a text: none runs, none is replaced by a secret, and none hides.
func TestHostileEntries(t *testing.T) {
	npm := func(identifier, version string) string {
		return `"packages":[{"registryType":"npm","identifier":"` + identifier + `","version":"` + version + `"}]`
	}
	arg := func(text string) string {
		return strings.TrimSuffix(npm("weather", "1.2.3"), "}]") + `,"packageArguments":[{"type":"positional","value":"` + text + `"}]}]`
	}
	remote := func(url, header string) string {
		return `"remotes":[{"type":"streamable-http","url":"` + url + `","headers":[{"name":"X-A","value":"` + header + `"}]}]`
	}
	for name, c := range map[string]struct{ members, want, says string }{
		"a command in the version":   {members: npm("weather", "1.2.3; rm -rf ~"), says: "no exact version"},
		"a tag":                      {members: npm("weather", "latest"), says: "no exact version"},
		"a range":                    {members: npm("weather", "1.2"), says: "no exact version"},
		"any number":                 {members: npm("weather", "1.x"), says: "no exact version"},
		"a flag":                     {members: npm("--call=rm", "1.2.3"), says: "odd name"},
		"a place":                    {members: npm("file:/tmp/x", "1.2.3"), says: "odd name"},
		"a package of git":           {members: npm("github:a/b#", "1.2.3"), says: "odd name"},
		"a second package":           {members: npm("weather evil", "1.2.3"), says: "odd name"},
		"an image of any time":       {members: `"packages":[{"registryType":"oci","identifier":"acme/weather:latest"}]`, says: "no exact version"},
		"an image without a version": {members: `"packages":[{"registryType":"oci","identifier":"localhost:5000/acme/weather"}]`, says: "no exact version"},
		"a flag of docker":           {members: `"packages":[{"registryType":"oci","identifier":"--privileged:1"}]`, says: "odd name"},
		"a variable":                 {members: arg("${GITHUB_TOKEN}"), want: "npx -y weather@1.2.3 ${DOLLAR:-$}{GITHUB_TOKEN}"},
		"a bare variable":            {members: arg("$HOME"), want: "npx -y weather@1.2.3 ${DOLLAR:-$}HOME"},
		"a file":                     {members: remote("https://evil.example", "${file:/home/ann/.ssh/id_rsa}"), says: "or a reference of another program"},
		"a file of OpenCode":         {members: remote("https://evil.example", "{file:/home/ann/.ssh/id_rsa}"), says: "what is said of X-A has characters that cannot be seen, or a reference"},
		"null":                       {members: `"packages":[{"registryType":"npm","identifier":"weather","version":"1.2.3","runtimeArguments":[null],"packageArguments":[null,{"value":"{x}","variables":{"x":null}}],"environmentVariables":[null,{"value":"x"}]}]`, want: "npx -y weather@1.2.3 {x}"},
		"null elsewhere":             {members: `"remotes":[{"type":"streamable-http","url":"https://acme.example","headers":[null],"variables":null}]`, want: "https://acme.example"},
		"a header of two lines":      {members: `"remotes":[{"type":"streamable-http","url":"https://acme.example","headers":[{"name":"X-A\r\nX-B","value":"1"}]}]`, says: "cannot be seen"},
		"the terminal":               {members: arg(`\u001b[2J`), says: "cannot be seen"},
		"two lines":                  {members: arg(`a\nb`), says: "cannot be seen"},
		"the other way round":        {members: arg(`\u202egnp.exe`), says: "cannot be seen"},
		"a loopback address":         {members: remote("https://127.0.0.1:7411/mcp", "x"), says: "leads to this machine"},
		"the address of a cloud":     {members: remote("https://169.254.169.254/", "x"), says: "its remote is not added"},
		"no encryption":              {members: remote("http://acme.example", "x"), says: "it must be https"},
		"a file for a URL":           {members: remote("file:///etc/passwd", "x"), says: "is neither https nor http"},
	} {
		t.Run(name, func(t *testing.T) {
			a, _ := newAsker("")
			s, err := assert.Value(Open(Official))(t).Entry(t.Context(), a, serverOf(t, c.members), "w", "", &Keeper{})
			if c.says != "" {
				assert.Fails(t, err, "the entry is %v", s)
				assert.Contains(t, err.Error(), c.says)
				return
			}
			assert.OK(t, err)
			assert.Equal(t, shown(s), c.want)
		})
	}
}

// What is shown at the terminal is plain, whatever a registry says.
func TestQuestionsArePlain(t *testing.T) {
	a, text := newAsker("x\n")
	s := serverOf(t, `"packages":[{"registryType":"npm","identifier":"weather","version":"1.2.3","packageArguments":[{"type":"positional","valueHint":"dir","description":"\u001b[2J\u202eFolder","default":"/d"}]}]`)
	_, err := assert.Value(Open(Official))(t).Entry(t.Context(), a, s, "w", "", &Keeper{})
	assert.OK(t, err)
	assert.Equal(t, text.String(), "dir: <U+001B>[2J<U+202E>Folder [/d] ")
}

// Of bundles that are for one system each, that of this one is taken.
func TestBundleOfThisSystem(t *testing.T) {
	//report: Command | DeusData/codebase-memory-mcp#1547 | a server has one bundle for each system, which only their names tell apart | that of this system is taken, and if there is none the error says so
	other := "windows-" + runtime.GOARCH
	if runtime.GOOS == "windows" {
		other = "linux-" + runtime.GOARCH
	}
	for name, used := range map[string]bool{"memory-" + runtime.GOOS + "-" + runtime.GOARCH: true, "memory": true, "memory-" + other: false} {
		w := &way{RegistryType: "mcpb", Identifier: "https://acme.example/linux-windows-darwin/" + name + ".mcpb"}
		assert.Equal(t, w.problem() == "", used, "%s", filepath.Base(w.Identifier))
	}
}
