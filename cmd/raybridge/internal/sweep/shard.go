package sweep

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Shard is a share of a sweep's cases, for workers that know nothing of each other: number Index of Count, from 0. The zero
// value is all cases.
type Shard struct {
	Index, Count int
	// Found says which system's variables name the share, "" where it was given.
	Found string
}

// Has reports whether the share has a case, by its rank among the plan's ids in their order.
func (s Shard) Has(rank int) bool { return s.Count == 0 || rank%s.Count == s.Index }

func (s Shard) String() string { return fmt.Sprintf("%d/%d", s.Index, s.Count) }

// Of returns the share of a plan's cases, in the plan's order.
func (s Shard) Of(p *Plan) []*Case {
	ranks := make([]int, len(p.Cases)) // to indices
	for i := range ranks {
		ranks[i] = i
	}
	slices.SortFunc(ranks, func(a, b int) int { return cmp.Compare(p.Cases[a].ID, p.Cases[b].ID) })
	var mine []int
	for rank, i := range ranks {
		if s.Has(rank) {
			mine = append(mine, i)
		}
	}
	slices.Sort(mine)
	cases := make([]*Case, len(mine))
	for i, at := range mine {
		cases[i] = &p.Cases[at]
	}
	return cases
}

// ErrShard is the error of a share that isn't one, or that no variable names.
var ErrShard = errors.New("no share of the sweep")

// ParseShard reads --shard: I/N, or auto for the variables of the system that runs the command. shards is --shards, the
// number of shares, for systems that don't tell it; 0 where it is not given. getenv is os.Getenv.
func ParseShard(text string, shards int, getenv func(string) string) (Shard, error) {
	if text == "auto" {
		return findShard(shards, getenv)
	}
	index, count, found := strings.Cut(text, "/")
	i, errI := strconv.Atoi(index)
	n, errN := strconv.Atoi(count)
	switch {
	case !found || errI != nil || errN != nil:
		return Shard{}, fmt.Errorf("%w: %q: want auto, or I/N, such as 0/4", ErrShard, text)
	case n >= 1 && i == n:
		return Shard{}, fmt.Errorf("%w: %d/%d: shares count from 0, the last one is %d/%d", ErrShard, i, n, n-1, n)
	case n < 1 || i < 0 || i > n:
		return Shard{}, fmt.Errorf("%w: %q: shares go from 0/N to N-1/N", ErrShard, text)
	case shards != 0 && shards != n:
		return Shard{}, fmt.Errorf("%w: %q says %d shares, --shards %d", ErrShard, text, n, shards)
	}
	return Shard{Index: i, Count: n}, nil
}

// scheduler is a system that runs a command many times, with variables that tell the runs apart.
type scheduler struct {
	name, index string
	// none is the index's value outside of arrays.
	none string
	// share works out the share, of an index that is set.
	share func(v variables, shards int) (Shard, error)
}

// variables reads numbers of the environment.
type variables func(string) string

// number is a variable that has to be there.
func (v variables) number(name string) (int, error) {
	n, err := strconv.Atoi(v(name))
	if err != nil {
		return 0, fmt.Errorf("%w: %s is %q, need a number: give --shard I/N", ErrShard, name, v(name))
	}
	return n, nil
}

// numbers reads several variables.
func (v variables) numbers(names ...string) (list []int, err error) {
	for _, name := range names {
		n, err := v.number(name)
		if err != nil {
			return nil, err
		}
		list = append(list, n)
	}
	return list, nil
}

var schedulers = []scheduler{
	{"Slurm", "SLURM_ARRAY_TASK_ID", "", func(v variables, _ int) (Shard, error) {
		n, err := v.numbers("SLURM_ARRAY_TASK_ID", "SLURM_ARRAY_TASK_COUNT", "SLURM_ARRAY_TASK_MIN", "SLURM_ARRAY_TASK_MAX", "SLURM_ARRAY_TASK_STEP")
		if err != nil {
			return Shard{}, err
		}
		return strided(n[0], n[2], n[3], n[4], n[1])
	}},
	{"a Kubernetes Indexed Job", "JOB_COMPLETION_INDEX", "", func(v variables, shards int) (Shard, error) {
		return counted(v, "JOB_COMPLETION_INDEX", shards, "the Job's completions")
	}},
	{"AWS Batch", "AWS_BATCH_JOB_ARRAY_INDEX", "", func(v variables, _ int) (Shard, error) {
		n, err := v.numbers("AWS_BATCH_JOB_ARRAY_INDEX", "AWS_BATCH_JOB_ARRAY_SIZE")
		if err != nil {
			return Shard{}, err
		}
		return Shard{Index: n[0], Count: n[1]}, nil
	}},
	{"Google Batch", "BATCH_TASK_INDEX", "", func(v variables, _ int) (Shard, error) {
		n, err := v.numbers("BATCH_TASK_INDEX", "BATCH_TASK_COUNT")
		if err != nil {
			return Shard{}, err
		}
		return Shard{Index: n[0], Count: n[1]}, nil
	}},
	{"PBS", "PBS_ARRAY_INDEX", "", func(v variables, shards int) (Shard, error) {
		return counted(v, "PBS_ARRAY_INDEX", shards, "the array's tasks, which have to count from 0")
	}},
	{"Torque", "PBS_ARRAYID", "", func(v variables, shards int) (Shard, error) {
		return counted(v, "PBS_ARRAYID", shards, "the array's tasks, which have to count from 0")
	}},
	{"LSF", "LSB_JOBINDEX", "0", func(v variables, shards int) (Shard, error) {
		n, err := v.numbers("LSB_JOBINDEX", "LSB_JOBINDEX_END", "LSB_JOBINDEX_STEP")
		if err != nil {
			return Shard{}, err
		}
		return strided(n[0], 1, n[1], n[2], 0)
	}},
	{"Grid Engine", "SGE_TASK_ID", "undefined", func(v variables, _ int) (Shard, error) {
		n, err := v.numbers("SGE_TASK_ID", "SGE_TASK_FIRST", "SGE_TASK_LAST", "SGE_TASK_STEPSIZE")
		if err != nil {
			return Shard{}, err
		}
		return strided(n[0], n[1], n[2], n[3], 0)
	}},
}

// strided is the share of an index that goes from least to most in steps. count is how many there are by the system's
// word, 0 where it doesn't say.
func strided(index, least, most, step, count int) (Shard, error) {
	if step < 1 || most < least {
		return Shard{}, fmt.Errorf("%w: an array from %d to %d in steps of %d: give --shard I/N", ErrShard, least, most, step)
	}
	n := (most-least)/step + 1
	if count != 0 && n != count || (index-least)%step != 0 {
		return Shard{}, fmt.Errorf("%w: the array's tasks don't lie in equal steps from %d to %d: give --shard I/N", ErrShard, least, most)
	}
	return Shard{Index: (index - least) / step, Count: n}, nil
}

// counted is the share of an index from 0, whose number --shards gives.
func counted(v variables, name string, shards int, what string) (Shard, error) {
	i, err := v.number(name)
	if err == nil && shards == 0 {
		err = fmt.Errorf("%w: %s says nothing of how many there are: give --shards N, %s", ErrShard, name, what)
	}
	return Shard{Index: i, Count: shards}, err
}

// findShard works out the share by the variables of the one system that has set its own.
func findShard(shards int, getenv func(string) string) (Shard, error) {
	var found []scheduler
	var names []string
	for _, s := range schedulers {
		if value := getenv(s.index); value != "" && value != s.none {
			found, names = append(found, s), append(names, s.name+" ("+s.index+")")
		}
	}
	switch len(found) {
	case 0:
		return Shard{}, fmt.Errorf("%w: --shard auto finds no variable of Slurm, Kubernetes, AWS Batch, Google Batch, PBS, LSF or Grid Engine: give --shard I/N", ErrShard)
	case 1:
	default:
		return Shard{}, fmt.Errorf("%w: variables of several systems: %s: give --shard I/N", ErrShard, strings.Join(names, ", "))
	}
	s, err := found[0].share(getenv, shards)
	switch {
	case err != nil:
		return Shard{}, fmt.Errorf("%s: %w", found[0].name, err)
	case shards != 0 && shards != s.Count:
		return Shard{}, fmt.Errorf("%w: %s has %d shares, --shards says %d", ErrShard, found[0].name, s.Count, shards)
	case s.Count < 1 || s.Index < 0 || s.Index >= s.Count:
		return Shard{}, fmt.Errorf("%w: %s says share %d of %d", ErrShard, found[0].name, s.Index, s.Count)
	}
	s.Found = names[0]
	return s, nil
}
