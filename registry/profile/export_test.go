package profile

// Object is what arguments become before they go back.
var Object = object
