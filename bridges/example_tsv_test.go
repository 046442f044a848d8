package bridges_test

import (
	"fmt"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/sensors/sample"
)

var tsv = bridges.NewFile("tsv", "writes tab-separated values",
	bridges.Write("speed", func(b []byte, topic string, m *sample.Speed) []byte {
		return fmt.Appendf(b, "%d\t%s\t%g\n", m.Stamp, topic, m.MetresPerSecond)
	}))
