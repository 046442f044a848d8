package pipeline

import (
	"errors"
	"fmt"
)

// Errors of this package; callers test them with errors.Is.
var (
	// ErrStarted: bridges must be added before the first step.
	ErrStarted = errors.New("pipeline has started")
	// ErrTopic: two outputs have one topic.
	ErrTopic = errors.New("topic is used twice")
	// ErrOutput: a sensor has no such output, or not of that type.
	ErrOutput = errors.New("no such output")
	// ErrClosed: the pipeline was closed.
	ErrClosed = errors.New("pipeline is closed")
	// ErrConfig: the configuration can't work.
	ErrConfig = errors.New("bad pipeline configuration")
)

func wrap(doing string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", doing, err)
}
