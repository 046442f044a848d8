//go:build !nonatsserver

package queue

// WorkerPermissions are what a worker needs of a server.
var WorkerPermissions = workerPermissions
