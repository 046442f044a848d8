package raybridge

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/raybridge/raybridge/config"
	"github.com/raybridge/raybridge/pipeline"
)

// runID returns the id of a run that has none of its own: 32 hexadecimal digits, a hash of raybridge's version and of all that the
// configuration says, except the run's length and its bridges. So a run that was killed has the id of one that was not. Files
// count by their paths.
func runID(run *config.Config, of pipeline.Config) (string, error) {
	leaves, err := run.Leaves(of.Sensors)
	if err != nil {
		return "", err
	}
	hash := sha256.New()
	fmt.Fprintf(hash, "%q\n", of.Run.Version)
	for _, l := range leaves {
		if l.Key != "duration" && !strings.HasPrefix(l.Key, "bridges") {
			fmt.Fprintf(hash, "%q:%q\n", l.Key, l.Value)
		}
	}
	return hex.EncodeToString(hash.Sum(nil)[:16]), nil
}
