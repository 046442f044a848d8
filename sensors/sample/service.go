package sample

// EmptyRequest and EmptyResponse are of services that are only told to do something
// (std_srvs/Empty).
type (
	EmptyRequest  struct{}
	EmptyResponse struct{}
)

// SetBoolRequest switches something on or off (std_srvs/SetBool).
type SetBoolRequest struct{ Data bool }

// SetBoolResponse says whether that was done, and what there is to say.
type SetBoolResponse struct {
	Success bool
	Message string
}

// TriggerRequest starts something (std_srvs/Trigger).
type TriggerRequest struct{}

// TriggerResponse says whether that was done, and what there is to say.
type TriggerResponse struct {
	Success bool
	Message string
}
