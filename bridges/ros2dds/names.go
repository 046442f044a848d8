package ros2dds

import "strings"

// ddsTopic is the DDS topic of a ROS topic, which begins with a slash.
func ddsTopic(name string) string { return "rt" + name }

// ddsType is the DDS type of a ROS message type: "pkg/msg/Type" is
// "pkg::msg::dds_::Type_".
func ddsType(typeName string) string {
	at := strings.LastIndexByte(typeName, '/')
	return strings.ReplaceAll(typeName[:at], "/", "::") + "::dds_::" + typeName[at+1:] + "_"
}

// What endpoints and participants say of themselves: "key=value;" (REP-2016, and
// rmw_dds_common).
const participantData = "enclave=/;"

func endpointData(hash string) string { return "typehash=" + hash + ";" }
