package yamldoc

import (
	"fmt"

	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/token"
)

// MaxDepth is how deep lists and mappings may lie in one another. The parser's time grows
// with the square of the depth: 100000 brackets take it minutes.
const MaxDepth = 100

// CheckDepth returns an error that wraps ErrTooDeep for YAML that lies deeper than MaxDepth,
// before any parser sees it; in time that grows with the text's length alone.
func CheckDepth(data []byte) error {
	if at := tooDeep(lexer.Tokenize(string(data))); at != nil {
		return fmt.Errorf("line %d, column %d: %w", at.Line, at.Column, errDepth)
	}
	return nil
}

var errDepth = fmt.Errorf("%w: more than %d lists and mappings in one another", ErrTooDeep, MaxDepth)

// tooDeep returns where tokens lie deeper than MaxDepth, nil if none do.
func tooDeep(tokens token.Tokens) *token.Position {
	flow, line := 0, 0 // brackets that are open; the line at hand
	var columns []int  // of the block collections that are open, increasing
	opens := false     // the next token may begin a block collection, in the same line too
	for _, t := range tokens {
		if t.Position == nil {
			continue
		}
		if t.Position.Line != line || opens {
			columns = nest(columns, t.Position.Column)
		}
		line, opens = t.Position.Line, false
		switch t.Type {
		case token.SequenceStartType, token.MappingStartType:
			flow++
		case token.SequenceEndType, token.MappingEndType:
			flow = max(flow-1, 0)
		case token.SequenceEntryType, token.MappingKeyType:
			opens = true
		}
		if flow+len(columns) > MaxDepth {
			return t.Position
		}
	}
	return nil
}

// nest returns the columns of the block collections that are open at a token in a column.
func nest(columns []int, column int) []int {
	for len(columns) > 0 && columns[len(columns)-1] >= column {
		columns = columns[:len(columns)-1]
	}
	return append(columns, column)
}
