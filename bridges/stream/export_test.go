package stream

// Limited is the bridge with another limit of messages, bytes.
func Limited(limit int) Factory { return Factory{limit: limit} }
