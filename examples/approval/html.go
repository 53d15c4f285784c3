package main

const pageStyle = `
body { font: 1em/1.5 sans-serif; max-width: 50em; margin: 2em auto; padding: 0 1em }
.model::before { content: "agent: " } .call::before { content: "calls " } .result::before { content: "gets " }
.call, .result, pre { font-family: monospace; white-space: pre-wrap; overflow-wrap: anywhere }
section { border: 2px solid #b50; padding: 0 1em; margin: 1em 0 } form { margin: 1em 0 }
`

// pageScript loads the page again when something has happened.
const pageScript = `
(async function () {
  for (;;) {
    const res = await fetch("/changed?lines=" + document.body.dataset.lines);
    if (res.status === 200) { location.reload(); return }
    if (res.status !== 204) return;
  }
})();
`

// The two forms are apart so that the Enter key in the reason refuses, and does not
// press the first button.
const pageHTML = `<!DOCTYPE html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Approval</title>
<style>{{.Style}}</style>
<body data-lines="{{len .Lines}}">
<h1>The agent at work</h1>
{{range .Lines}}<p class="{{.Kind}}">{{visible .Text}}</p>
{{end}}
{{- range .Waiting}}<section>
<h2>May the agent run {{visible .Tool.Name}}?</h2>
<p>{{with .Tool.Title}}{{visible .}}: {{end}}{{visible .Tool.Description}}</p>
<p>{{if .Tool.Origin.Server}}A tool of the server {{visible .Tool.Origin.Server}}, called {{visible .Tool.Origin.Tool}} there{{else}}A tool of this program{{end}}.
{{- with .Reason}} You are asked because {{visible .}}.{{end}}</p>
<p>{{if not .Hints.Annotated}}It does not say what it does{{else}}{{if .Trusted}}It says{{else}}Its server, which is not trusted, says{{end}} that it
{{if .Hints.ReadOnly}}changes nothing{{else if .Hints.Destructive}}may destroy something{{else}}changes something, but destroys nothing{{end}}{{if .Hints.Idempotent}}, and does no more when it runs twice{{end}}{{end}}.</p>
<p>With these arguments:</p>
<pre>{{visible .Args}}</pre>
<p>The call waits until {{.Expires.Format "15:04:05"}}.</p>
<form method="post" action="/answer">
<input type="hidden" name="token" value="{{$.Token}}">
<input type="hidden" name="id" value="{{.ID}}">
<button name="decision" value="approve">Approve</button>
<button name="decision" value="session">Approve for this session</button>
</form>
<form method="post" action="/answer">
<input type="hidden" name="token" value="{{$.Token}}">
<input type="hidden" name="id" value="{{.ID}}">
<button name="decision" value="refuse">Refuse</button>
<label>because <input name="reason" maxlength="200"></label>
</form>
</section>
{{end}}
<script>{{.Script}}</script>
</html>
`
