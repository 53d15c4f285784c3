// Package protocol has the names of the Model Context Protocol: its revisions, its methods and
// notifications, and the members of _meta that it reserves.
package protocol

import "slices"

// Requests of a client.
const (
	Initialize    = "initialize"
	Discover      = "server/discover"
	Ping          = "ping"
	ListTools     = "tools/list"
	CallTool      = "tools/call"
	ListResources = "resources/list"
	ListTemplates = "resources/templates/list"
	ReadResource  = "resources/read"
	Subscribe     = "resources/subscribe"
	Unsubscribe   = "resources/unsubscribe"
	ListPrompts   = "prompts/list"
	GetPrompt     = "prompts/get"
	Complete      = "completion/complete"
	SetLogLevel   = "logging/setLevel"
	Listen        = "subscriptions/listen"
	GetTask       = "tasks/get"
	TaskResult    = "tasks/result"
	UpdateTask    = "tasks/update"
	CancelTask    = "tasks/cancel"
	ListTasks     = "tasks/list"
	ListSkills    = "skills/list"
	GetSkill      = "skills/get"
	ReadDirectory = "resources/directory/read"
)

// Requests of a server. In revision 2026-07-28 they come with a result.
const (
	Elicit    = "elicitation/create"
	Sample    = "sampling/createMessage"
	ListRoots = "roots/list"
)

// Notifications.
const (
	NoteInitialized      = "notifications/initialized"
	NoteCancelled        = "notifications/cancelled"
	NoteProgress         = "notifications/progress"
	NoteMessage          = "notifications/message"
	NoteToolsChanged     = "notifications/tools/list_changed"
	NoteResourcesChanged = "notifications/resources/list_changed"
	NotePromptsChanged   = "notifications/prompts/list_changed"
	NoteRootsChanged     = "notifications/roots/list_changed"
	NoteResourceUpdated  = "notifications/resources/updated"
	NoteAcknowledged     = "notifications/subscriptions/acknowledged"
	NoteElicited         = "notifications/elicitation/complete"
	NoteTaskStatus       = "notifications/tasks/status"
)

// Members of _meta.
const (
	MetaVersion      = "io.modelcontextprotocol/protocolVersion"
	MetaClient       = "io.modelcontextprotocol/clientInfo"
	MetaCapabilities = "io.modelcontextprotocol/clientCapabilities"
	MetaServer       = "io.modelcontextprotocol/serverInfo"
	MetaLogLevel     = "io.modelcontextprotocol/logLevel"
	MetaSubscription = "io.modelcontextprotocol/subscriptionId"
	MetaTask         = "io.modelcontextprotocol/related-task"
)

// Fields of HTTP requests and responses.
const (
	HeaderSession = "Mcp-Session-Id"
	HeaderVersion = "Mcp-Protocol-Version"
	HeaderMethod  = "Mcp-Method"
	HeaderName    = "Mcp-Name"
	HeaderEvent   = "Last-Event-Id"
)

// NamedBy returns the parameter of a request that the field Mcp-Name repeats from revision 2026-07-28 on; "" if it has no
// such field.
func NamedBy(method string) string {
	switch method {
	case CallTool, GetPrompt:
		return "name"
	case ReadResource:
		return "uri"
	case GetTask, UpdateTask, CancelTask:
		return "taskId"
	}
	return ""
}

// ListsItems reports whether a method asks for a list whose items are checked one by one: a bad one costs no other.
func ListsItems(method string) bool {
	return slices.Contains([]string{ListTools, ListResources, ListTemplates, ListPrompts, ListSkills, ReadDirectory}, method)
}

// ExtensionTasks is the extension of revision 2026-07-28 that lets a server answer with a task.
const ExtensionTasks = "io.modelcontextprotocol/tasks"

// ExtensionApps is the extension by which servers have pages that programs show.
const ExtensionApps = "io.modelcontextprotocol/ui"

// ExtensionSkills is the extension by which servers publish skills.
const ExtensionSkills = "io.modelcontextprotocol/skills"

// Codes of errors that the protocol adds to those of JSON-RPC.
const (
	CodeResourceNotFound = -32002 // before revision 2026-07-28
	CodeURLRequired      = -32042 // revision 2025-11-25: a page is to be visited first
	CodeHeaderMismatch   = -32020
)
