package foxglove

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/internal/guard"
)

// parameters are the values that clients read and set. Its methods may be called from
// any goroutine.
type parameters struct {
	mu     sync.Mutex
	names  []string                     // guarded by mu: in the order of addition
	byName map[string]bridges.Parameter // guarded by mu
}

// addRun adds what is known of the run, which nobody can change.
func (p *parameters) addRun(run bridges.Run) {
	constant := func(name string, value any) {
		_ = p.add(bridges.Parameter{Name: "/raybridge/" + name, Get: func() any { return value }}) // the first of its name
	}
	constant("version", run.Version)
	constant("scene", run.Scene)
	constant("rig", run.Rig)
	constant("device", run.Device)
	const exact = 1 << 53 // up to here a JSON number is exact in every language
	if run.Seed <= exact {
		constant("seed", float64(run.Seed))
	} else {
		constant("seed", strconv.FormatUint(run.Seed, 10))
	}
}

func (p *parameters) add(param bridges.Parameter) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, ok := p.byName[param.Name]; ok {
		return bridges.ErrDuplicate
	}
	if p.byName == nil {
		p.byName = map[string]bridges.Parameter{}
	}
	p.byName[param.Name] = param
	p.names = append(p.names, param.Name)
	return nil
}

func (p *parameters) get(name string) (bridges.Parameter, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	param, ok := p.byName[name]
	return param, ok
}

// all returns the names of all parameters.
func (p *parameters) all() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.names)
}

// values returns the named parameters, each once, all of them if none is named. Names that
// there aren't are left out.
func (p *parameters) values(names []string) []parameter {
	if len(names) == 0 {
		names = p.all()
	}
	list, seen := make([]parameter, 0, len(names)), map[string]bool{}
	for _, name := range names {
		param, ok := p.get(name)
		if !ok || seen[name] {
			continue
		}
		seen[name] = true
		value := parameter{Name: name, Value: param.Get()}
		switch v := value.Value.(type) {
		case float64:
			value.Type = "float64"
		case []byte:
			value.Type, value.Value = "byte_array", base64.StdEncoding.EncodeToString(v)
		case []float64:
			value.Type = "float64_array"
		}
		if _, err := json.Marshal(value); err != nil {
			value = parameter{Name: name} // such as NaN, which JSON doesn't have
		}
		list = append(list, value)
	}
	return list
}

// errReadOnly says that clients can't change a parameter.
var errReadOnly = errors.New("parameter can't be changed")

// set changes one parameter as a client asks for.
func (p *parameters) set(to setParameter) error {
	if err := checkSize("value of parameter "+to.Name, len(to.Value), guard.ParameterBytes); err != nil {
		return err
	}
	param, ok := p.get(to.Name)
	switch {
	case !ok:
		return fmt.Errorf("parameter %s: there is none of this name", to.Name)
	case param.Set == nil:
		return fmt.Errorf("parameter %s: %w", to.Name, errReadOnly)
	}
	var value any
	if to.Value != nil {
		if err := json.Unmarshal(to.Value, &value); err != nil {
			return fmt.Errorf("parameter %s: %w", to.Name, err)
		}
	}
	if text, ok := value.(string); ok && to.Type == "byte_array" {
		data, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			return fmt.Errorf("parameter %s: %w", to.Name, err)
		}
		value = data
	}
	if err := param.Set(value); err != nil {
		return fmt.Errorf("parameter %s: %w", to.Name, err)
	}
	return nil
}

// parameterNames reads the names that a request has. Those that are too long are none.
func (s *session) parameterNames(r *request) (names []string, err error) {
	err = each(r.ParameterNames, func(name string) error {
		if err := checkName("parameter name", name); err != nil {
			return err
		}
		names = append(names, name)
		return nil
	})
	return names, s.refuse(err)
}

// getParameters answers with values ("Get Parameters").
func (s *session) getParameters(r *request) error {
	names, err := s.parameterNames(r)
	if err != nil {
		return err
	}
	s.say(parameterValues{Op: "parameterValues", Parameters: s.instance.parameters.values(names), ID: r.ID})
	return nil
}

// setParameters changes values ("Set Parameters"), tells the client what they are now, if
// it asks for that, and those that subscribed to them.
func (s *session) setParameters(r *request) error {
	var named, changed []string
	err := each(r.Parameters, func(to setParameter) error {
		if err := checkName("parameter name", to.Name); err != nil {
			return err
		}
		named = append(named, to.Name)
		if err := s.instance.parameters.set(to); errors.Is(err, errMalformed) {
			return err
		} else if err != nil {
			s.remark(levelWarning, "%v", err)
			return nil
		}
		changed = append(changed, to.Name)
		return nil
	})
	var answered *session
	if r.ID != "" && len(named) > 0 {
		s.say(parameterValues{Op: "parameterValues", Parameters: s.instance.parameters.values(named), ID: r.ID})
		answered = s
	}
	if len(changed) > 0 {
		s.instance.tellParameters(changed, answered)
	}
	return s.refuse(err)
}

// subscribeParameters tells the client of changes from now on ("Subscribe Parameter
// Update").
func (s *session) subscribeParameters(r *request) error {
	names, err := s.parameterNames(r)
	if err != nil {
		return err
	}
	if len(names) == 0 {
		names = s.instance.parameters.all()
	}
	for _, name := range names {
		if err = s.want(name); err != nil {
			break
		}
	}
	s.say(parameterValues{Op: "parameterValues", Parameters: s.instance.parameters.values(names)})
	return s.refuse(err)
}

// want notes that the client is told of a parameter.
func (s *session) want(name string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.wanted[name]:
		return nil
	case len(s.wanted) >= guard.ClientParameters:
		return fmt.Errorf("parameter %s: a client may subscribe to %d: %w", name, guard.ClientParameters, errMalformed)
	}
	if err := s.client.Hold(guard.EntryBytes + len(name)); err != nil {
		return fmt.Errorf("parameter %s: %w", name, err)
	}
	s.wanted[name] = true
	return nil
}

// unsubscribeParameters ends that ("Unsubscribe Parameter Update").
func (s *session) unsubscribeParameters(r *request) error {
	names, err := s.parameterNames(r)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(names) == 0 {
		names = slices.Collect(maps.Keys(s.wanted))
	}
	for _, name := range names {
		if s.wanted[name] {
			s.client.Release(guard.EntryBytes + len(name))
			delete(s.wanted, name)
		}
	}
	return nil
}

// wants reports whether the client subscribed to a parameter.
func (s *session) wants(name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.wanted[name]
}
