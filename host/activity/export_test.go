package activity

// SetMost sets how many bytes the file may have.
func (f *File) SetMost(most int64) { f.most = most }
