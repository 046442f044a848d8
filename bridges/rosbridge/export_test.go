package rosbridge

// Limited is the bridge with another limit of messages, bytes.
func Limited(limit int64) Factory { return Factory{limit: limit} }

// Keeping is the bridge whose server keeps so many bytes for a client.
func Keeping(kept int) Factory { return Factory{kept: kept} }
