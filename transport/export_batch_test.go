package transport

// CheckBatch is what is done before a start on Windows.
var CheckBatch = checkBatch
