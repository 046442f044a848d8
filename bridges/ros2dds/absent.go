//go:build !cgo || !ros2dds

package ros2dds

import (
	"fmt"

	"github.com/raybridge/raybridge/bridges"
)

func newInstance(bridges.Env) (bridges.Instance, error) {
	return nil, fmt.Errorf("%w: this program has no DDS library; \"make build-ros2dds\" builds bin/raybridge-ros2dds, which has (it needs Debian's cyclonedds-dev)",
		bridges.ErrNotBuilt)
}
