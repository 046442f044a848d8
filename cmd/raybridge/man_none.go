//go:build !man

package main

import "github.com/spf13/cobra"

// forPackages are none: the program that users have is without what writes man pages.
func forPackages() []*cobra.Command { return nil }
