// Package doc reads documents that people wrote, and says of every fault where it lies. It
// names file, line, column and key path, and for an unknown key the closest known one.
//
// # YAML
//
// [ParseYAML] decodes into Go structures. Parsing is go.yaml.in/yaml's; the walk from its
// tree to the structures is here, since the parser's own takes the square of a mapping's
// length. Aliases are read as what they stand for; merge keys are keys like others.
//
// Structures carry `yaml:"key"` tags; a field without one is not part of the
// document. Optional `min:""` and `max:""` tags bound numbers, and `enum:"a,b"`
// lists the only texts allowed, with `case:"any"` in any case of letters.
//
// # JSON
//
// [ParseJSON] keeps the place of every value, for messages that name line and column. It
// puts up with a comma before a closing bracket or at the end, which many programs do, and
// tells of it. Comments, // to the end of the line and /* to */, are put up with too.
// Tokens are encoding/json's; only their places and the tree are here.
package doc
