//go:build !nonatsserver

package queue

import "context"

// WorkerPermissions are what a worker needs of a server.
var WorkerPermissions = workerPermissions

// StreamFault names what a server says of a stream.
var StreamFault = streamFault

// Persist repeats a request.
func Persist(ctx context.Context, request func(context.Context) error, warn func(error)) error {
	_, err := persist(ctx, func(ctx context.Context) (struct{}, error) { return struct{}{}, request(ctx) }, warn)
	return err
}
