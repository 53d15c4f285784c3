package host

// stub until approve.go has it
type UnapprovedError struct{}

func (*UnapprovedError) Error() string { return "" }
