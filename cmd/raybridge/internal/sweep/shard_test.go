package sweep_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/cmd/raybridge/internal/sweep"
)

func TestParseShard(t *testing.T) {
	t.Parallel()
	slurm := func(id, count, least, most, step string) map[string]string {
		return map[string]string{"SLURM_ARRAY_TASK_ID": id, "SLURM_ARRAY_TASK_COUNT": count, "SLURM_ARRAY_TASK_MIN": least, "SLURM_ARRAY_TASK_MAX": most, "SLURM_ARRAY_TASK_STEP": step}
	}
	for name, c := range map[string]struct {
		text   string
		shards int
		env    map[string]string
		want   string
		fails  string
	}{
		"given":           {text: "2/3", want: "2/3"},
		"one":             {text: "0/1", want: "0/1"},
		"from 1":          {text: "3/3", fails: "shares count from 0, the last one is 2/3"},
		"beyond":          {text: "4/3", fails: "shares go from 0/N to N-1/N"},
		"negative":        {text: "-1/3", fails: "shares go from 0/N to N-1/N"},
		"none":            {text: "0/0", fails: "shares go from"},
		"a word":          {text: "all", fails: "want auto, or I/N"},
		"half":            {text: "1/", fails: "want auto, or I/N"},
		"contradiction":   {text: "1/3", shards: 4, fails: `"1/3" says 3 shares, --shards 4`},
		"Slurm":           {text: "auto", env: slurm("7", "4", "1", "7", "2"), want: "3/4"},
		"Slurm, gaps":     {text: "auto", env: slurm("5", "3", "1", "7", "1"), fails: "don't lie in equal steps from 1 to 7: give --shard I/N"},
		"Slurm, one":      {text: "auto", env: slurm("5", "1", "5", "5", "1"), want: "0/1"},
		"Slurm, broken":   {text: "auto", env: map[string]string{"SLURM_ARRAY_TASK_ID": "5"}, fails: `SLURM_ARRAY_TASK_COUNT is "", need a number`},
		"Slurm, agrees":   {text: "auto", shards: 4, env: slurm("7", "4", "1", "7", "2"), want: "3/4"},
		"Slurm, disagree": {text: "auto", shards: 5, env: slurm("7", "4", "1", "7", "2"), fails: "Slurm has 4 shares, --shards says 5"},
		"Kubernetes":      {text: "auto", shards: 8, env: map[string]string{"JOB_COMPLETION_INDEX": "7"}, want: "7/8"},
		"Kubernetes, N":   {text: "auto", env: map[string]string{"JOB_COMPLETION_INDEX": "7"}, fails: "give --shards N, the Job's completions"},
		"Kubernetes, few": {text: "auto", shards: 7, env: map[string]string{"JOB_COMPLETION_INDEX": "7"}, fails: "says share 7 of 7"},
		"AWS":             {text: "auto", env: map[string]string{"AWS_BATCH_JOB_ARRAY_INDEX": "0", "AWS_BATCH_JOB_ARRAY_SIZE": "2"}, want: "0/2"},
		"Google":          {text: "auto", env: map[string]string{"BATCH_TASK_INDEX": "1", "BATCH_TASK_COUNT": "2"}, want: "1/2"},
		"PBS":             {text: "auto", shards: 3, env: map[string]string{"PBS_ARRAY_INDEX": "2"}, want: "2/3"},
		"PBS, N":          {text: "auto", env: map[string]string{"PBS_ARRAY_INDEX": "2"}, fails: "give --shards N"},
		"Torque":          {text: "auto", shards: 3, env: map[string]string{"PBS_ARRAYID": "0"}, want: "0/3"},
		"LSF":             {text: "auto", env: map[string]string{"LSB_JOBINDEX": "5", "LSB_JOBINDEX_END": "9", "LSB_JOBINDEX_STEP": "2"}, want: "2/5"},
		"LSF, no array":   {text: "auto", env: map[string]string{"LSB_JOBINDEX": "0"}, fails: "finds no variable"},
		"Grid Engine":     {text: "auto", env: map[string]string{"SGE_TASK_ID": "30", "SGE_TASK_FIRST": "10", "SGE_TASK_LAST": "30", "SGE_TASK_STEPSIZE": "10"}, want: "2/3"},
		"no array":        {text: "auto", env: map[string]string{"SGE_TASK_ID": "undefined"}, fails: "finds no variable of Slurm, Kubernetes"},
		"nothing":         {text: "auto", fails: "give --shard I/N"},
		"two": {text: "auto", shards: 8, env: map[string]string{"JOB_COMPLETION_INDEX": "7", "SLURM_ARRAY_TASK_ID": "1"},
			fails: "variables of several systems: Slurm (SLURM_ARRAY_TASK_ID), a Kubernetes Indexed Job (JOB_COMPLETION_INDEX)"},
	} {
		got, err := sweep.ParseShard(c.text, c.shards, func(name string) string { return c.env[name] })
		if c.fails != "" {
			require.ErrorIs(t, err, sweep.ErrShard, name)
			assert.ErrorContains(t, err, c.fails, name)
			continue
		}
		require.NoError(t, err, name)
		assert.Equal(t, c.want, got.String(), name)
		assert.Equal(t, c.text == "auto", got.Found != "", name)
	}
}
