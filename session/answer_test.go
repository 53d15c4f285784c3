package session

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpbelt/mcpbelt/auth"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/storage"
)

// A timedDisk notes how long the first save may take.
type timedDisk struct {
	storage.Store
	patience time.Duration
}

func (d *timedDisk) Save(ctx context.Context, name string, data []byte, old storage.Revision) (storage.Revision, error) {
	if deadline, ok := ctx.Deadline(); ok && d.patience == 0 {
		d.patience = time.Until(deadline)
	}
	return d.Store.Save(ctx, name, data, old)
}

// The journal tells others for how long the refresh token may be on its way: it
// must not be old when that is sent.
func TestJournalIsWrittenSoon(t *testing.T) {
	w := newWorld(t, nil, nil)
	disk := &timedDisk{Store: storage.NewMemory()}
	w.keepIn(disk)
	m := w.manager(nil)
	w.mustLogIn(m, alice)
	w.as.ExpireAll()
	disk.patience = 0
	w.mustCall(m, alice)
	assert.Equal(t, [...]any{disk.patience == 0, disk.patience+requestTime > leaseTime}, [...]any{false, false}, "the journal may take")
}

// An answer that could not be saved is saved as soon as that is possible, though
// nobody asks for it.
func TestAnswerIsSavedLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := Memory()
		config := &auth.Config{Server: "s", URL: "https://mcp.example.com/mcp"}
		m := assert.Value(NewManager(s, &Options{Config: func(Key) (*auth.Config, error) { return config, nil }}))(t)
		defer m.Close()
		e := m.entry(alice)
		ctx, stop := context.WithCancel(t.Context())
		stop() // as if it had taken too long
		grant := &auth.TokenSet{Token: auth.Token{Access: "a", Type: "Bearer"}}
		assert.Fails(t, e.keep(ctx, &answer{grant: grant, url: config.URL, login: true}, true), "it is saved already")
		time.Sleep(time.Minute)
		r, _, err := m.load(t.Context(), alice, e.name)
		assert.OK(t, err)
		assert.Equal(t, r.Grant != nil, true, "the answer is still not saved")
		assert.Equal(t, e.takeUnsaved() == nil, true, "it is still kept")
	})
}
