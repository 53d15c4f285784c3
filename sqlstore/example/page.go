package main

const pagesHTML = `{{define "top"}}<!DOCTYPE html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Agents</title>
{{end}}

{{define "login"}}{{template "top"}}
{{if .URL}}<p><a href="{{.URL}}" rel="noreferrer">Log in at {{.Server}}</a>, on a page of {{.Host}}</p>
{{else}}<p>You are logged in at {{.Server}}.</p>
{{end}}<p><a href="/">Back</a></p>
{{end}}

{{define "home"}}{{template "top"}}
{{if not .User}}<form method="post" action="/signin"><label>Who are you? <input name="user" required></label> <button>Sign in</button></form>
{{else}}<p>You are {{.User}}, at replica {{.Replica}}. <a href="/">Look again</a></p>

<h2>Your servers</h2>
{{range .Servers}}{{$server := .Name}}<p id="server-{{.Name}}">{{.Name}}: {{.Stage}}, {{.Tools}} tools{{if ne .Stage "login"}}{{with .Err}}: {{.}}{{end}}{{end}}</p>
{{if eq .Stage "login"}}<form method="post" action="/servers/{{.Name}}/login"><button>Log in at {{.Name}}</button></form>
{{end}}{{range .Changes}}<form method="post" action="/servers/{{$server}}/accept">{{$server}} has changed: {{.Summary}}
<input type="hidden" name="hash" value="{{.Hash}}"><button>Accept</button></form>
{{end}}<form method="post" action="/servers/{{.Name}}/remove"><button>Remove {{.Name}}</button></form>
{{end}}<form method="post" action="/servers"><label>Name <input name="name" required></label> <label>URL <input name="url" type="url" required></label>
<label><input name="trust" type="checkbox"> believe which of its tools only read</label> <button>Add</button></form>

<h2>Your tools</h2>
<ul>{{range .Tools}}<li><b>{{.Name}}</b> {{.Description}}</li>
{{end}}</ul>

<h2>Your agent</h2>
<pre>{{range .Transcript}}{{.}}
{{end}}</pre>
{{range .Waiting}}<form method="post" action="/calls/{{.ID}}">May the agent call <b>{{.Tool.Name}}</b> with <code>{{printf "%s" .Args}}</code>? {{.Reason}}
<button name="decision" value="approve">Approve</button> <button name="decision" value="deny">Deny</button></form>
{{end}}<form method="post" action="/prompt"><input name="prompt" size="60" required placeholder="today; notes__list"> <button>Prompt</button></form>
{{end}}{{end}}`
