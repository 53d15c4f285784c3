package session

import (
	"context"
	"testing"
	"time"

	"github.com/mcpbelt/mcpbelt/session/driver"
)

// A timedDisk notes how long the first save may take.
type timedDisk struct {
	driver.Store
	patience time.Duration
}

func (d *timedDisk) Save(ctx context.Context, name string, data []byte, old driver.Revision) (driver.Revision, error) {
	if deadline, ok := ctx.Deadline(); ok && d.patience == 0 {
		d.patience = time.Until(deadline)
	}
	return d.Store.Save(ctx, name, data, old)
}

// The journal tells others for how long the refresh token may be on its way: it
// must not be old when that is sent.
func TestJournalIsWrittenSoon(t *testing.T) {
	w := newWorld(t, nil, nil)
	disk := &timedDisk{Store: w.store.driver}
	w.store.driver = disk
	m := w.manager(nil)
	w.mustLogIn(m, alice)
	w.as.ExpireAll()
	disk.patience = 0
	w.mustCall(m, alice)
	if disk.patience == 0 || disk.patience+requestTime > leaseTime {
		t.Errorf("the journal may take %v, the request %v, and is believed for %v", disk.patience, requestTime, leaseTime)
	}
}
