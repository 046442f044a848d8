// Package sweep runs variations of a drive: it expands a sweep file into cases, runs each as a
// process of its own, and keeps what they give.
//
// A [File] is what people write. A [Plan] is its expansion, frozen: the cases with their ids, and
// the files that they read, by content. A [Store] is the folder that says which cases are done.
// An [Engine] has workers run cases; [Run] gives it those that are missing, until none is.
//
// A case is done when its folder is in the store, which is there whole or not at all. Everything
// else, such as locks and attempts, can be lost at any time.
package sweep
