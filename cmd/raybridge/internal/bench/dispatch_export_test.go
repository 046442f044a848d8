package bench

import "time"

// MessageCaseNames lists the cases of a machine with room for all workers.
func MessageCaseNames(all int, brief bool) (names []string) {
	for _, k := range messageCases(all, brief) {
		names = append(names, k.name)
	}
	return names
}

// OverTimes is over of runs of one message each that took so many nanoseconds.
func OverTimes(a, b []int) float64 {
	runs := func(times []int) (list []messageRun) {
		for _, t := range times {
			list = append(list, messageRun{messages: 1, elapsed: time.Duration(t)})
		}
		return list
	}
	return over(runs(a), runs(b))
}
