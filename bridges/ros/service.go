package ros

import (
	"fmt"
	"strings"
)

// Service is a type of service.
type Service struct {
	// Type is its full name, such as "std_srvs/srv/SetBool".
	Type string
	// NewRequest and NewResponse return empty messages.
	NewRequest, NewResponse func() Message
}

// ServiceDefinition returns the definitions of a service's request and response, for its
// full name, without comments.
func ServiceDefinition(typeName string) (request, response string, err error) {
	name := strings.Replace(typeName, "/srv/", "/", 1)
	text, err := definitions.ReadFile("srv/" + name + ".srv")
	if err != nil || name == typeName {
		return "", "", fmt.Errorf("service type %q is not known", typeName)
	}
	request, response, _ = strings.Cut(bare(string(text)), "---\n")
	return request, response, nil
}
