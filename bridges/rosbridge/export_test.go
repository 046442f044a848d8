package rosbridge

// Limited is the bridge with another limit of messages, bytes.
func Limited(limit int64) Factory { return Factory{limit: limit} }
