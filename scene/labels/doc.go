// Package labels gives the nodes of a loaded model their semantic tags: by
// patterns over node names, by the extras that glTF nodes and meshes carry, or
// by the built-in rules for common names.
//
// # Files
//
// A labels file is YAML. It lies beside the model with the model's name and
// the ending .labels.yaml (street.labels.yaml or street.glb.labels.yaml for
// street.glb), or its content stands in the run's configuration:
//
//	rules:
//	  - {match: "building_*", tag: building}
//	  - {match: "re:^car_[a-z]+$", tag: car, actor: true}
//	  - {match: "word:zebra crossing|stop line", tag: road_line}
//	extras: semantic_tag          # the default
//	actor_extras: semantic_actor  # the default
//	defaults: true                # the default
//
// # Rules
//
// The first rule whose pattern matches a node's name labels the node. A
// pattern is one of:
//
//   - a glob over the whole name, in any case: * stands for any characters, ?
//     for one;
//   - re: and a Go regular expression, as written, anywhere in the name;
//   - word: and phrases separated by |, each of which must appear as whole
//     words: names fall into words at digits, at everything else that is no
//     letter, and where a capital follows a small letter. So word:traffic light
//     matches TrafficLight_03 and traffic-light, but not trafficlight.
//
// With actor: true the node and all below it are one actor with one instance
// id. After a file's own rules come the built-in ones (Default), unless the
// file says defaults: false.
//
// # Extras
//
// A node's extras, or else those of its mesh, come before all rules: the key
// that extras names holds a tag's name or number, the key that actor_extras
// names a bool. Blender writes an object's custom properties there.
package labels
