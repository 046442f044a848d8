package main

import (
	"fmt"
	"os"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/mcap"
)

// checkRecorder returns an error if a bridge would record over what is replayed.
func (s *replaySession) checkRecorder(b *bridges.Bridge) error {
	if b.Info().Type != (mcap.Factory{}).Info().Type {
		return nil
	}
	replaced, err := mcap.Replaces(b.Connection(), s.flags.out)
	if err != nil {
		return err
	}
	for _, path := range replaced {
		there, err := os.Stat(path)
		if err != nil {
			continue // a link to nothing is nothing that is replayed
		}
		for _, source := range s.reader.Files() {
			if info, err := os.Stat(source); err == nil && os.SameFile(info, there) {
				return fmt.Errorf("--bridge %s:%s would overwrite %s, which is to be replayed: give it another name, or another --out",
					b.Info().Name, b.Connection(), source)
			}
		}
	}
	return nil
}
