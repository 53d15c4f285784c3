package names

import (
	"cmp"
	"crypto/sha256"
	"encoding/base32"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/mcpbelt/mcpbelt/internal/toolname"
)

// These stand in a name for a server or tool of which cleaning leaves nothing.
const (
	emptyServer = "server"
	emptyTool   = "tool"
)

// A spelling is a name in its parts.
type spelling struct {
	scheme    Scheme
	prefix    string // what is before the server
	server    string // empty, with its separator, if the name has none
	separator string
	tool      string
}

// spell returns the plain name of a tool in its parts.
func (s Scheme) spell(server, tool string) spelling {
	switch s {
	case MCPServerTool:
		return spelling{s, "mcp__", server, "__", tool}
	case ColonTool:
		return spelling{s, "", server, ":", tool}
	case BareTool:
		return spelling{scheme: s, tool: tool}
	}
	return spelling{ServerTool, "", server, "__", tool}
}

func (s spelling) len() int {
	return len(s.prefix) + len(s.server) + len(s.separator) + len(s.tool)
}

func (s spelling) join() string { return s.prefix + s.server + s.separator + s.tool }

// clean returns s with nothing in it that is not allowed in a name.
func (s spelling) clean() spelling {
	s.tool = cleanPart(s.tool, emptyTool)
	first := s.tool
	if s.separator != "" {
		s.server = cleanPart(s.server, emptyServer)
		first = s.server
	}
	if s.prefix == "" && !letter(first[0]) {
		s.prefix = "_"
	}
	return s
}

// splits reports whether the name shows where the server ends: at the first
// separator.
func (s spelling) splits() bool {
	return s.separator != "__" || !strings.Contains(s.server, "__") && !strings.HasSuffix(s.server, "_")
}

// endsInHash reports whether s, which is clean, looks like a name with a hash.
func (s spelling) endsInHash() bool {
	if len(s.tool) > toolname.HashLength {
		return toolname.HasHash(s.tool)
	}
	return toolname.HasHash(s.separator + s.tool)
}

// hashed returns the name that s has, cut as need be, with that hash.
func (s spelling) hashed(hash string) string {
	room := maxLength - len("_") - len(hash) - len(s.prefix) - len(s.separator)
	if s.separator != "" {
		// The server stays whole as long as the tool gets half of the room, or
		// all that it needs.
		s.server = cutPart(s.server, max(room/2, room-len(s.tool)))
	}
	s.tool = cutPart(s.tool, room-len(s.server))
	return s.join() + "_" + hash
}

// dirt matches characters that are not allowed in a name.
var dirt = regexp.MustCompile(`[^A-Za-z0-9_-]+`)

// cleanPart returns a part of a name with each run of characters that are not
// allowed replaced by an underscore, and empty if that leaves nothing to read.
func cleanPart(part, empty string) string {
	if part != "" && !dirt.MatchString(part) {
		return part
	}
	return cmp.Or(strings.Trim(dirt.ReplaceAllString(part, "_"), "_-"), empty)
}

// CleanServer returns the name of a server as it stands in the names of its tools.
func CleanServer(server string) string { return cleanPart(server, emptyServer) }

// cutPart cuts a clean part of a name to at most size bytes, at the end of a word
// unless that would lose half of them.
func cutPart(part string, size int) string {
	if len(part) <= size {
		return part
	}
	end := size
	for end > size/2 && !wordEnds(part, end) {
		end--
	}
	if end == size/2 {
		end = size
	}
	if cut := strings.TrimRight(part[:end], "_-"); cut != "" {
		return cut
	}
	return part[:end]
}

// wordEnds reports whether a word of part ends before its byte i, which is not
// the first one.
func wordEnds(part string, i int) bool {
	return part[i] == '_' || part[i] == '-' || upper(part[i]) && !upper(part[i-1])
}

var hashEncoding = sync.OnceValue(func() *base32.Encoding { return base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567") })

// hash returns the hash of a tool.
func hash(scheme Scheme, server, tool string) string {
	var data []byte
	for _, part := range []string{string(scheme), server, tool} {
		data = strconv.AppendInt(data, int64(len(part)), 10)
		data = append(data, ':')
		data = append(data, part...)
	}
	for {
		sum := sha256.Sum256(data)
		if text := hashEncoding().EncodeToString(sum[:10])[:toolname.HashLength]; toolname.IsHash(text) {
			return text
		}
		data = sum[:] // one in eight has no digit
	}
}

// letter reports whether a name may begin with c.
func letter(c byte) bool { return 'a' <= c && c <= 'z' || upper(c) || c == '_' }

func upper(c byte) bool { return 'A' <= c && c <= 'Z' }
