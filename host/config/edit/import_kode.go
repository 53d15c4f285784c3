package edit

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/consent"
	"github.com/mcpbelt/mcpbelt/host/record"
	"github.com/mcpbelt/mcpbelt/internal/atomicfile"
	"github.com/mcpbelt/mcpbelt/internal/dialect"
	"github.com/mcpbelt/mcpbelt/internal/jsonc"
)

// kodeDecisions are the names of the servers of one .mcprc that the user has approved
// and rejected in Kode, which keeps them for each project in the user's .kode.json.
type kodeDecisions struct {
	approved, rejected []string
	err                error // why they cannot be read
}

// decisionsOf returns what the user has decided in Kode about the servers of a file, if
// that is a .mcprc.
func decisionsOf(source string) kodeDecisions {
	if dialect.BaseName(source) != ".mcprc" {
		return kodeDecisions{}
	}
	dir, err := filepath.Abs(filepath.Dir(source))
	if err != nil {
		return kodeDecisions{err: err}
	}
	folders := []string{dir}
	if real, err := filepath.EvalSymlinks(dir); err == nil && real != dir {
		folders = append(folders, real)
	}
	for _, place := range config.Find(nil) {
		if place.Client != "Kode" {
			continue
		}
		data, _, err := atomicfile.Read(place.Path, jsonc.MaxSize)
		if errors.Is(err, fs.ErrNotExist) {
			return kodeDecisions{}
		}
		if err != nil {
			return kodeDecisions{err: plainPathError(err)}
		}
		return readKodeDecisions(data, folders)
	}
	return kodeDecisions{}
}

// readKodeDecisions returns what a .kode.json says of the project with one of the folders.
func readKodeDecisions(data []byte, folders []string) (d kodeDecisions) {
	doc, err := jsonc.Parse(data)
	if err != nil {
		return kodeDecisions{err: errors.New("it is no JSON")}
	}
	projects := doc.Root.Member("projects")
	if projects == nil {
		return d
	}
	if projects.Value.Kind != jsonc.Object {
		return kodeDecisions{err: fmt.Errorf("projects must be %s, not %s", jsonc.Object, projects.Value.Kind)}
	}
	for i := range projects.Value.Members {
		m := &projects.Value.Members[i]
		if !slices.ContainsFunc(folders, func(folder string) bool { return dialect.SameFolder(m.Key, folder) }) {
			continue
		}
		for key, list := range map[string]*[]string{"approvedMcprcServers": &d.approved, "rejectedMcprcServers": &d.rejected} {
			names := m.Value.Member(key)
			if names == nil || names.Value.Kind == jsonc.Null {
				continue
			}
			if names.Value.Kind != jsonc.Array {
				return kodeDecisions{err: fmt.Errorf("%s must be %s, not %s", key, jsonc.Array, names.Value.Kind)}
			}
			for _, n := range names.Value.Elems {
				if n.Kind == jsonc.String {
					*list = append(*list, n.Text)
				}
			}
		}
	}
	return d
}

// decide takes over what the user has decided in Kode. A name that was rejected and
// approved is rejected.
func (i *importer) decide(out *Imported, r *record.Record) {
	switch d := &i.decisions; {
	case d.err != nil:
		out.lost("approval", fmt.Sprintf("cannot be read from the user's .kode.json: %v", d.err))
	case slices.Contains(d.rejected, r.Name):
		out.Decided = consent.Rejected
		r.Disabled = true
		out.Remarks = append(out.Remarks, Remark{Key: "enabled", Text: "becomes false: the user has rejected the server in Kode"})
	case slices.Contains(d.approved, r.Name):
		out.Decided = consent.Approved
		out.Remarks = append(out.Remarks, Remark{Key: "approval", Text: "the user has approved the name in Kode, whatever it ran: look at the command"})
	}
}
