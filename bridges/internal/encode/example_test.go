package encode_test

import (
	"fmt"

	"github.com/raybridge/raybridge/bridges/internal/encode"
	"github.com/raybridge/raybridge/bridges/ros"
)

// What a publisher says of its topic, and a message as it follows.
func Example() {
	m := &ros.Clock{Clock: ros.Time{Sec: 12, Nanosec: 500}}
	sum, err := ros.MD5(m.TypeName())
	if err != nil {
		fmt.Println(err)
		return
	}
	definition, err := ros.ROS1.Definition(m.TypeName())
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(ros.ROS1.TypeName(m.TypeName()), sum)
	fmt.Print(definition)

	e := encode.ROS1.Encoder()
	fmt.Println(e.Append(nil, m), e.Err())
	// Output:
	// rosgraph_msgs/Clock a9c97c1d230cfc112e270351a944ee47
	// time clock
	// [12 0 0 0 244 1 0 0] <nil>
}
