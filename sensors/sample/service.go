package sample

// EmptyRequest tells a service to do what it does (std_srvs/Empty).
type EmptyRequest struct{}

// EmptyResponse says that it is done.
type EmptyResponse struct{}

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
