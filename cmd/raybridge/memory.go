package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/raybridge/raybridge/memory"
)

// memoryLimit is the flag --max-memory: how many bytes what files ask for may take.
type memoryLimit int64

// String is empty: help texts show no default. Set and Type make it a flag's value.
func (m *memoryLimit) String() string { return "" }

// Set reads a size.
func (m *memoryLimit) Set(text string) error {
	n, err := memory.ParseSize(text)
	if err != nil {
		return fmt.Errorf("want %w", err)
	}
	*m = memoryLimit(n)
	return nil
}

// Type is the word for the value in help texts.
func (m *memoryLimit) Type() string { return sizeType }

const sizeType = "size"

// addMemoryLimit gives a command the flag --max-memory.
func addMemoryLimit(cmd *cobra.Command, m *memoryLimit) {
	cmd.Flags().Var(m, "max-memory", "refuse models, sensors and recordings that need more than `SIZE`, such as 8GiB; half of the machine's memory without it")
}

// budget is a new budget of the limit.
func (m *memoryLimit) budget() *memory.Budget {
	if *m == 0 {
		return memory.New(memory.Default())
	}
	return memory.New(int64(*m))
}

// refused marks what needs more memory than the limit as wrong use, and says what may be done.
func refused(err error) error {
	if !errors.Is(err, memory.ErrExceeded) {
		return err
	}
	return usage(fmt.Errorf("%w: --max-memory raises it", err))
}
