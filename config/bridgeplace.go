package config

import (
	"errors"
	"fmt"

	"github.com/raybridge/raybridge/internal/yamldoc"
)

// placeBridges remembers where the file's bridges stand.
func (c *Config) placeBridges(list yamldoc.Node) {
	c.bridgePlaces, _ = list.Items() // what is wrong there is told when it is decoded
}

// InBridge returns an error of the bridge at an index with the place that it has in the
// file, file, line and column: that of the bridge's key, or of the whole bridge where it
// doesn't have the key. An error of a bridge that isn't the file's, one that has a place,
// and nil stay as they are.
func (c *Config) InBridge(index int, key string, err error) error {
	var placed *yamldoc.Error
	if err == nil || index >= len(c.bridgePlaces) || errors.As(err, &placed) {
		return err
	}
	entries, _ := c.bridgePlaces[index].Entries() // it was decoded
	for _, e := range entries {
		if e.Key == key {
			return e.Value.Errorf("%w", err)
		}
	}
	return c.bridgePlaces[index].Errorf("%w", fmt.Errorf("%s: %w", key, err))
}
