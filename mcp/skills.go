package mcp

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mcpbelt/mcpbelt/internal/plain"
	"github.com/mcpbelt/mcpbelt/internal/protocol"
)

// Bounds of a skill: the first two are those of the extension, up to which a host takes all.
const (
	maxSkillFiles       = 512
	maxSkillBytes       = 16 << 20
	maxSkillDepth       = 32   // names in the path of a file
	maxSkillDescription = 1024 // characters
)

// SkillFile is the file in the folder of each skill that has its instructions.
const SkillFile = "SKILL.md"

// A Skill is the entry of a skill of a server: instructions for a model, in a folder of files.
// All of it is text of the server. Its name is no identity: server and URI are.
type Skill struct {
	// URI is that of its SKILL.md, whose folder has the name of the skill.
	URI string
	// Name is that in the front matter: 1 to 64 of a-z, 0-9 and single hyphens.
	Name string
	// Description is that in the front matter: 1 to 1024 characters.
	Description string
	// Frontmatter is all that stands before the text of SKILL.md, as JSON.
	Frontmatter json.RawMessage
	// Files are all files, SKILL.md among them: at most 512, of 16 MiB together. Nil if
	// the skill is dynamic.
	Files []SkillResource
	// Dynamic says that the server makes the content at each reading: nothing vouches for it.
	Dynamic bool
}

// A SkillResource is a file of a skill.
type SkillResource struct {
	Path   string // below the folder of the skill, with slashes, such as "templates/a.md"
	URI    string // as the server has it
	Digest string // "sha256:" and 64 hexadecimal digits, of its bytes
	Size   int64  // in bytes
}

// Root is the URI of the folder of the skill, without a slash at the end.
func (s *Skill) Root() string { return strings.TrimSuffix(s.URI, "/"+SkillFile) }

func offersSkills(conn *connection) bool {
	return conn.info.capabilities.Extensions[protocol.ExtensionSkills] != nil
}

// Skills yields the skills that the server lists, as [Client.Resources] does its resources. A
// server that does not declare the extension io.modelcontextprotocol/skills is not asked. It may
// serve skills that it does not list, see [Client.GetSkill].
//
// A skill that is none is left out, see [Client.ListProblems]: one with a name, a description or
// digests that are not sound, with more files or bytes than [Skill] says, with a file that
// is listed twice or lies outside of its folder.
func (c *Client) Skills(ctx context.Context) iter.Seq2[*Skill, error] {
	return each(ctx, c, &list[Skill]{
		method:  protocol.ListSkills,
		member:  "skills",
		noun:    "skill",
		offered: offersSkills,
		decode: func(raw []byte, _ bool) (*Skill, bool, error) {
			s, err := decodeSkill(raw)
			return s, false, err
		},
		key: func(s *Skill) string { return s.URI },
	})
}

// GetSkill returns the entry of a skill by the URI of its SKILL.md, as it is now. The error
// is [ErrResourceNotFound] if the server has no such skill, [errors.ErrUnsupported] if it does not
// declare the extension, and otherwise as for [Client.CallTool].
func (c *Client) GetSkill(ctx context.Context, uri string, opts *RequestOptions) (*Skill, error) {
	x := &exchange{}
	x.begin(c, protocol.GetSkill, opts, member{"uri", appendQuoted(nil, uri)})
	if err := x.offered(ctx, "has no skills", offersSkills); err != nil {
		return nil, err
	}
	s, err := fetch(ctx, x, opts, func(raw json.RawMessage, modern bool) (s *Skill, need *inputRequired, err error) {
		need, err = decodeResult(raw, modern, field{name: "skill", into: by(&s, decodeSkill)})
		if s != nil && s.URI != uri {
			err = at("skill.uri", errors.New("it is that of another skill"))
		}
		return finished(s, need, err, "skill", s == nil)
	})
	if err != nil && (x.missing(err) || refusalCode(err) == jsonrpc.CodeInvalidParams) {
		err = &notFoundError{err}
	}
	return s, err
}

// ReadSkillFile reads a file of a skill by its path, such as [SkillFile], and returns its bytes, which have size and digest
// of the entry: a mismatch is a [*ProtocolError]. That a digest matches says that entry and file are consistent, not that
// either may be trusted. Of a dynamic skill SKILL.md alone can be read, unchecked. For a path that the entry does not list
// the error is [ErrResourceNotFound], and nothing is asked. Other errors are those of [Client.ReadResource].
func (c *Client) ReadSkillFile(ctx context.Context, s *Skill, path string, opts *RequestOptions) ([]byte, error) {
	if s == nil {
		return nil, WithOutcome(errors.New("mcp: the skill is nil"), NotSent)
	}
	f := SkillResource{Path: SkillFile, URI: s.URI}
	switch i := slices.IndexFunc(s.Files, func(f SkillResource) bool { return f.Path == path }); {
	case i >= 0:
		f = s.Files[i]
	case !s.Dynamic || path != SkillFile:
		return nil, WithOutcome(&notFoundError{fmt.Errorf("mcp: server %q: skill %s lists no file %s", c.name, plain.Quote(s.URI), plain.Quote(path))}, NotSent)
	}
	res, err := c.ReadResource(ctx, f.URI, opts)
	if err != nil {
		return nil, err
	}
	var data []byte
	if len(res.Contents) == 1 {
		data = append(res.Contents[0].Blob, res.Contents[0].Text...) // it has one of them
	}
	digest := sha256.Sum256(data)
	switch {
	case len(res.Contents) != 1:
		err = fmt.Errorf("there are %d contents, not one", len(res.Contents))
	case len(data) > maxSkillBytes:
		err = &LimitError{"bytes of a skill", maxSkillBytes}
	case s.Dynamic:
	case int64(len(data)) != f.Size:
		err = fmt.Errorf("it has %d bytes, the skill says %d", len(data), f.Size)
	case "sha256:"+hex.EncodeToString(digest[:]) != f.Digest:
		err = errors.New("its digest is not that which the skill says")
	}
	if err != nil {
		return nil, &ProtocolError{Server: c.name, Method: protocol.ReadResource, Path: f.URI, Err: err}
	}
	return data, nil
}

// ReadDirectory yields the files and folders in a folder of resources, such as [Skill.Root] of a dynamic
// skill, as [Client.Resources] does resources. Folders have the MIME type inode/directory. A server
// that does not declare to read directories is not asked. Of a skill that lists its files
// they are the truth, and not what this yields.
func (c *Client) ReadDirectory(ctx context.Context, uri string) iter.Seq2[*Resource, error] {
	return each(ctx, c, &list[Resource]{
		method: protocol.ReadDirectory,
		member: "resources",
		about:  []member{{"uri", appendQuoted(nil, uri)}},
		noun:   "resource",
		offered: func(conn *connection) bool {
			settings, _ := conn.info.capabilities.Extensions[protocol.ExtensionSkills].(map[string]any)
			return settings["directoryRead"] == true
		},
		decode: func(raw []byte, _ bool) (*Resource, bool, error) { return decodeItem[Resource](raw, "uri") },
		key:    func(r *Resource) string { return r.URI },
	})
}

var (
	skillName   = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)
	skillDigest = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)
	uriScheme   = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]*:`)
)

// CheckSkill returns what is wrong with the name and the description of a skill by the rules of Agent
// Skills, or nil.
func CheckSkill(name, description string) error {
	switch {
	case len(name) > 64 || !skillName.MatchString(name):
		return errors.New("the name must be 1 to 64 of a-z, 0-9 and single hyphens between them")
	case strings.TrimSpace(description) == "":
		return errors.New("the description is missing")
	case utf8.RuneCountInString(description) > maxSkillDescription:
		return &LimitError{"characters of a description", maxSkillDescription}
	}
	return nil
}

// decodeSkill decodes the entry of a skill, and checks all of it.
func decodeSkill(raw []byte) (*Skill, error) {
	s := &Skill{}
	var resources json.RawMessage
	err := decodeObject(raw, field{name: "uri", into: &s.URI, need: true}, field{name: "frontmatter", into: &s.Frontmatter}, field{name: "resources", into: &resources})
	if err == nil {
		err = at("frontmatter", decodeObject(s.Frontmatter, field{name: "name", into: &s.Name}, field{name: "description", into: &s.Description}))
	}
	if err == nil {
		err = at("frontmatter", CheckSkill(s.Name, s.Description))
	}
	switch root, ok := strings.CutSuffix(s.URI, "/"+SkillFile); {
	case err != nil:
		return nil, err
	case !ok || !uriScheme.MatchString(s.URI) || root[strings.LastIndexAny(root, "/:")+1:] != s.Name:
		return nil, at("uri", fmt.Errorf("it must be a URI that ends in the name of the skill and %s", SkillFile))
	case string(resources) == `"dynamic"`:
		s.Dynamic = true
		return s, nil
	case resources == nil:
		return nil, at("resources", errMissing)
	}
	var total int64
	seen := map[string]bool{}
	err = arrayOf(&s.Files, func(raw []byte) (f SkillResource, err error) {
		if len(s.Files) == maxSkillFiles {
			return f, &LimitError{"files of a skill", maxSkillFiles}
		}
		f.Size = -1
		if err = decodeObject(raw, field{name: "uri", into: &f.URI, need: true}, field{name: "digest", into: &f.Digest, need: true}, field{name: "size", into: &f.Size}); err != nil {
			return f, err
		}
		f.Path, err = skillPath(s.Root(), f.URI)
		switch total += min(max(f.Size, 0), math.MaxInt32); {
		case err != nil:
			return f, at("uri", err)
		case !skillDigest.MatchString(f.Digest):
			return f, at("digest", errors.New("it must be sha256: and 64 hexadecimal digits"))
		case f.Size < 0:
			return f, at("size", errMissing)
		case total > maxSkillBytes:
			return f, at("size", &LimitError{"bytes of a skill", maxSkillBytes})
		case seen[f.Path]:
			return f, at("uri", errors.New("the file is listed twice"))
		}
		seen[f.Path] = true
		return f, nil
	})(resources)
	if err == nil && !seen[SkillFile] {
		err = errors.New("there is no " + SkillFile)
	}
	return decoded(s, at("resources", err))
}

// skillPath returns the path of a file below the root of its skill. It can stand for a file on a disk.
func skillPath(root, uri string) (string, error) {
	escaped, ok := strings.CutPrefix(uri, root+"/")
	if !ok {
		return "", errors.New("it lies outside of the skill")
	}
	if strings.Count(escaped, "/") >= maxSkillDepth {
		return "", &LimitError{"depth of a skill", maxSkillDepth}
	}
	names := strings.Split(escaped, "/")
	for i := range names {
		name, err := url.PathUnescape(names[i])
		switch {
		case err != nil, strings.ContainsAny(names[i], "?#"), name == "", name == ".", name == "..", len(name) > 255, !utf8.ValidString(name),
			strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f || strings.ContainsRune(`/\:`, r) }):
			return "", fmt.Errorf("%s is no name of a file", plain.Quote(names[i]))
		}
		names[i] = name
	}
	return strings.Join(names, "/"), nil
}
