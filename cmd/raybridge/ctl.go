package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/raybridge/raybridge/cmd/raybridge/internal/control"
	"github.com/raybridge/raybridge/internal/fault"
	"github.com/raybridge/raybridge/weather"
	"github.com/spf13/cobra"
)

// What clients of the API and its server take from the environment.
const (
	apiVariable   = "RAYBRIDGE_API"
	tokenVariable = "RAYBRIDGE_API_TOKEN"
)

// defaultAPI is where `raybridge ctl` looks for a run.
const defaultAPI = "127.0.0.1:7741"

// The shortest and the longest token, in bytes.
const shortestToken, longestToken = 16, 1024

// readToken reads the token of a file, or without one that of the environment; "" for none.
func readToken(file string) (string, error) {
	from, text := tokenVariable, os.Getenv(tokenVariable)
	if file != "" {
		read, err := os.ReadFile(file)
		if err != nil {
			return "", fmt.Errorf("--api-token-file: %w", fault.File(err))
		}
		from, text = file, string(read)
	}
	token := strings.TrimSpace(text)
	switch bad := strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }); {
	case token == "" && file == "":
		return "", nil
	case bad, len(token) < shortestToken, len(token) > longestToken:
		return "", fmt.Errorf("%s: a token has %d to %d letters, digits and signs of ASCII: openssl rand -hex 32 makes one", from, shortestToken, longestToken)
	}
	return token, nil
}

// readByOthers reports whether users that have a file's bits in mask may read the file of a secret.
func readByOthers(file string, mask fs.FileMode) bool {
	info, err := os.Stat(file)
	return err == nil && info.Mode().IsRegular() && info.Mode().Perm()&mask != 0
}

// ctl is a client of a run's API.
type ctl struct{ address, tokenFile string }

func newCtl() *cobra.Command {
	c := &ctl{}
	cmd := group(&cobra.Command{
		Use:   "ctl",
		Short: "Control a run that has --api",
		Long: "Control a run that has --api: step it, move its actors, look at its sensors.\n\n" +
			"The answer is the API's, in JSON. " + apiVariable + " names the run, and " + tokenVariable + " has its token.",
		Example: "  raybridge run --step --paused --api 7741 --bridge mcap:drive.mcap\n" +
			"  raybridge ctl spawn vehicle.sedan --name a --at 10,2 --yaw 90\n" +
			"  raybridge ctl step 100",
	})
	cmd.PersistentFlags().StringVar(&c.address, "api", "", "the run's `ADDR`, [HOST:]PORT or unix:PATH (default $"+apiVariable+", else "+defaultAPI+")")
	cmd.PersistentFlags().StringVar(&c.tokenFile, "api-token-file", "", "`FILE` with the run's token; without it that of "+tokenVariable)
	plain := func(name, short, method, path string) *cobra.Command {
		return &cobra.Command{Use: name, Short: short, Args: noArgs, RunE: func(cmd *cobra.Command, _ []string) error {
			return c.ask(cmd, method, path, nil)
		}}
	}
	cmd.AddCommand(
		c.newStep(), c.newSpawn(), c.newMove(), c.newSignal(), c.newWeather(),
		&cobra.Command{Use: "remove ACTOR", Short: "Remove an actor, by handle or name, in the next step", Args: oneArg("an actor's handle or name"),
			RunE: func(cmd *cobra.Command, args []string) error {
				return c.ask(cmd, http.MethodDelete, "/v1/actors/"+url.PathEscape(args[0]), nil)
			}},
		plain("pause", "Stop time", http.MethodPost, "/v1/pause"),
		plain("resume", "Let time continue", http.MethodPost, "/v1/resume"),
		c.newReset(),
		plain("sensors", "List the sensors", http.MethodGet, "/v1/sensors"),
		plain("models", "List the models that actors may have", http.MethodGet, "/v1/models"),
		plain("actors", "List the actors that may move", http.MethodGet, "/v1/actors"),
		plain("health", "Tell whether the run answers, as containers ask", http.MethodGet, "/healthz"),
		plain("status", "Tell what the run did so far", http.MethodGet, "/v1/status"),
	)
	for _, below := range cmd.Commands() {
		below.ValidArgsFunction = cobra.NoFileCompletions
	}
	return cmd
}

// longestStep is how long `ctl step` waits that has no --timeout.
const longestStep = 1e6 * time.Second

func (c *ctl) newStep() *cobra.Command {
	var timeout time.Duration
	var to string
	cmd := &cobra.Command{
		Use: "step [N | -]", Short: "Move a paused run on by N steps, 1 without, or by a frame in JSON from the standard input", Args: upToArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if timeout <= 0 || timeout > longestStep {
				return usage(fmt.Errorf("--timeout %v: the range is above 0s, to %v", timeout, longestStep))
			}
			switch {
			case to != "" && len(args) > 0:
				return usage(errors.New("give either --to, or a number of steps, or a frame: a frame may have to"))
			case to != "":
				frame, err := json.Marshal(map[string]any{"to": to})
				if err != nil {
					return err
				}
				return c.frame(cmd, timeout, frame)
			case len(args) == 1 && args[0] == "-":
				frame, err := io.ReadAll(cmd.InOrStdin())
				if err != nil {
					return fmt.Errorf("read the frame: %w", err)
				}
				return c.frame(cmd, timeout, frame)
			}
			n := int64(1)
			if len(args) == 1 {
				var err error
				if n, err = strconv.ParseInt(args[0], 10, 64); err != nil || n < 1 {
					return usage(fmt.Errorf("step %s: want a number of steps, 1 or more, or - for a frame from the standard input", args[0]))
				}
			}
			return c.send(cmd, "/v1/step", map[string]any{"steps": n, "timeout": timeout.Seconds()})
		},
	}
	cmd.Flags().DurationVar(&timeout, "timeout", longestStep, "how long to wait until all that was due is delivered, `TIME` such as 30s; the run continues (default without limit)")
	cmd.Flags().Lookup("timeout").DefValue = "0s" // the text says it
	cmd.Flags().StringVar(&to, "to", "", "go to the next firing of `SENSOR`")
	return cmd
}

// frame makes the step of a frame, and waits so long for its answer.
func (c *ctl) frame(cmd *cobra.Command, timeout time.Duration, frame []byte) error {
	ctx, cancel := context.WithTimeoutCause(cmd.Context(), timeout, fmt.Errorf("it is not done within %v, and continues", timeout))
	defer cancel()
	cmd.SetContext(ctx)
	return c.ask(cmd, http.MethodPost, "/v1/step", frame)
}

func (c *ctl) newReset() *cobra.Command {
	var seed uint64
	cmd := &cobra.Command{
		Use: "reset", Short: "Take a paused run back to its beginning", Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			body := map[string]any{}
			if cmd.Flags().Changed("seed") {
				body["seed"] = seed
			}
			return c.send(cmd, "/v1/reset", body)
		},
	}
	cmd.Flags().Uint64Var(&seed, "seed", 0, "`SEED` of the sensors' noise (default: the one that it has)")
	return cmd
}

// place is where an actor is put, and how its joints are.
type place struct {
	at     string
	yaw    float64
	joints map[string]string
}

func (p *place) register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&p.at, "at", "", "its place `X,Y[,Z]`, metres; without Z a new actor stands on the ground")
	cmd.Flags().Float64Var(&p.yaw, "yaw", 0, "its heading, `DEGREES` counter-clockwise from x")
	cmd.Flags().StringToStringVar(&p.joints, "joint", nil, "values of its joints, `NAME=VALUE,...` in radians or metres; raybridge ctl models lists them")
}

// fields returns the place as the API takes it; whole is false without a height.
func (p *place) fields() (fields map[string]any, whole bool, err error) {
	numbers := strings.Split(p.at, ",")
	position := make([]float64, 3)
	for i, text := range numbers {
		var x float64
		if x, err = strconv.ParseFloat(strings.TrimSpace(text), 64); err == nil && i < len(position) {
			position[i] = x
		}
		if err != nil || len(numbers) < 2 || len(numbers) > 3 || x-x != 0 {
			return nil, false, usage(fmt.Errorf("--at %q: want X,Y or X,Y,Z in metres, such as 10,-2.5", p.at))
		}
	}
	fields = map[string]any{"position": position, "yaw": p.yaw}
	joints := map[string]float64{}
	for name, text := range p.joints {
		if joints[name], err = strconv.ParseFloat(text, 64); err != nil || joints[name]-joints[name] != 0 {
			return nil, false, usage(fmt.Errorf("--joint %s=%s: want a number in radians or metres", name, text))
		}
		fields["joints"] = joints
	}
	return fields, len(numbers) == 3, nil
}

func (c *ctl) newSpawn() *cobra.Command {
	var p place
	var name, reference, color string
	cmd := &cobra.Command{
		Use: "spawn MODEL --at X,Y[,Z]", Short: "Add an actor in the next step", Args: oneArg("a model, such as vehicle.sedan"),
		RunE: func(cmd *cobra.Command, args []string) error {
			fields, whole, err := p.fields()
			if err != nil {
				return err
			}
			fields["model"], fields["name"], fields["reference"], fields["on_ground"] = args[0], name, reference, !whole
			fields["color"] = color
			return c.send(cmd, "/v1/actors", fields)
		},
	}
	p.register(cmd)
	cmd.Flags().StringVar(&name, "name", "", "its `NAME`; without it that of its model and a number")
	cmd.Flags().StringVar(&reference, "reference", "", "the `POINT` of it that --at is about: ground_centre, box_centre, rear_axle or front_bumper")
	cmd.Flags().StringVar(&color, "color", "", "the colour of its paint, `#RRGGBB`; without it the model's own")
	return cmd
}

func (c *ctl) newMove() *cobra.Command {
	var p place
	var jump bool
	cmd := &cobra.Command{
		Use: "move ACTOR --at X,Y[,Z]", Short: "Move an actor, by handle or name, to a place in the next step", Args: oneArg("an actor's handle or name"),
		RunE: func(cmd *cobra.Command, args []string) error {
			fields, _, err := p.fields()
			if err != nil {
				return err
			}
			refer(fields, args[0], "handle")
			if jump {
				fields["jump"] = true
			}
			return c.send(cmd, "/v1/step", map[string]any{"steps": 1, "actors": []any{fields}})
		},
	}
	p.register(cmd)
	cmd.Flags().BoolVar(&jump, "jump", false, "put it there at once, instead of moving it there within the step")
	return cmd
}

// refer says who is meant: by a number, which the API calls so, or by name.
func refer(fields map[string]any, who, number string) {
	if n, err := strconv.ParseUint(who, 10, 32); err == nil {
		fields[number] = n
	} else {
		fields["name"] = who
	}
}

func (c *ctl) newSignal() *cobra.Command {
	return &cobra.Command{
		Use: "signal LIGHT red|yellow|green|off", Short: "Switch a traffic light, by id or name, in the next step", Args: upToArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) < 2 {
				return usage(errors.New("give a light's id or name, and red, yellow, green or off"))
			}
			fields := map[string]any{"state": args[1]}
			refer(fields, args[0], "id")
			return c.send(cmd, "/v1/step", map[string]any{"steps": 1, "signals": []any{fields}})
		},
	}
}

// newWeather makes a command that tells the weather, or changes it. Its flags are the keys.
func (c *ctl) newWeather() *cobra.Command {
	var to weather.Setting
	cmd := &cobra.Command{
		Use: "weather [PRESET]", Short: "Tell the weather, or change it to a preset with what differs from it",
		Long: "Tell the weather, or change it to a preset with what differs from it. The presets are\n" + strings.Join(weather.Presets(), ", ") + "; clear unless one is given.",
		Args: upToArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				var preset weatherPreset
				if err := preset.Set(args[0]); err != nil {
					return usage(err)
				}
				to.Preset = string(preset)
			}
			if to == (weather.Setting{}) {
				return c.ask(cmd, http.MethodGet, "/v1/weather", nil)
			}
			if _, err := to.State(); err != nil { // JSON has no NaN
				return usage(err)
			}
			text, err := json.Marshal(&to)
			if err != nil {
				return err
			}
			return c.ask(cmd, http.MethodPut, "/v1/weather", text)
		},
	}
	flags := cmd.Flags()
	flags.Var(givenNumber{&to.Visibility}, "visibility", "how far one sees, `METRES`")
	flags.Var(givenNumber{&to.Rain}, "rain", "rain, `MM/H`")
	flags.Var(givenNumber{&to.Snow}, "snow", "snowfall, `MM/H` of water")
	flags.Var(givenNumber{&to.Wetness}, "wetness", "how wet the ground is, a `SHARE` up to 1; by the rain unless given")
	flags.Var(givenNumber{&to.Cloud}, "cloud", "the `SHARE` of the sky that clouds hide; 1 unless given if it rains or snows")
	flags.Var(givenWind{&to.Wind}, "wind", "where the air goes to, `X,Y` in m/s")
	return cmd
}

// givenNumber is a flag for a number that has no default.
type givenNumber struct{ to **float64 }

func (g givenNumber) Set(text string) error {
	x, err := strconv.ParseFloat(text, 64)
	*g.to = &x
	return err
}

func (givenNumber) String() string { return "" }
func (givenNumber) Type() string   { return "float64" }

// givenWind is a flag for a wind that has no default.
type givenWind struct{ to **weather.Wind }

// windType is its type, as flagError knows it.
const windType = "X,Y"

func (g givenWind) Set(text string) error {
	x, y, _ := strings.Cut(text, ",")
	var wind weather.Wind
	var errX, errY error
	wind.X, errX = strconv.ParseFloat(strings.TrimSpace(x), 64)
	wind.Y, errY = strconv.ParseFloat(strings.TrimSpace(y), 64)
	*g.to = &wind
	return errors.Join(errX, errY)
}

func (givenWind) String() string { return "" }
func (givenWind) Type() string   { return windType }

// send posts what JSON can express.
func (c *ctl) send(cmd *cobra.Command, path string, body any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	return c.ask(cmd, http.MethodPost, path, text)
}

// where returns the run's address.
func (c *ctl) where() (at control.Address, err error) {
	text, from := c.address, "--api"
	if text == "" {
		text, from = os.Getenv(apiVariable), apiVariable
	}
	if text == "" {
		text = defaultAPI
	}
	if at, err = control.ParseAddress(strings.TrimSuffix(strings.TrimPrefix(text, "http://"), "/")); err != nil {
		return at, usage(fmt.Errorf("%s: %w", from, err))
	}
	return at, nil
}

// ask makes one request and prints its answer.
func (c *ctl) ask(cmd *cobra.Command, method, path string, body []byte) error {
	at, err := c.where()
	if err != nil {
		return err
	}
	token, err := readToken(c.tokenFile)
	if err != nil {
		return usage(err)
	}
	host := "raybridge"
	if at.Path == "" {
		_, host = at.Network()
	}
	request, err := http.NewRequestWithContext(cmd.Context(), method, "http://"+host+path, bytes.NewReader(body))
	if err != nil {
		return usage(err)
	}
	if len(body) > 0 {
		request.Header.Set("Content-Type", "application/json")
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	client := http.Client{Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			var dialer net.Dialer
			network, address := at.Network()
			return dialer.DialContext(ctx, network, address)
		},
	}}
	response, err := client.Do(request)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return context.Cause(cmd.Context())
	case errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, os.ErrNotExist):
		return fmt.Errorf("no run listens at %v: start one with raybridge run --api %v, or name another by --api or %s", at, at, apiVariable)
	case err != nil:
		return fmt.Errorf("ask the run at %v: %w", at, fault.NetReason(err))
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		return fmt.Errorf("read the answer of the run at %v: %w", at, fault.NetReason(err))
	}
	return show(cmd.OutOrStdout(), response.StatusCode, answer)
}

// show prints an answer, for people over several lines, or returns the error that it is.
func show(out io.Writer, status int, answer []byte) error {
	if status != http.StatusOK && status != http.StatusAccepted {
		var refusal struct {
			Error string `json:"error"`
		}
		if err := json.Unmarshal(answer, &refusal); err != nil || refusal.Error == "" {
			return fmt.Errorf("the server answers with status %d, which is not raybridge's way: is it a run's --api?", status)
		}
		if status == http.StatusUnauthorized {
			return fmt.Errorf("the run asks for its token: give --api-token-file FILE, or set %s", tokenVariable)
		}
		return errors.New(refusal.Error)
	}
	if isTerminal(out) {
		var pretty bytes.Buffer
		if err := json.Indent(&pretty, answer, "", "  "); err == nil {
			answer = pretty.Bytes()
		}
	}
	_, err := out.Write(answer)
	if err == nil && status == http.StatusAccepted {
		return errors.New("the run is not there yet, and continues: raybridge ctl pause stops it")
	}
	return err
}
