// Package queue has the cases of a sweep run by workers on any machine, through NATS JetStream.
//
// An [Engine] is the coordinator's: it puts cases into a stream, and takes the ends that workers report. A [Worker] takes
// one case at a time, runs it, and has the store keep what it gives. A [Server] is NATS itself, in this process.
//
// # What is kept where
//
// The store alone says which cases are done. The stream may hand a case out twice, when a worker was silent for longer than its
// lease, or lose it: the store takes the first result, and compares the second one with it. Each start of a coordinator makes
// a new stream from the plan and the store. So nothing that NATS loses costs more than time.
//
// # Subjects
//
// The stream sweep_ID has sweep.ID.job.CASE, where ID is the plan's. Beside it, and not kept, workers ask the coordinator on
// sweep.ID.end to take an end, and tell it on sweep.ID.worker each few seconds what they do. On sweep.ID.told the coordinator tells all workers to end
// their cases, or that the sweep is complete, and else says each few seconds that it is there.
//
// # Rounds
//
// Each start of a coordinator is a round. The stream's metadata, what the coordinator tells, and the folder name it. So a
// coordinator that has lost the folder to another one neither ends nor removes what is the other one's. The folder names the round's
// stream, too: the next coordinator removes it, which may have another plan.
//
// # Clocks
//
// Times are compared with others of the same machine alone: leases are the server's, silence is measured by who listens.
package queue

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/raybridge/raybridge/cmd/raybridge/internal/sweep"
)

// Lease is how long a worker may be silent before its cases go to others.
const Lease = 30 * time.Second

// names are those of a plan's sweep in NATS.
type names struct{ stream, jobs, end, worker, told string }

// coordinatorInbox begins the subjects of answers to the coordinator. Workers may listen below _INBOX, and not there.
const coordinatorInbox = "_INBOX_sweep_run"

// workerInbox begins the subjects of answers to workers.
const workerInbox = "_INBOX."

// consumer is that of all workers.
const consumer = "workers"

// streamPrefix begins the names of sweeps' streams.
const streamPrefix = "sweep_"

func namesOf(p *sweep.Plan) names {
	id := p.ID()
	return names{stream: streamPrefix + id, jobs: "sweep." + id + ".job.", end: "sweep." + id + ".end", worker: "sweep." + id + ".worker", told: "sweep." + id + ".told"}
}

// roundKey is where the stream's metadata has the coordinator's round.
const roundKey = "raybridge_round"

// job is what the stream has of a case.
type job struct {
	Case  string `json:"case"`
	Index int    `json:"index"` // in the plan
	Tries int    `json:"tries"` // with this one
	// Again: the case is run although it is done.
	Again bool `json:"again,omitempty"`
	// Limit is how long the case may take; 0 is without limit.
	Limit time.Duration `json:"limit,omitempty"`
	// Offer tells the offers of a case apart.
	Offer string `json:"offer"`
}

// kind is a result, or a cause of one that is told apart.
type kind string

const (
	isDone     kind = "done"
	isFailed   kind = "failed"
	isHopeless kind = "hopeless"
	isReturned kind = "returned" // the case goes to another worker
	isDiskFull kind = "disk full"
	isDeadly   kind = "deadly" // it was handed out too often, and no worker came back with it
	hasBegun   kind = "begun"
)

// report is what a worker says of a case.
type report struct {
	Worker string        `json:"worker"`
	Host   string        `json:"host"`
	Case   string        `json:"case"`
	Offer  string        `json:"offer"`
	Kind   kind          `json:"kind"`
	Err    string        `json:"err,omitempty"`
	Code   int           `json:"code,omitempty"`
	Log    string        `json:"log,omitempty"`
	Wall   time.Duration `json:"wall,omitempty"`
	Again  int           `json:"again,omitempty"` // how often the case was handed out before
	Alarm  *sweep.Alarm  `json:"alarm,omitempty"`
}

// answer is the coordinator's to a report.
type answer struct {
	// Leave says why the worker is to take no further case.
	Leave string `json:"leave,omitempty"`
}

// presence is what a worker says of itself.
type presence struct {
	sweep.WorkerState
	// Leaving says that it takes no further case, and Why, if that isn't as it should be.
	Leaving bool   `json:"leaving,omitempty"`
	Why     string `json:"why,omitempty"`
}

// told is what the coordinator of a round says to all workers.
type told struct {
	Round string `json:"round"`
	// Complete: all cases are done or have failed. End: the cases that run are to end, and count for nothing.
	Complete bool `json:"complete,omitempty"`
	End      bool `json:"end,omitempty"`
}

// Limits of requests. One that a cluster without a leader gets is never answered.
const (
	requestLimit = 2 * time.Second
	settleLimit  = 30 * time.Second
)

// ask repeats a request until it is answered, or until an election of a leader would have been over.
func ask[T any](ctx context.Context, request func(context.Context) (T, error)) (T, error) {
	began := time.Now()
	for {
		limited, cancel := context.WithTimeout(ctx, requestLimit)
		v, err := request(limited)
		cancel()
		patience := settleLimit
		if errors.Is(err, nats.ErrNoResponders) { // as where there is no JetStream
			patience = requestLimit
		}
		if err == nil || !passes(err) || ctx.Err() != nil || time.Since(began) > patience {
			return v, err
		}
		if pause(ctx, 100*time.Millisecond) != nil {
			return v, err
		}
	}
}

// persist is ask without an end: what is answered only after a long time is as good. It warns once.
func persist[T any](ctx context.Context, request func(context.Context) (T, error), warn func(error)) (T, error) {
	for said := false; ; said = true {
		v, err := ask(ctx, request)
		if err == nil || !passes(err) || ctx.Err() != nil {
			return v, err
		}
		if !said {
			warn(err)
		}
	}
}

// passes reports whether a request that failed so may succeed later.
func passes(err error) bool {
	for _, e := range []error{context.DeadlineExceeded, nats.ErrTimeout, nats.ErrNoResponders, jetstream.ErrNoStreamResponse, nats.ErrDisconnected, nats.ErrConnectionReconnecting, nats.ErrReconnectBufExceeded, nats.ErrStaleConnection} {
		if errors.Is(err, e) {
			return true
		}
	}
	var api *jetstream.APIError
	const unavailable = 503
	if !errors.As(err, &api) {
		return false
	}
	return api.ErrorCode == noStore || api.Code == unavailable && !errors.Is(err, jetstream.ErrJetStreamNotEnabled) && !errors.Is(err, jetstream.ErrJetStreamNotEnabledForAccount)
}

// pause waits, and says why it didn't.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d/2 + rand.N(d))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Errors of sweeps on NATS.
var (
	// ErrUnreachable says that no server answers.
	ErrUnreachable = errors.New("no NATS server answers")
	// ErrCredentials says that the server doesn't take the credentials.
	ErrCredentials = errors.New("the NATS server doesn't take the credentials")
	// ErrPermissions says that the server doesn't let the user do what a coordinator does.
	ErrPermissions = errors.New("the NATS server forbids this user what sweep run needs: is it the workers' user?")
	// ErrCertificate says that the server's certificate isn't the one that it should be.
	ErrCertificate = errors.New("the NATS server has another certificate")
	// ErrJetStream says that the server has no JetStream.
	ErrJetStream = errors.New("the NATS server has no JetStream")
	// ErrForeignStream says that the server has a stream of the sweep's name that isn't the folder's.
	ErrForeignStream = errors.New("isn't this folder's")
	// ErrNotShared says that the folder isn't the coordinator's, though it has the same plan.
	ErrNotShared = errors.New("isn't the folder of the sweep run that has put out the cases")
	// ErrNoSweep says that no sweep run has put out the cases of the plan.
	ErrNoSweep = errors.New("no sweep run has put out the cases of this plan")
	// ErrSickWorker says that a worker fails what others don't.
	ErrSickWorker = errors.New("three different cases in a row failed here, while other workers succeed")
	// ErrListen says that the server of this process can't have its address.
	ErrListen = errors.New("the address can't be listened at")
	// ErrNoServer says that the program has no NATS server.
	ErrNoServer = errors.New("this program has no NATS server")
)

// streamFault names what a server says of a stream.
func streamFault(err error, stream string) error {
	var api *jetstream.APIError
	switch {
	case errors.Is(err, nats.ErrNoResponders), errors.Is(err, jetstream.ErrJetStreamNotEnabled), errors.Is(err, jetstream.ErrJetStreamNotEnabledForAccount):
		return fmt.Errorf("%w (for this account): start it with -js, or use another account: %w", ErrJetStream, err)
	case errors.As(err, &api) && (api.ErrorCode == jetstream.JSErrCodeStreamNameInUse || api.ErrorCode == subjectsOverlap):
		return fmt.Errorf("stream %s %w: %w: nats stream rm removes it", stream, ErrForeignStream, err)
	case errors.As(err, &api) && api.ErrorCode == storeFull:
		return fmt.Errorf("stream %s: the NATS server has no room: its limit of storage or memory is reached, or the account's: %w", stream, err)
	case errors.As(err, &api) && api.ErrorCode == noStore:
		return fmt.Errorf("stream %s: the server can't write its files: has it room? %w", stream, err)
	case passes(err):
		return fmt.Errorf("stream %s: no answer, as from a cluster without a leader: %w", stream, err)
	}
	return fmt.Errorf("stream %s: %w", stream, err)
}

const (
	// subjectsOverlap is the code of a stream whose subjects are another one's.
	subjectsOverlap = 10065
	// storeFull is the code of a server whose limits are reached.
	storeFull = 10023
)

// noStore is the code of a stream whose files can't be made. It passes where the last stream was just removed: the server removes the
// folder of streams a little later.
const noStore = 10049
