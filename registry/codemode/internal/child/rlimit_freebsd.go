package child

import "golang.org/x/sys/unix"

func rssUnit() int { return 1 << 10 }

func setBoth(limit *unix.Rlimit, most uint64) { limit.Cur, limit.Max = int64(most), int64(most) }
