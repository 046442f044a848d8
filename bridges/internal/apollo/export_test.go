package apollo

// PutVarint is putVarint.
var PutVarint = putVarint
