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

// Services returns the types of services: those of std_srvs that SVL's ROS bridge
// offers.
func Services() []Service {
	return []Service{
		{
			Type:       "std_srvs/srv/Empty",
			NewRequest: func() Message { return &EmptyRequest{} }, NewResponse: func() Message { return &EmptyResponse{} },
		},
		{
			Type:       "std_srvs/srv/SetBool",
			NewRequest: func() Message { return &SetBoolRequest{} }, NewResponse: func() Message { return &SetBoolResponse{} },
		},
		{
			Type:       "std_srvs/srv/Trigger",
			NewRequest: func() Message { return &TriggerRequest{} }, NewResponse: func() Message { return &TriggerResponse{} },
		},
	}
}

// ServiceDefinition returns the definitions of a service's request and response, for its
// full name.
func ServiceDefinition(typeName string) (request, response string, err error) {
	name := strings.Replace(typeName, "/srv/", "/", 1)
	text, err := definitions.ReadFile("srv/" + name + ".srv")
	if err != nil || name == typeName {
		return "", "", fmt.Errorf("service type %q is not known", typeName)
	}
	request, response, _ = strings.Cut(string(text), "---\n")
	return request, response, nil
}

// EmptyRequest is the request of std_srvs/Empty.
type EmptyRequest struct{}

// TypeName returns "std_srvs/srv/Empty_Request".
func (m *EmptyRequest) TypeName() string { return "std_srvs/srv/Empty_Request" }

// Fields visits no field.
func (m *EmptyRequest) Fields(Visitor) {}

// EmptyResponse is the response of std_srvs/Empty.
type EmptyResponse struct{}

// TypeName returns "std_srvs/srv/Empty_Response".
func (m *EmptyResponse) TypeName() string { return "std_srvs/srv/Empty_Response" }

// Fields visits no field.
func (m *EmptyResponse) Fields(Visitor) {}

// SetBoolRequest is the request of std_srvs/SetBool.
type SetBoolRequest struct{ Data bool }

// TypeName returns "std_srvs/srv/SetBool_Request".
func (m *SetBoolRequest) TypeName() string { return "std_srvs/srv/SetBool_Request" }

// Fields visits the field.
func (m *SetBoolRequest) Fields(v Visitor) { v.Bool("data", &m.Data) }

// SetBoolResponse is the response of std_srvs/SetBool.
type SetBoolResponse struct {
	Success bool
	Message string
}

// TypeName returns "std_srvs/srv/SetBool_Response".
func (m *SetBoolResponse) TypeName() string { return "std_srvs/srv/SetBool_Response" }

// Fields visits the fields in order.
func (m *SetBoolResponse) Fields(v Visitor) {
	v.Bool("success", &m.Success)
	v.String("message", &m.Message)
}

// TriggerRequest is the request of std_srvs/Trigger.
type TriggerRequest struct{}

// TypeName returns "std_srvs/srv/Trigger_Request".
func (m *TriggerRequest) TypeName() string { return "std_srvs/srv/Trigger_Request" }

// Fields visits no field.
func (m *TriggerRequest) Fields(Visitor) {}

// TriggerResponse is the response of std_srvs/Trigger.
type TriggerResponse struct {
	Success bool
	Message string
}

// TypeName returns "std_srvs/srv/Trigger_Response".
func (m *TriggerResponse) TypeName() string { return "std_srvs/srv/Trigger_Response" }

// Fields visits the fields in order.
func (m *TriggerResponse) Fields(v Visitor) {
	v.Bool("success", &m.Success)
	v.String("message", &m.Message)
}
